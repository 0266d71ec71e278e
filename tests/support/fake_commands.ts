import type { CheckOf } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { ProcessEnd } from "../../src/domain/processes.ts";
import { type CheckOptions, testCheck } from "./checks.ts";
import type { FakeClock } from "../../testing/fake_clock.ts";
import { createMemorySystem, type MemorySystem } from "../../testing/memory_system.ts";

export interface FakeRun {
  /** The condition of its exit code. */
  readonly condition: Condition;
  readonly afterMs: number;
}

const EXIT_CODES: readonly Condition[] = ["ok", "warning", "critical", "unknown"];

/** How a command ends that exits by itself. */
export function endOf(stdout: string, { code = 0, stderr = "" } = {}): ProcessEnd {
  const captured = (text: string) => ({ text, truncated: false });
  return { ended: "exited", code, stdout: captured(stdout), stderr: captured(stderr), leftovers: false };
}

/** Creates a system on a fake clock with fake commands by the name of the check; all four conditions are possible. */
export function createProgramSystem(
  clock: FakeClock,
  respond: (name: string, nowMs: number) => FakeRun,
): MemorySystem {
  const nothing = { text: "", truncated: false };
  return {
    ...createMemorySystem(),
    clock,
    processes: {
      run: ({ environment }, signal) => {
        const { promise, resolve, reject } = Promise.withResolvers<ProcessEnd>();
        const { condition, afterMs } = respond(environment["MONITOR_CHECK"] ?? "", clock.wallMs());
        const cancel = clock.after(afterMs, () => {
          signal.removeEventListener("abort", stop);
          const code = EXIT_CODES.indexOf(condition);
          resolve({ ended: "exited", code, stdout: nothing, stderr: nothing, leftovers: false });
        });
        const stop = (): void => {
          cancel();
          reject(signal.reason);
        };
        signal.addEventListener("abort", stop, { once: true });
        return promise;
      },
    },
  };
}

export function programCheck(options: CheckOptions = {}): CheckOf<"script"> {
  const parameters = {
    path: "/played",
    arguments: [],
    environment: {},
    conditionOnTimeout: "unknown",
  } as const;
  return { ...testCheck("ok", options), kind: "script", parameters };
}
