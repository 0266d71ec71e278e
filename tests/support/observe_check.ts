import { entryOf } from "../../src/checks/registry.ts";
import type { Check, CheckResult } from "../../src/domain/check.ts";
import type { ObserveContext, ParameterProblem } from "../../src/domain/check_kind.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { testCheck } from "./checks.ts";

export interface ObserveOptions {
  readonly system?: Partial<ObserveContext["system"]>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** Runs a check of any kind once. */
export async function observeCheck(
  kind: Pick<Check, "kind" | "parameters">,
  { system = {}, signal = new AbortController().signal, timeoutMs = 120_000 }: ObserveOptions = {},
): Promise<CheckResult> {
  const check = { ...testCheck("ok", { timeoutMs }), ...kind } as Check;
  const entry = await entryOf(check);
  const context = { system: { ...createMemorySystem(), ...system }, jobs: null, directory: "/", signal };
  return await entry.observe(check, context);
}

/** Returns errors or warnings of parameters as texts: the key and the message. */
export function problemTexts(problems: Iterable<ParameterProblem> = []): readonly string[] {
  return [...problems].map(({ path, message }) => `${path.join(".")}: ${message}`);
}
