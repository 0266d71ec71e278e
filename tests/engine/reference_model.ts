/**
 * The expected notifications, derived from the design as simply as possible: each check keeps its whole history, and
 * every rule is evaluated on all of it.
 */
import { isInWindow } from "../../src/engine/maintenance_windows.ts";
import type { Channel } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import {
  type Condition,
  type NotificationEvent,
  severity,
  type ShownCondition,
} from "../../src/domain/condition.ts";

/** A notification that the model expects. */
export interface ExpectedNotification {
  readonly check: string;
  readonly event: NotificationEvent;
  readonly condition: Condition;
  readonly previous: ShownCondition;
  readonly decidedAtMs: number;
  readonly problemBeganAtMs: number;
}

/** The due notification of each channel by its key, if each gets everything that is due, except for `events`. */
export type Decision = ReadonlyMap<string, ExpectedNotification>;

/** Records check results, and returns the decision after each. */
export interface ReferenceModel {
  /** Records one, with circumstances that may differ from those of the one before. */
  observe(check: Check, observed: Observed): Decision;
  /** Decides again without a result. */
  review(check: Check, circumstances: Omit<Observed, "condition">): Decision;
  /** Returns when the problem of a check began; `null`: it has none. */
  beganAtMs(check: string): number | null;
}

/** A check result, and its circumstances. */
export interface Observed {
  readonly condition: Condition;
  readonly nowMs: number;
  /** Whether a silence suppresses the check's problems. */
  readonly silenced: boolean;
  /** Whether a silence suppresses the present problem. @default false */
  readonly silencedUntilOk?: boolean;
  /** @default false */
  readonly acknowledged?: boolean;
  /** Names of the checks that run: the others suppress nothing. */
  readonly running: ReadonlySet<string>;
}

interface Known {
  readonly history: Condition[];
  /** Like `ok` before the first confirmed condition, since nothing is due then either. */
  confirmed: Condition;
  wasOk: boolean;
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
  /** The confirmed conditions, the oldest first. */
  readonly changes: { readonly atMs: number; readonly to: Condition }[];
  /** When the confirmed condition could first be notified; `null`: it was always suppressed. */
  decidedAtMs: number | null;
  /** The condition that each channel was notified of, by its key. */
  readonly byChannel: Map<string, Condition>;
}

/** Makes one that has seen nothing. */
export function createReferenceModel(): ReferenceModel {
  const known = new Map<string, Known>();
  const knownOf = ({ name }: Check): Known => {
    const now = known.get(name) ?? unseen();
    known.set(name, now);
    return now;
  };
  const decide = (
    check: Check,
    { nowMs, silenced, silencedUntilOk = false, acknowledged = false, running, isResult }:
      & Omit<Observed, "condition">
      & { readonly isResult: boolean },
  ): Decision => {
    const now = knownOf(check);
    const holding = check.dependsOn.flatMap((dependency) => {
      const names = typeof dependency === "string" ? [dependency] : dependency.any;
      const parents = names.filter((name) => running.has(name));
      return parents.every((name) => isUncertain(known.get(name), now)) ? parents : [];
    });
    const isSilenced = silenced || silencedUntilOk;
    const due = check.notifications.map((channel) => dueTo(channel, now, { nowMs, acknowledged }));
    const isChange = now.confirmed !== now.notified || due.some(({ event }) => event !== null);
    if (now.confirmed !== "ok" && (isSilenced || holding.length > 0)) {
      // Of channels that the condition is ok for.
      const recovered = due.filter(({ event }) => event === "recovery");
      for (const { channel } of recovered) now.byChannel.set(channel.key, "ok");
      const recovery = {
        check: check.name,
        event: "recovery",
        condition: now.confirmed,
        decidedAtMs: now.changes.at(-1)?.atMs ?? nowMs,
        problemBeganAtMs: now.beganAtMs ?? nowMs,
      } as const;
      return new Map(recovered.map(({ channel, previous }) => [channel.key, { ...recovery, previous }]));
    }
    const event = dueEvent(now, check, { nowMs, acknowledged, isResult });
    // What was suppressed may be over, unless a channel is to know that it is less severe.
    const isBetter = severity(now.confirmed) < severity(now.notified) ||
      due.some((one) => one.event !== null && severity(one.condition) < severity(one.previous));
    if (now.confirmed !== "ok" && now.history.at(-1) === "ok" && isChange && !isBetter) return new Map();
    const news = {
      check: check.name,
      condition: now.confirmed,
      decidedAtMs: now.confirmed === "ok" ? now.changes.at(-1)?.atMs ?? nowMs : nowMs,
      problemBeganAtMs: (now.confirmed === "ok" ? now.notifiedBeganAtMs : now.beganAtMs) ?? nowMs,
    };
    const before = (sent: NotificationEvent, previous: Condition): ShownCondition =>
      sent === "problem" && !now.wasOk ? "pending" : previous;
    const byChannel = new Map<string, ExpectedNotification>();
    for (const { channel, event: own, isReminded, previous, condition } of due) {
      const sent = own ?? (isReminded && !isChange && event === "reminder" ? event : null);
      if (sent === null) continue;
      byChannel.set(channel.key, { ...news, event: sent, previous: before(sent, previous) });
      now.byChannel.set(channel.key, condition);
    }
    if (isChange && now.decidedAtMs === null) {
      now.notifiedAtMs = nowMs;
      now.reminders = 0;
    }
    now.decidedAtMs ??= nowMs;
    if (isChange || event !== null) now.notifiedBeganAtMs = news.problemBeganAtMs;
    // A reminder is next if something else is due to a channel at the same time.
    if (event === null || event === "reminder" && isChange) return byChannel;
    now.notified = now.confirmed;
    now.notifiedAtMs = nowMs;
    now.reminders = event === "reminder" ? now.reminders + 1 : 0;
    return byChannel;
  };
  return {
    observe: (check, { condition, ...circumstances }) => {
      const { nowMs } = circumstances;
      const now = knownOf(check);
      const before = now.confirmed;
      now.history.push(condition);
      now.observedAtMs = nowMs;
      now.confirmed = settle(now, check);
      if (now.confirmed !== before) {
        now.changes.push({ atMs: nowMs, to: now.confirmed });
        now.decidedAtMs = null;
      }
      if (condition === "ok" && now.confirmed === "ok") [now.beganAtMs, now.wasOk] = [null, true];
      else now.beganAtMs ??= nowMs;
      return decide(check, { ...circumstances, isResult: true });
    },
    review: (check, circumstances) => decide(check, { ...circumstances, isResult: false }),
    beganAtMs: (check) => known.get(check)?.beganAtMs ?? null,
  };
}

/** The notification that a channel is due, after its filters. */
interface Due {
  readonly channel: Channel;
  /** `null`: none, or a reminder. */
  readonly event: Exclude<NotificationEvent, "reminder"> | null;
  /** Whether it gets a reminder if one is due. */
  readonly isReminded: boolean;
  readonly previous: Condition;
  /** The condition that it is notified of by that. */
  readonly condition: Condition;
}

function dueTo(
  channel: Channel,
  { byChannel, confirmed, beganAtMs, decidedAtMs, changes }: Known,
  { nowMs, acknowledged }: { readonly nowMs: number; readonly acknowledged: boolean },
): Due {
  const { conditions, events, afterMs, hours, outsideHours } = channel;
  const isListed = (condition: Condition): boolean => conditions?.includes(condition) ?? condition !== "ok";
  const previous = byChannel.get(channel.key) ?? "ok";
  const isOver = confirmed === "ok" || confirmed === "warning" && previous === "critical";
  const condition = isListed(confirmed) ? confirmed : isOver ? "ok" : previous;
  const nothing = { channel, event: null, isReminded: false, previous, condition };
  if (condition === "ok") return { ...nothing, event: previous === "ok" ? null : "recovery" };
  // The problem goes on, with a condition that the channel is not for.
  if (!isListed(confirmed)) return nothing;
  if (hours !== undefined && !isInWindow(hours, nowMs)) return nothing;
  if (previous === condition) return { ...nothing, isReminded: events?.includes("reminder") ?? true };
  const last = changes.findLastIndex(({ to }) => !isListed(to));
  const listedAtMs = changes[last + 1]?.atMs ?? nowMs;
  const lastsSinceMs = conditions === undefined ? beganAtMs ?? nowMs : listedAtMs;
  const isPostponed = previous === "ok" && afterMs !== undefined &&
    (acknowledged || nowMs - lastsSinceMs < afterMs);
  if (isPostponed) return nothing;
  // It was due when it could first be sent, and had lasted.
  const dueAtMs = Math.max(decidedAtMs ?? nowMs, lastsSinceMs + (afterMs ?? 0));
  if (hours !== undefined && outsideHours === "never" && !isInWindow(hours, dueAtMs)) return nothing;
  return { ...nothing, event: previous === "ok" ? "problem" : "change" };
}

function unseen(): Known {
  return {
    history: [],
    confirmed: "ok",
    wasOk: false,
    notified: "ok",
    notifiedAtMs: -Infinity,
    reminders: 0,
    loweredAt: 0,
    notifiedBeganAtMs: 0,
    beganAtMs: null,
    observedAtMs: 0,
    changes: [],
    decidedAtMs: null,
    byChannel: new Map(),
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
  { reminders: policy }: Check,
  { nowMs, acknowledged, isResult }: {
    readonly nowMs: number;
    readonly acknowledged: boolean;
    readonly isResult: boolean;
  },
): NotificationEvent | null {
  if (confirmed !== notified) {
    return confirmed === "ok" ? "recovery" : notified === "ok" ? "problem" : "change";
  }
  if (!isResult || acknowledged || confirmed === "ok" || history.at(-1) === "ok" || policy === false) {
    return null;
  }
  if (policy === true) return "reminder";
  const intervals = [policy].flat();
  const intervalMs = intervals[Math.min(reminders, intervals.length - 1)] ?? Infinity;
  return nowMs - notifiedAtMs >= intervalMs * 0.9 ? "reminder" : null;
}

/**
 * A dependency that has a problem, whose last result was not ok, or that has not run since the problem here began; or
 * that has recovered since the last result here.
 */
function isUncertain(dependency: Known | undefined, { beganAtMs, observedAtMs }: Known): boolean {
  if (dependency === undefined) return true;
  return dependency.confirmed !== "ok" || dependency.history.at(-1) !== "ok" ||
    dependency.observedAtMs < (beganAtMs ?? 0) || hasRecoveredSince(dependency, observedAtMs);
}

function hasRecoveredSince({ confirmed, history, changes }: Known, observedAtMs: number): boolean {
  return confirmed === "ok" && history.at(-1) === "ok" && (changes.at(-1)?.atMs ?? 0) > observedAtMs;
}
