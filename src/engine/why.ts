/**
 * Why a channel of a check is, or is not, notified of the present condition. Pure.
 *
 * No rule is duplicated: `decide` runs without each setting that may suppress a notification. The causes are the fewest
 * settings without which it would be sent.
 */
import { actionPhase, actionTitle, runsOfProblem } from "../condition/action.ts";
import {
  confirmedAs,
  hasProblem,
  isAttentive,
  occurrences,
  reminderAfterMs,
} from "../condition/condition_state.ts";
import type { Channel } from "../domain/channel.ts";
import { alternativesOf, type Check, checkResult } from "../domain/check.ts";
import { type Condition, type NotificationEvent, severity } from "../domain/condition.ts";
import { isStandalone, type Silence } from "../domain/outbox.ts";
import type { CheckRecord } from "../domain/store.ts";
import { dueAtMs, isExcluded, isOutsideHours } from "./channel_filters.ts";
import { unconfirmedOf } from "./check_status.ts";
import { decide, NOT_SENT, type Run } from "./decide.ts";
import { nextWindow, openWindow } from "./maintenance_windows.ts";
import type { LastNotified } from "./queued_notifications.ts";
import { holdingDependencies, shownWindow, silencesOfKind, type SuppressionOptions } from "./suppression.ts";

/** A setting without which a notification would be sent. Times are wall time, milliseconds since 1970. */
export type Cause =
  | {
    readonly kind: "threshold" | "recovery_threshold";
    readonly condition: Condition;
    /** Results in a row, of so many. */
    readonly results: number;
    readonly of: number;
  }
  | { readonly kind: "silence" | "acknowledgement"; readonly silence: Silence }
  /** `null`: it does not end within a month. */
  | { readonly kind: "maintenance"; readonly untilMs: number | null; readonly reason: string }
  /**
   * All of these have a problem, or `isAwaited`: one of them has not run since this one began, or this check not since
   * they recovered.
   */
  | { readonly kind: "depends_on"; readonly names: readonly string[]; readonly isAwaited: boolean }
  /** The problem was suppressed and may be over: the last results are ok, so many of those that end it. */
  | { readonly kind: "recovering"; readonly results: number; readonly of: number }
  /** `runs` of at most `of` runs of the action of the check began since the problem did. */
  | { readonly kind: "action"; readonly title: string; readonly runs: number; readonly of: number }
  | { readonly kind: "flapping" }
  /** The agent reported the last result so late that it counts for the history alone. */
  | { readonly kind: "late"; readonly agent: string }
  | { readonly kind: "conditions"; readonly conditions: readonly Condition[] }
  | { readonly kind: "after"; readonly dueAtMs: number }
  /** `null`: they never begin again. */
  | { readonly kind: "hours"; readonly fromMs: number | null; readonly isLater: boolean }
  | { readonly kind: "events"; readonly events: readonly NotificationEvent[] };

/** The due notification of a channel, and the causes that suppress it. */
export interface Explanation {
  /** The event that would be sent; `null`: nothing is due, with or without the settings. */
  readonly event: NotificationEvent | null;
  /** The fewest settings that suppress it; empty: none does. */
  readonly causes: readonly Cause[];
}

export interface WhyOptions extends Omit<SuppressionOptions, "notifies"> {
  readonly check: Check;
  readonly record: CheckRecord;
  /** Whether its agent reported the last result late. @default false */
  readonly isLate?: boolean;
  lastNotifiedOf(channel: Channel): LastNotified;
}

/** Returns what is due to a channel of a check, and why it is not sent. */
export function explainChannel(channel: Channel, options: WhyOptions): Explanation {
  const asIs: Decision = { ...options, channel };
  const due = dueEvent(asIs);
  if (due !== null) return { event: due, causes: [] };
  const removals = removalsFrom(asIs);
  // A condition that is not confirmed counts only if nothing is due of the confirmed one.
  return fewest(asIs, removals) ?? fewest(asIs, [...unconfirmedIn(asIs), ...removals]) ??
    { event: null, causes: [] };
}

/** The time of the next reminder of a channel, and the causes that suppress it. */
export interface ExplainedReminder extends Pick<Explanation, "causes"> {
  /** The earliest run that may send it; wall time, milliseconds since 1970. */
  readonly dueAtMs: number;
}

/**
 * Returns the next reminder of a channel if the last result is repeated; `null`: there is none, even without the
 * settings, or another notification is due by then.
 */
export function explainReminder(channel: Channel, options: WhyOptions): ExplainedReminder | null {
  const { check: { reminders }, record: { condition: state, nextRunAtMs }, nowMs } = options;
  if (reminders === false || !hasProblem(state)) return null;
  const afterMs = reminders === true ? 0 : reminderAfterMs(reminders, state);
  const atMs = Math.ceil(Math.max(nowMs, nextRunAtMs ?? nowMs, (state.notifiedAtMs ?? nowMs) + afterMs));
  const asIs: Decision = { ...options, channel, nowMs: atMs, isAgain: true };
  const found = fewest(asIs, removalsFrom(asIs));
  return found?.event === "reminder" ? { dueAtMs: atMs, causes: found.causes } : null;
}

/** Returns the fewest of these settings without which something is due; `null`: nothing is without all of them. */
function fewest(asIs: Decision, removals: readonly Removal[]): Explanation | null {
  const without = (causes: ReadonlySet<Removal>): NotificationEvent | null =>
    dueEvent(
      removals.reduce((decision, one) => causes.has(one) ? one.removedFrom(decision) : decision, asIs),
    );
  const causes = new Set(removals);
  if (without(causes) === null) return null;
  // A change that becomes a recovery may pass what held it back: so again, until each of them is needed.
  for (let before = Infinity; causes.size < before;) {
    before = causes.size;
    for (const removal of removals.toReversed().filter((one) => causes.has(one))) {
      causes.delete(removal);
      if (without(causes) === null) causes.add(removal);
    }
  }
  return {
    event: without(causes),
    causes: removals.filter((one) => causes.has(one)).map(({ cause }) => cause),
  };
}

interface Decision extends WhyOptions {
  readonly channel: Channel;
  /** Whether the last result is repeated, because a reminder requires a result. @default false */
  readonly isAgain?: boolean;
}

interface Removal {
  readonly cause: Cause;
  removedFrom(decision: Decision): Decision;
}

/** Returns the event that the channel gets if it is decided now; `null`: none. */
function dueEvent(decision: Decision): NotificationEvent | null {
  const { channel, check, record, nowMs, isAgain = false } = decision;
  const notifications = check.notifications.map((one) => one.key === channel.key ? channel : one);
  const asked = { ...check, notifications } as Check;
  const { condition = "unknown", output = "" } = record.last ?? {};
  const again: Run = {
    result: { ...checkResult(condition, output), check: asked, startedAtMs: nowMs, durationMs: 0 },
    plan: () => ({ atMs: nowMs, overdueAtMs: nowMs, missed: 0 }),
  };
  const { queued } = decide(record, asked, { ...decision, ...NOT_SENT }, isAgain ? again : null);
  const due = queued.find(({ channelKey }) => channelKey === channel.key);
  if (due === undefined || isExcluded(channel, due)) return null;
  const { event } = due.notification;
  return isStandalone(event) ? null : event;
}

/** Returns the settings that may suppress a notification, the most familiar ones first. */
function removalsFrom(decision: Decision): readonly Removal[] {
  return [
    ...(["silence", "acknowledgement"] as const).flatMap((kind) =>
      silencesOfKind(kind, decision.check, decision).map((silence): Removal => ({
        cause: { kind, silence },
        removedFrom: (given) => ({ ...given, silences: given.silences.filter((one) => one !== silence) }),
      }))
    ),
    ...maintenanceIn(decision),
    ...lateIn(decision),
    ...dependenciesIn(decision),
    ...endingIn(decision),
    ...actionIn(decision),
    ...decision.check.flapping === "once" && decision.record.condition.flappingSinceMs !== null
      ? [changed({ kind: "flapping" }, { flapping: "all" })]
      : [],
    ...filtersOf(decision),
  ];
}

/** A cause in the check itself. */
function changed(cause: Cause, fields: Partial<Check>): Removal {
  return { cause, removedFrom: (given) => ({ ...given, check: { ...given.check, ...fields } as Check }) };
}

/** The last result, if it confirms another condition only with further ones. */
function unconfirmedIn({ check, record, nowMs }: Decision): readonly Removal[] {
  const unconfirmed = unconfirmedOf(check, record);
  if (unconfirmed === null || unconfirmed.threshold === null) return [];
  const { condition, results, threshold } = unconfirmed;
  const { confirmed, observedAtMs } = record.condition;
  const isBetter = confirmed !== null && severity(condition) < severity(confirmed);
  const state = confirmedAs(record.condition, condition, observedAtMs ?? nowMs);
  return [{
    cause: { kind: isBetter ? "recovery_threshold" : "threshold", condition, results, of: threshold },
    removedFrom: (given) => ({ ...given, record: { ...given.record, condition: state } }),
  }];
}

function maintenanceIn(decision: Decision): readonly Removal[] {
  const { check, nowMs } = decision;
  const started = silencesOfKind("maintenance", check, decision);
  const open = openWindow([...check.maintenanceWindows, ...started.map(shownWindow)], nowMs);
  if (open === null) return [];
  return [{
    cause: { kind: "maintenance", ...open },
    removedFrom: (given) => ({
      ...given,
      check: { ...given.check, maintenanceWindows: [] },
      silences: given.silences.filter((one) => !started.includes(one)),
    }),
  }];
}

function dependenciesIn(decision: Decision): readonly Removal[] {
  return holdingDependencies(decision.check, decision).map((names): Removal => ({
    cause: {
      kind: "depends_on",
      names,
      isAwaited: !names.every((name) => isAttentive(decision.stateOf(name))),
    },
    removedFrom: (given) => {
      const dependsOn = given.check.dependsOn.filter((one) =>
        !alternativesOf(one).some((name) => names.includes(name))
      );
      return { ...given, check: { ...given.check, dependsOn } };
    },
  }));
}

function lateIn({ check: { agent = "" }, isLate = false }: Decision): readonly Removal[] {
  if (!isLate) return [];
  return [{ cause: { kind: "late", agent }, removedFrom: (given) => ({ ...given, isLate: false }) }];
}

/** The last result, if it is ok: a problem that was suppressed may be over. */
function endingIn({ check, record: { condition: state } }: Decision): readonly Removal[] {
  if (state.observed !== "ok" || !hasProblem(state)) return [];
  return [{
    cause: { kind: "recovering", results: occurrences(state, "ok"), of: check.recoveryThreshold },
    removedFrom: ({ record, ...given }) => ({
      ...given,
      record: { ...record, condition: { ...record.condition, observed: record.condition.confirmed } },
    }),
  }];
}

function actionIn({ check, record: { condition } }: Decision): readonly Removal[] {
  const { action } = check;
  if (action === undefined || actionPhase(check, condition) === "none") return [];
  const runs = runsOfProblem(condition).length;
  return [{
    cause: { kind: "action", title: actionTitle(action), runs, of: action.atMost },
    removedFrom: (given) => {
      const { action: _, ...rest } = given.check;
      return { ...given, check: rest as Check };
    },
  }];
}

function* filtersOf({ channel, record, nowMs }: Decision): Generator<Removal> {
  const { conditions, afterMs, hours, outsideHours, events } = channel;
  const lacking = (cause: Cause, name: "conditions" | "afterMs" | "hours" | "events"): Removal => ({
    cause,
    removedFrom: (given) => {
      const { [name]: _, ...rest } = given.channel;
      return { ...given, channel: rest as Channel };
    },
  });
  if (afterMs !== undefined) {
    yield lacking({ kind: "after", dueAtMs: dueAtMs(channel, record.condition, nowMs) }, "afterMs");
  }
  const isLater = outsideHours !== "never";
  if (hours !== undefined && (isOutsideHours(channel, nowMs) || !isLater)) {
    const begins = hours.flatMap((window) => nextWindow(window, nowMs)?.fromMs ?? []);
    const fromMs = begins.length === 0 ? null : Math.min(...begins);
    yield lacking({ kind: "hours", fromMs, isLater }, "hours");
  }
  // Without it, a delay would begin earlier.
  if (conditions !== undefined) yield lacking({ kind: "conditions", conditions }, "conditions");
  if (events !== undefined) yield lacking({ kind: "events", events }, "events");
}
