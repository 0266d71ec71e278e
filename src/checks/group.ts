import type { GroupCheck } from "../domain/check.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import { type Condition, severity } from "../domain/condition.ts";
import { type CheckResult, checkResult, unknownResult } from "../domain/result.ts";
import { quote } from "../shared/quote.ts";

/** The `group` kind: it uses only the results of other checks. */
export const groupKind: CheckKindEntry<"group"> = {
  observe: observeGroup,
  limit: "none",
  withoutLocations: "a group combines the results of other checks",
  target: {
    form: "NAME,…",
    parametersOf: ({ text }) => ({ checks: text.split(",") }),
    nameOf: () => "group",
    subjectsOf: () => [],
  },
  warnings: () => [],
  errors: (check) => [...findErrors(check)],
  requiredPermissions: () => ({}),
};

const SHOWN_MAX = 10;

/**
 * Combines the conditions of checks. If `k` must be ok, the condition is the `k`th lowest severity: `ok` if enough
 * are, else the highest severity beyond those that may fail.
 */
function observeGroup(check: GroupCheck, context: ObserveContext): Promise<CheckResult> {
  if (context.signal.aborted) return Promise.reject(context.signal.reason);
  const { checks, require, atLeast } = check.parameters;
  const active = checks.flatMap((name) => {
    const known = context.conditionsOf?.(name) ?? null;
    return known === null ? [] : [{ name, ...known }];
  });
  const found = active.flatMap(({ name, confirmed: condition, last }) =>
    condition === null ? [] : [{ name, condition, last }]
  );
  if (found.length === 0) {
    const reason = active.length === 0
      ? "none of its checks is active"
      : "none of its checks ran: name them too, or run all";
    return Promise.resolve(unknownResult(reason));
  }
  const needed = Math.min(atLeast ?? (require === "all" ? found.length : 1), found.length);
  const conditions: readonly Condition[] = found.map(({ condition }) => condition)
    .toSorted((one, other) => severity(one) - severity(other));
  const failing = found.filter(({ condition }) => condition !== "ok");
  const unconfirmed = found.filter(({ condition, last }) =>
    condition === "ok" && last !== null && last !== "ok"
  );
  const okCount = found.length - failing.length;
  const expected = okCount >= needed
    ? ""
    : `, expected ${needed === found.length ? "all" : `at least ${needed}`}`;
  const output = `${okCount} of ${found.length} ok${describeUnconfirmed(unconfirmed)}${expected}${
    describeFailing(failing)
  }`;
  const metrics = { ok_count: okCount, check_count: found.length };
  return Promise.resolve(checkResult(conditions[needed - 1] ?? "unknown", output, metrics));
}

/** Checks that count as ok though their last run was not: they have not failed often enough. */
function describeUnconfirmed(checks: readonly { readonly name: string }[]): string {
  if (checks.length === 0) return "";
  const shown = checks.slice(0, SHOWN_MAX).map(({ name }) => quote(name));
  const rest = checks.length - shown.length;
  const names = `${shown.join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
  return ` (${checks.length} not confirmed yet: ${names})`;
}

function describeFailing(
  failing: readonly { readonly name: string; readonly condition: Condition }[],
): string {
  if (failing.length === 0) return "";
  const shown = failing.toSorted((one, other) => severity(other.condition) - severity(one.condition))
    .slice(0, SHOWN_MAX).map(({ name, condition }) => `${quote(name)} is ${condition}`);
  const rest = failing.length - shown.length;
  return `: ${shown.join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}

function* findErrors({ parameters }: GroupCheck): Generator<ParameterProblem> {
  const { checks, require, atLeast } = parameters;
  for (const [index, name] of checks.entries()) {
    if (checks.indexOf(name) < index) {
      yield { path: ["checks", index], message: `${quote(name)} is specified more than once` };
    }
  }
  if (atLeast === undefined) return;
  if (require === "any") yield { path: ["require"], message: 'cannot be used with "at_least"' };
  if (atLeast > checks.length) {
    yield { path: ["at_least"], message: `is ${atLeast}, and the group has ${checks.length} checks` };
  }
}
