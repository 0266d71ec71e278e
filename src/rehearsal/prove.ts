/** Whether a check would notice what goes wrong: it runs once, and then on what it exchanged, changed. */
import type { Check, Result } from "../domain/check.ts";
import type { Condition } from "../domain/condition.ts";
import { runCheck, type RunOptions, withoutSecrets } from "../scheduler/run_checks.ts";
import { type Fault, faultsOf } from "./faults.ts";
import { playTape, recordWorld, type Tape } from "./tape.ts";
import { VirtualClock } from "./rehearsal_world.ts";

export interface ProveOptions
  extends Pick<RunOptions, "system" | "jobs" | "memoryOf" | "directory" | "timeZone" | "redact" | "signal"> {
  /** Resolves once everything has run that can run at once. */
  settle(): Promise<void>;
}

export interface Proved extends Pick<Fault, "name" | "hint"> {
  /** Whether the check is not ok with it, in one of its forms. */
  readonly isNoticed: boolean;
  /** The result with it; of several forms, of the first that is noticed, or the first one. */
  readonly condition: Condition;
  readonly output: string;
  /** The forms that nothing notices, such as the paths of fields; empty if the fault has one form. */
  readonly unnoticed: readonly string[];
}

export interface Proof {
  /** The result of the one real run. */
  readonly result: Result;
  /** Empty if that is not ok: then nothing follows from another one. */
  readonly faults: readonly Proved[];
}

/** Runs a check once, and then again on what it exchanged, with each fault that this can have. */
export async function prove(check: Check, options: ProveOptions): Promise<Proof> {
  const { system, jobs, redact } = options;
  const recorded = recordWorld({ system: withoutSecrets(system, redact), jobs });
  const result = await runCheck(check, { ...options, ...recorded });
  if (result.condition !== "ok") return { result, faults: [] };
  const faults: Proved[] = [];
  for (const fault of faultsOf(recorded.tape, result.startedAtMs)) {
    faults.push(await proveFault(check, fault, options));
  }
  return { result, faults };
}

async function proveFault(
  check: Check,
  { name, hint, tapes }: Fault,
  options: ProveOptions,
): Promise<Proved> {
  const results: { readonly form: string; readonly result: Result }[] = [];
  for (const [form, tape] of tapes) results.push({ form, result: await runOn(tape, check, options) });
  const isNoticed = ({ result }: typeof results[number]): boolean => result.condition !== "ok";
  const shown = results.find(isNoticed) ?? results[0];
  return {
    name,
    hint,
    isNoticed: results.some(isNoticed),
    condition: shown?.result.condition ?? "ok",
    output: shown?.result.output ?? "",
    unnoticed: results.filter((one) => one.form !== "" && !isNoticed(one)).map(({ form }) => form),
  };
}

/** Runs a check on a tape, under a clock of its own: what hangs takes no time. */
async function runOn(tape: Tape, check: Check, options: ProveOptions): Promise<Result> {
  const { system, jobs, settle } = options;
  // Modules that are loaded meanwhile take real time, which is none of the check.
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS; turn++) await settle();
  };
  const clock = new VirtualClock(system.clock.wallMs(), settled);
  const world = playTape(tape, { system: { ...system, clock }, jobs, signal: options.signal });
  let isDone = false;
  const run = runCheck(check, { ...options, ...world }).finally(() => isDone = true);
  await settled();
  while (!isDone && clock.nextMs < Infinity) await clock.fireNext();
  return await run;
}

const TURNS = 3;
