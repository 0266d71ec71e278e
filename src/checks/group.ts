import { type CheckOf, type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import type {
  CheckKindEntry,
  KnownCondition,
  ObserveContext,
  ParameterProblem,
} from "../domain/check_kind.ts";
import {
  type Condition,
  countedAs,
  highestSeverity,
  mostUrgentFirst,
  severity,
} from "../domain/condition.ts";
import { firstItems, quote } from "../shared/text.ts";

export const groupKind: CheckKindEntry<"group"> = {
  observe: observeGroup,
  withoutLocations: "a group combines the results of other checks",
  target: {
    form: "NAME,…",
    parametersOf: ({ text }) => ({ checks: text.split(",") }),
    nameOf: () => "group",
    subjectsOf: () => [],
  },
  errors: findErrors,
  requiredPermissions: () => ({}),
};

const SHOWN_MAX = 10;

interface Member extends KnownCondition {
  readonly name: string;
}

/**
 * Combines the conditions of checks. If `k` must be ok, the condition is the `k`th lowest severity: `ok` if enough
 * are, else the highest severity beyond those that may fail. A check whose condition is not known now is `unknown`, and
 * inactive ones are left out: where they would be needed, the group is not `ok`.
 */
function observeGroup(check: CheckOf<"group">, context: ObserveContext): Promise<CheckResult> {
  const { checks, require, atLeast } = check.parameters;
  const members = checks.flatMap((name): readonly Member[] => {
    const known = context.conditionOf?.(name) ?? null;
    return known === null ? [] : [{ name, ...known }];
  });
  if (members.length === 0) return Promise.resolve(unknownResult("none of its checks is active"));
  const inactive = checks.length - members.length;
  const needed = atLeast ?? (require === "all" ? members.length : 1);
  const conditionOf = (shown: readonly Pick<Member, "condition">[]): Condition => {
    const conditions = shown.map(({ condition }) => countedAs(condition));
    return conditions.sort((one, other) => severity(one) - severity(other))[needed - 1] ??
      highestSeverity([...conditions, "unknown"]);
  };
  const okCount = members.filter(({ condition }) => condition === "ok").length;
  const wish = needed === checks.length ? "all" : `at least ${needed}`;
  const expected = okCount >= needed ? "" : `, expected ${wish}`;
  const found = `${okCount} of ${checks.length} ok${inactive === 0 ? "" : `, ${inactive} inactive`}`;
  const output = `${found}${describeUnconfirmed(members)}${expected}${describeFailing(members)}`;
  const condition = conditionOf(members);
  const group = context.conditionOf?.(check.name) ?? null;
  const mayBeAwaited = awaited(group);
  const isFailing = members.some((member) => member.condition !== "ok" && !mayBeAwaited(member));
  const isAwaited = (member: Member): boolean => mayBeAwaited(member) && !(isFailing && isLater(member));
  const isLate = (member: Member): boolean =>
    awaitsJob(member) || isLater(member) && (group?.condition === "ok" || group?.condition === "pending");
  const later = members.map((member) => isAwaited(member) ? { condition: "ok" as const } : member);
  return Promise.resolve({
    ...checkResult(condition, output, { ok_count: okCount, check_count: checks.length }),
    ...condition === "unknown" && conditionOf(later) === "ok" && {
      awaits: members.every((member) => !isAwaited(member) || isLate(member)) ? "job" : "checks",
      recoveredAtMs: Math.max(...members.map(({ recoveredAtMs = 0 }) => recoveredAtMs)),
    },
  });
}

/**
 * Returns which checks the group waits for: those that are pending, those that did not run since they were edited and,
 * until it has a confirmed condition again after a start or a long stop, those that did not run since.
 */
function awaited(group: KnownCondition | null): (member: Member) => boolean {
  const isUnconfirmed = group === null || group.state !== "current" || group.condition === "pending";
  return ({ state, condition }) =>
    condition === "pending" || state === "edited" || isUnconfirmed && state !== "current";
}

/** The first run of a job, and the next one at a cron time, may be a day away. */
function isLater(member: Member): boolean {
  return member.isLater === true || awaitsJob(member);
}

function awaitsJob({ condition, last }: Pick<Member, "condition" | "last">): boolean {
  return condition === "pending" && last === null;
}

/** Checks that are ok though their last run was not: they have not failed often enough. */
function describeUnconfirmed(members: readonly Member[]): string {
  const checks = members.filter(({ condition, last }) =>
    condition === "ok" && last !== null && last !== "ok"
  );
  if (checks.length === 0) return "";
  const names = firstItems(checks.map(({ name }) => quote(name)), SHOWN_MAX);
  return ` (${checks.length} not confirmed yet: ${names.join(", ")})`;
}

function describeFailing(members: readonly Member[]): string {
  const failing = members.filter(({ condition }) => condition !== "ok");
  if (failing.length === 0) return "";
  const all = failing.toSorted((one, other) => mostUrgentFirst(one.condition, other.condition))
    .map((member) => `${quote(member.name)} ${describe(member)}`);
  return `: ${firstItems(all, SHOWN_MAX).join(", ")}`;
}

function describe({ condition, state }: Member): string {
  if (state === "never_ran" || state === "edited") return "did not run";
  return state === "overdue" ? "is overdue" : `is ${condition}`;
}

function* findErrors({ parameters }: CheckOf<"group">): Generator<ParameterProblem> {
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
