import os from "node:os";

/** What a result was measured on, as far as it matters; nothing that tells whose machine it is. */
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
  /** The form in which programs were measured. */
  readonly programs: string;
}

/** Describes this machine. */
export function describeMachine(programs: string): Machine {
  return {
    processor: os.cpus()[0]?.model ?? "unknown processor",
    cores: navigator.hardwareConcurrency,
    memoryGigabytes: Math.round(Deno.systemMemoryInfo().total / 1e9),
    target: Deno.build.target,
    // What comes behind the numbers often is a provider's own word.
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
