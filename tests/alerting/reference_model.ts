/**
 * The expected notifications, derived from the design as simply as possible: each check keeps its whole history, and
 * every rule is evaluated on all of it.
 */
import type { Check } from "../../src/domain/check.ts";
import { type Condition, severity } from "../../src/domain/condition.ts";
import type { NotificationEvent } from "../../src/domain/condition_state.ts";

/** A notification that the model expects. */
export interface ExpectedNotification {
  readonly check: string;
  readonly event: NotificationEvent;
  readonly condition: Condition;
  readonly previous: Condition;
  readonly decidedAtMs: number;
  readonly problemBeganAtMs: number;
}

/** The decision after a check result. */
export interface Decision {
  /** The due notification, if every channel was sent the one before. */
  readonly notification: ExpectedNotification | null;
  /** The notification for a channel that was not sent the one before; `null`: it is suppressed. */
  readonly news:
    | Pick<ExpectedNotification, "check" | "condition" | "decidedAtMs" | "problemBeganAtMs">
    | null;
}

/** Records check results, and returns the decision after each. */
export interface ReferenceModel {
  /** Records one, with circumstances that may differ from those of the one before. */
  observe(check: Check, observed: Observed): Decision;
}

/** A check result, and its circumstances. */
export interface Observed {
  readonly condition: Condition;
  readonly nowMs: number;
  /** Whether a silence suppresses the check's notifications. */
  readonly silenced: boolean;
  /** Names of the checks that run: the others suppress nothing. */
  readonly running: ReadonlySet<string>;
}

interface Known {
  readonly history: Condition[];
  confirmed: Condition;
  notified: Condition;
  notifiedAtMs: number;
  /** Since the last notification that is none. */
  reminders: number;
  /** When the problem that was notified began. */
  notifiedBeganAtMs: number;
  beganAtMs: number | null;
  /** The length of the history when it was last lowered. */
  loweredAt: number;
  observedAtMs: number;
}

/** Makes one that has seen nothing. */
export function createReferenceModel(): ReferenceModel {
  const known = new Map<string, Known>();
  return {
    observe: (check, { condition, nowMs, silenced, running }) => {
      const now = known.get(check.name) ?? unseen();
      known.set(check.name, now);
      now.history.push(condition);
      now.observedAtMs = nowMs;
      now.confirmed = settle(now, check);
      if (condition === "ok" && now.confirmed === "ok") now.beganAtMs = null;
      else now.beganAtMs ??= nowMs;
      const isHeld = silenced ||
        now.confirmed !== "ok" &&
          check.dependsOn.some((dependency) => {
            const names = typeof dependency === "string" ? [dependency] : dependency.any;
            const parents = names.filter((name) => running.has(name));
            return parents.length > 0 && parents.every((name) => isUncertain(known.get(name), now));
          });
      if (isHeld) return { notification: null, news: null };
      const event = dueEvent(now, check, nowMs);
      const news = {
        check: check.name,
        condition: now.confirmed,
        decidedAtMs: nowMs,
        problemBeganAtMs: (now.confirmed === "ok" ? now.notifiedBeganAtMs : now.beganAtMs) ?? nowMs,
      };
      if (event === null) return { notification: null, news };
      const notification: ExpectedNotification = { ...news, event, previous: now.notified };
      now.notified = now.confirmed;
      now.notifiedAtMs = nowMs;
      now.reminders = event === "reminder" ? now.reminders + 1 : 0;
      now.notifiedBeganAtMs = news.problemBeganAtMs;
      return { notification, news };
    },
  };
}

function unseen(): Known {
  return {
    history: [],
    confirmed: "ok",
    notified: "ok",
    notifiedAtMs: -Infinity,
    reminders: 0,
    loweredAt: 0,
    notifiedBeganAtMs: 0,
    beganAtMs: null,
    observedAtMs: 0,
  };
}

/**
 * Raised to the highest severity that T of the last N reach since it was last lowered, lowered to the highest of the last
 * R where that is better. Without N, to the lowest of the last T.
 */
function settle(known: Known, { threshold, recoveryThreshold, within = threshold }: Check): Condition {
  const { history, confirmed, loweredAt } = known;
  if (within > threshold) {
    const window = history.slice(loweredAt).slice(-within);
    const reached = window.sort((one, other) => severity(other) - severity(one))[threshold - 1] ?? "ok";
    // The last result is one of those that count.
    const last = history.at(-1) ?? "ok";
    const raised = severity(reached) < severity(last) ? reached : last;
    if (severity(raised) > severity(confirmed)) return raised;
  }
  const bySeverity = (count: number): readonly Condition[] =>
    history.length < count ? [] : history.slice(-count).sort((one, other) => severity(one) - severity(other));
  const lowest = bySeverity(threshold)[0];
  const highest = bySeverity(recoveryThreshold).at(-1);
  if (within <= threshold && lowest !== undefined && severity(lowest) > severity(confirmed)) return lowest;
  if (highest !== undefined && severity(highest) < severity(confirmed)) {
    known.loweredAt = history.length;
    return highest;
  }
  return confirmed;
}

function dueEvent(
  { confirmed, notified, notifiedAtMs, reminders, history }: Known,
  { annoy }: Check,
  nowMs: number,
): NotificationEvent | null {
  if (confirmed !== notified) {
    return confirmed === "ok" ? "recovery" : notified === "ok" ? "problem" : "change";
  }
  if (confirmed === "ok" || history.at(-1) === "ok" || annoy === false) return null;
  if (annoy === true) return "reminder";
  const intervals = [annoy].flat();
  const intervalMs = intervals[Math.min(reminders, intervals.length - 1)] ?? Infinity;
  return nowMs - notifiedAtMs >= intervalMs * 0.9 ? "reminder" : null;
}

/**
 * A dependency that has a problem, whose last result was not ok, or that has not run since the problem here began.
 */
function isUncertain(dependency: Known | undefined, { beganAtMs }: Known): boolean {
  if (dependency === undefined) return true;
  return dependency.confirmed !== "ok" || dependency.history.at(-1) !== "ok" ||
    dependency.observedAtMs < (beganAtMs ?? 0);
}
