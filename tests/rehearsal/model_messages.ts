/** What the reference model expects of a service that plays a scenario. */
import { isInWindow } from "../../src/engine/maintenance_windows.ts";
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { Silence } from "../../src/domain/outbox.ts";
import { parseDuration } from "../../testing/simulation/faults.ts";
import { createReferenceModel, type Decision, type Observed } from "../engine/reference_model.ts";

/** Suppressed notifications are decided again so often, from the start of the service on. */
const REVIEW_EVERY_MS = 30_000;

/** A result as it was recorded. */
export interface ModelResult {
  readonly check: string;
  readonly condition: Condition;
  readonly atMs: number;
}

/** A notification that is due to a channel. */
export interface DueNotification {
  readonly channel: string;
  readonly check: string;
  readonly event: string;
  readonly condition: Condition;
  readonly acknowledged: string | null;
  readonly atMs: number;
}

interface TimedAction {
  readonly action: string;
  readonly atMs: number;
}

/** Returns the actions of a scenario, which have the time since the one before, as in `+90s`. */
export function timedActions(
  actions: Readonly<Record<string, string>>,
  startMs: number,
): readonly TimedAction[] {
  let atMs = startMs;
  return Object.entries(actions).map(([time, action]) => {
    atMs += parseDuration(time.slice(1)) ?? NaN;
    return { action, atMs };
  });
}

/** What happened to a service. Times are wall time, milliseconds since 1970. */
export interface ServiceRun {
  /** When it was started, for the first time and again. */
  readonly starts: readonly number[];
  readonly endMs: number;
  /** In their order. */
  readonly results: readonly ModelResult[];
  readonly actions: readonly TimedAction[];
}

/** Returns the notifications that are due, in order. */
export function modelMessages(
  checks: readonly Check[],
  { starts, endMs, results, actions }: ServiceRun,
): readonly DueNotification[] {
  const model = createReferenceModel();
  const due: DueNotification[] = [];
  const running = new Set(checks.map(({ name }) => name));
  /** Those with a result since the service was started. */
  const current = new Set<string>();
  /** Those that were asked for a result. */
  const awaited = new Set<string>();
  let silences: Silenced[] = [];
  const circumstancesOf = (check: Check, nowMs: number): Omit<Observed, "condition"> => {
    const beganAtMs = model.beganAtMs(check.name);
    const applies = (kind: Silence["kind"], problemBeganAtMs: number | null): boolean =>
      silences.some((one) =>
        one.kind === kind && nowMs < one.untilMs && isMeant(check, one) &&
        one.problemBeganAtMs === problemBeganAtMs
      );
    return {
      nowMs,
      running,
      silenced: applies("silence", null) || applies("maintenance", null) ||
        isInWindow(check.maintenanceWindows, nowMs),
      silencedUntilOk: beganAtMs !== null && applies("silence", beganAtMs),
      acknowledged: beganAtMs !== null && applies("acknowledgement", beganAtMs),
    };
  };
  const decide = (
    check: Check,
    nowMs: number,
    decisionOf: (circumstances: Omit<Observed, "condition">) => Decision,
  ): void => {
    const circumstances = circumstancesOf(check, nowMs);
    const decision = decisionOf(circumstances);
    for (const { key, name = "", events } of check.notifications) {
      const notification = decision.get(key);
      if (notification === undefined || events?.includes(notification.event) === false) continue;
      const acknowledged = circumstances.acknowledged ? "" : null;
      due.push({ ...notification, channel: name, acknowledged, atMs: nowMs });
    }
  };
  const review = (nowMs: number, { asks }: { readonly asks: boolean }): void => {
    for (const check of checks) {
      if (!current.has(check.name)) continue;
      decide(check, nowMs, (circumstances) => model.review(check, circumstances));
      if (asks) model.awaitedBy(check.name).forEach((name) => awaited.add(name));
    }
  };
  const record = (check: Check, condition: Condition, nowMs: number): void => {
    current.add(check.name);
    decide(check, nowMs, (circumstances) => model.observe(check, { condition, ...circumstances }));
    model.awaitedBy(check.name).forEach((name) => awaited.add(name));
    if (awaited.delete(check.name)) review(nowMs, { asks: false });
  };
  const moments: { readonly atMs: number; do(): void }[] = [];
  const stops = actions.filter(({ action }) => action === "restart");
  starts.forEach((from, index) => {
    moments.push({ atMs: from, do: () => [current, awaited].forEach((names) => names.clear()) });
    for (let nowMs = from; (nowMs += REVIEW_EVERY_MS) < (stops[index]?.atMs ?? endMs);) {
      moments.push({ atMs: nowMs, do: () => review(nowMs, { asks: true }) });
    }
  });
  for (const { action, atMs } of actions) {
    if (action === "restart") continue;
    moments.push({ atMs, do: () => void (silences = act(action, atMs, { checks, silences, model })) });
  }
  const byName = new Map(checks.map((check) => [check.name, check]));
  for (const { check: name, condition, atMs } of results) {
    const check = byName.get(name);
    if (check !== undefined) moments.push({ atMs, do: () => record(check, condition, atMs) });
  }
  moments.sort((one, other) => one.atMs - other.atMs).forEach((moment) => moment.do());
  return due;
}

type Silenced = Pick<Silence, "kind" | "check" | "tag" | "untilMs" | "problemBeganAtMs">;

function isMeant({ name, tags }: Check, { check, tag }: Pick<Silence, "check" | "tag">): boolean {
  return tag === null ? check === name : tags.includes(tag);
}

const ACTION =
  /^(silence|acknowledge|maintenance (?:start|end)) (?:--tag (\w+)|(\w+))( --until-ok)?(?: --for (\w+))?$/;
const KINDS = {
  silence: "silence",
  acknowledge: "acknowledgement",
  "maintenance start": "maintenance",
} as const;

/** Returns the silences after a command. */
function act(action: string, nowMs: number, { checks, silences, model }: {
  readonly checks: readonly Check[];
  readonly silences: readonly Silenced[];
  readonly model: ReturnType<typeof createReferenceModel>;
}): Silenced[] {
  if (action === "silence end --all") return silences.filter(({ kind }) => kind === "maintenance");
  const [, word = "", tag = null, name = null, untilOk, time] = ACTION.exec(action) ?? [];
  const kind = KINDS[word as keyof typeof KINDS];
  const untilMs = time === undefined ? Infinity : nowMs + (parseDuration(time) ?? NaN);
  if (word === "maintenance end") {
    return silences.filter((one) => one.kind !== "maintenance" || one.check !== name || one.tag !== tag);
  }
  if (kind === "maintenance") {
    return [...silences, { kind, check: name, tag, untilMs, problemBeganAtMs: null }];
  }
  const endsWithProblem = kind === "acknowledgement" || untilOk !== undefined;
  const added = checks.filter((check) => isMeant(check, { check: name, tag })).flatMap(
    (check): Silenced[] => {
      const problemBeganAtMs = endsWithProblem ? model.beganAtMs(check.name) : null;
      const isChosen = kind === "acknowledgement"
        ? model.hasProblem(check.name)
        : !endsWithProblem || problemBeganAtMs !== null;
      return isChosen ? [{ kind, check: check.name, tag: null, untilMs, problemBeganAtMs }] : [];
    },
  );
  const isReplaced = (one: Silenced): boolean =>
    one.kind === kind && added.some(({ check }) => check === one.check);
  return [...silences.filter((one) => !isReplaced(one)), ...added];
}
