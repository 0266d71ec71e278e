import os from "node:os";

/** The machine of a measurement, as far as it matters; nothing that identifies its owner. */
export interface Machine {
  /** The processor's model. */
  readonly processor: string;
  /** How many of it. */
  readonly cores: number;
  /** Memory, in whole gigabytes. */
  readonly memoryGigabytes: number;
  /** Architecture and system. */
  readonly target: string;
  /** Version of the system's kernel. */
  readonly kernel: string;
  /** Version of the runtime. */
  readonly runtime: string;
  /** The form of the measured programs. */
  readonly programs: string;
}

/** Describes this machine. */
export function describeMachine(programs: string): Machine {
  return {
    processor: os.cpus()[0]?.model ?? "unknown processor",
    cores: navigator.hardwareConcurrency,
    memoryGigabytes: Math.round(Deno.systemMemoryInfo().total / 1e9),
    target: Deno.build.target,
    // The text after the version often names the provider.
    kernel: /^[\d.]+\d/.exec(Deno.osRelease())?.[0] ?? "unknown",
    runtime: `Deno ${Deno.version.deno}`,
    programs,
  };
}

/** The same for people, as one line. */
export function machineText(machine: Machine): string {
  const { processor, cores, memoryGigabytes, target, kernel, runtime, programs } = machine;
  return `${cores} × ${processor}, ${memoryGigabytes} GB, ${target}, kernel ${kernel}, ${runtime}; program: ${programs}`;
}
