import { observeScript } from "../../src/checks/script.ts";
import type { ScriptParameters } from "../../src/domain/generated/config.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import { createProcesses } from "../../src/system/process/processes.ts";
import { checkOf, contextOf } from "../../testing/builders.ts";
import { createRealClock } from "../../testing/real_clock.ts";

export interface ScriptRun extends Partial<ScriptParameters> {
  readonly name?: string;
  readonly timeoutMs?: number;
  readonly directory?: string;
  readonly ownEnvironment?: Readonly<Record<string, string>>;
}

/** Runs a command as a `script` check, with a short grace after SIGTERM. */
export function observeProgram(path: string, run: ScriptRun = {}): Promise<CheckResult> {
  const { name = "script", timeoutMs = 30_000, directory = "/", ownEnvironment, ...parameters } = run;
  const environment: Readonly<Record<string, string>> = ownEnvironment ?? { PATH: "/usr/bin:/bin" };
  const defaults = { arguments: [], environment: {}, conditionOnTimeout: "unknown" } as const;
  const check = checkOf("script", { path, ...defaults, ...parameters }, { name, timeoutMs });
  const processes = createProcesses(createRealClock(), { terminationGraceMs: 200 });
  const context = contextOf({
    system: { processes, environment: (variable) => environment[variable] },
    directory,
  });
  return observeScript(check, context);
}
