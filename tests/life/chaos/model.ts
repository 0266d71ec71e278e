/**
 * The consequences of the checks' results, as simply as possible: no counters, only the last results. Values are
 * immutable, so that any number of them can be tried out.
 */
import { type Condition, severity, type ShownCondition } from "../../../src/domain/condition.ts";

/** A check of the campaign. */
export interface FakeCheck {
  readonly name: string;
  readonly threshold: number;
  readonly recoveryThreshold: number;
  /** The names of its channels. */
  readonly channels: readonly string[];
}

/** The result of a check in one run, with a unique token. */
export interface Shown {
  readonly check: string;
  readonly condition: Condition;
  readonly token: string;
}

/** A change of a confirmed condition; the token is that of the run that decided it. */
export interface ModelChange {
  readonly check: string;
  readonly from: ShownCondition;
  readonly to: Condition;
  readonly token: string;
  /** The round in which it was kept. @default not kept */
  readonly round?: number;
}

/** The state of one check. */
export interface CheckModel {
  /** The last results, as many as any threshold requires. */
  readonly recent: readonly Condition[];
  readonly confirmed: ShownCondition;
  readonly runs: Readonly<Record<Condition, number>>;
  readonly lastToken: string | null;
}

/** The state of all checks, by name. */
export type Model = ReadonlyMap<string, CheckModel>;

const UNSEEN: CheckModel = {
  recent: [],
  confirmed: "pending",
  runs: { ok: 0, unknown: 0, warning: 0, critical: 0 },
  lastToken: null,
};

/** The state without results. */
export function createModel(checks: readonly FakeCheck[]): Model {
  return new Map(checks.map(({ name }) => [name, UNSEEN]));
}

/** Returns the state after some runs, and the changes that they have caused, in order. */
export function observe(
  model: Model,
  shown: readonly Shown[],
  checks: readonly FakeCheck[],
): { readonly model: Model; readonly changes: readonly ModelChange[] } {
  const next = new Map(model);
  const changes: ModelChange[] = [];
  for (const { check, condition, token } of shown) {
    const before = next.get(check) ?? UNSEEN;
    const thresholds = checks.find(({ name }) => name === check);
    if (thresholds === undefined) throw new Error(`there is no check "${check}"`);
    const recent = [...before.recent, condition].slice(-RECENT_COUNT);
    const confirmed = settle(recent, before.confirmed, thresholds);
    const isFirstOk = before.confirmed === "pending" && confirmed === "ok";
    if (confirmed !== before.confirmed && confirmed !== "pending" && !isFirstOk) {
      changes.push({ check, from: before.confirmed, to: confirmed, token });
    }
    const runs = { ...before.runs, [condition]: before.runs[condition] + 1 };
    next.set(check, { recent, confirmed, runs, lastToken: token });
  }
  return { model: next, changes };
}

const RECENT_COUNT = 5;

/**
 * Confirms the first `ok` at once. Raises it to the lowest of the last T if that is higher, lowers it to the highest of the last R if that is lower.
 */
function settle(
  recent: readonly Condition[],
  confirmed: ShownCondition,
  { threshold, recoveryThreshold }: FakeCheck,
): ShownCondition {
  const last = (count: number): readonly Condition[] =>
    recent.length < count ? [] : recent.slice(-count).sort((one, other) => severity(one) - severity(other));
  if (confirmed === "pending") {
    return recent.at(-1) === "ok" ? "ok" : last(threshold)[0] ?? "pending";
  }
  const lowest = last(threshold)[0] ?? confirmed;
  const highest = last(recoveryThreshold).at(-1) ?? confirmed;
  if (severity(lowest) > severity(confirmed)) return lowest;
  return severity(highest) < severity(confirmed) ? highest : confirmed;
}
