import { describeDuration } from "../domain/duration.ts";
import {
  type Cause,
  isStandalone,
  type LoggedDelivery,
  type PageAction,
  type QueuedNotification,
  type Silence,
} from "../domain/outbox.ts";
import type { KeptOutbox } from "../domain/store.ts";
import { isoTime, isoTimeOrNull } from "../shared/json_values.ts";
import { timeText } from "../shared/local_time.ts";
import { bySequence, groupTimes } from "../engine/batching.ts";
import type { ConfiguredChannels } from "../engine/configured_channels.ts";
import { wrap } from "../shared/wrap.ts";
import { counted, printable } from "../shared/text.ts";
import { describeNote, hasOwnEnd } from "../engine/suppression.ts";

/** A queued notification; with a time while the limit of its channel lets nothing through. */
export interface ShownNotification extends QueuedNotification {
  /** Wall time, milliseconds since 1970. @default none */
  readonly limitedUntilMs?: number;
}

/** Returns all notifications of an outbox; none of a missing one. Those of a group are due with its first. */
export function shownNotifications(
  outbox: Pick<KeptOutbox, "notifications" | "counts"> | undefined,
  nowMs: number,
  channels: Pick<ConfiguredChannels, "targetOf"> | null = null,
): readonly ShownNotification[] {
  const { notifications: all, counts } = outbox ?? { notifications: [], counts: [] };
  const byChannel = Map.groupBy(all, ({ channelKey }) => channelKey);
  const notifications = [...byChannel].flatMap(([channelKey, queued]) => {
    const dueAtMs = groupTimes(queued, channels?.targetOf(channelKey)?.group ?? null);
    return queued.map((one) => dueAtMs(one) === -Infinity ? one : { ...one, nextAttemptAtMs: dueAtMs(one) });
  }).sort(bySequence);
  const limits = new Map(counts.map(({ channelKey, limitUse }) => [channelKey, limitUse?.limitedUntilMs]));
  return notifications.map((queued) => {
    const limitedUntilMs = limits.get(queued.channelKey) ?? -Infinity;
    if (queued.state === "dropped" || limitedUntilMs <= nowMs) return queued;
    return { ...queued, limitedUntilMs, nextAttemptAtMs: Math.max(queued.nextAttemptAtMs, limitedUntilMs) };
  });
}

/** The notifications and silences that `monitor status` shows below the checks. */
export interface QueuedNotifications {
  /** Notifications that wait, were rejected or were dropped; by sequence. */
  readonly rows: readonly ShownNotification[];
  /** Silences that are not over. */
  readonly silences: readonly Silence[];
}

const SHOWN_MAX = 20;

/**
 * Blocks of lines: one for the notifications that did not arrive and one for the silences; without any, none. Nothing is
 * wrapped without the width of a terminal.
 */
export function renderQueuedNotifications(
  { rows, silences }: QueuedNotifications,
  { nowMs, columns }: { readonly nowMs: number; readonly columns: number | null },
): readonly (readonly string[])[] {
  const notifications = rows.map((row) => printable(describeRow(row, nowMs)));
  // Each check shows its maintenance.
  const quiet = silences.filter(({ kind }) => kind !== "maintenance").map((silence) => {
    const word = silence.kind === "silence" ? "silenced" : "acknowledged";
    return printable(`${word}: ${describeSilence(silence, nowMs)}`);
  });
  return [shortenLines(notifications, "notifications"), shortenLines(quiet, "silences")]
    .filter((lines) => lines.length > 0).map((lines) => lines.flatMap((line) => wrapHanging(line, columns)));
}

export function describeRow(row: ShownNotification, nowMs: number): string {
  const since = describeDuration(Math.max(0, nowMs - row.notification.decidedAtMs));
  const why = row.lastFailure === null ? "" : `: ${row.lastFailure}`;
  const limited = row.limitedUntilMs === undefined
    ? waitsForGroup(row, nowMs)
      ? `, waits for its group for ${describeDuration(row.nextAttemptAtMs - nowMs)} more`
      : ""
    : `, limit reached for ${describeDuration(Math.max(0, row.limitedUntilMs - nowMs))} more`;
  const counted = row.summarized === 0 ? "" : ` and ${row.summarized} older problems that recovered`;
  const { event, condition, check } = row.notification;
  const what = isStandalone(event) ? event : `${condition} of "${check}"`;
  return `${row.state}: ${what}${counted} to ${row.channelName}, ` +
    `decided ${since} ago, tried ${row.attempts === 1 ? "once" : `${row.attempts} times`}${limited}${why}`;
}

/** Returns whether a notification was never tried because it waits for others of its group. */
export function waitsForGroup(
  { state, attempts, nextAttemptAtMs, limitedUntilMs }: ShownNotification,
  nowMs: number,
): boolean {
  return state === "pending" && attempts === 0 && limitedUntilMs === undefined && nextAttemptAtMs > nowMs;
}

export function describeSilence(silence: Silence, nowMs: number): string {
  const { check, untilMs, problemBeganAtMs } = silence;
  const note = describeNote(silence);
  const why = note === "" ? "" : ` (${note})`;
  const time = `for ${describeDuration(untilMs - nowMs)} more`;
  const end = problemBeganAtMs === null
    ? time
    : hasOwnEnd(silence)
    ? `until it is ok, ${time} at most`
    : "until it is ok";
  return `${check === null ? "all checks" : `"${check}"`} ${end}${why}`;
}

/** Describes an action on the live page, such as `silenced until 2026-12-01 18:30:00 UTC by Ada from 192.0.2.7: deploy`. */
export function describeAction(
  { action, by, untilMs, note }: PageAction,
  { timeZone }: { readonly timeZone: string },
): string {
  // The note of an end names what ended.
  if (action === "end") return `ended ${note} by ${by}`;
  const end = untilMs !== null
    ? ` until ${timeText(untilMs, timeZone)}`
    : action === "silence"
    ? " until it is ok"
    : "";
  return `${ACTION_WORDS[action]}${end} by ${by}${note === "" ? "" : `: ${note}`}`;
}

const ACTION_WORDS: Readonly<Record<Exclude<PageAction["action"], "end">, string>> = {
  acknowledge: "acknowledged",
  silence: "silenced",
  maintenance: "maintenance",
  run: "run requested",
};

/** Returns the same for machines; fields are only ever added. */
export function actionFields(
  { atMs, action, by, untilMs, note }: PageAction,
): Readonly<Record<string, unknown>> {
  return { at: isoTime(atMs), action, by, until: isoTimeOrNull(untilMs), note };
}

/** Summarizes them, such as `2 notifications are pending, 1 was dropped` and `1 silence`. */
export function countQueuedNotifications({ rows, silences }: QueuedNotifications): readonly string[] {
  const counts = STATES.flatMap((state) => {
    const count = rows.filter((row) => row.state === state).length;
    const [one, several] = state === "pending" ? ["is", "are"] : ["was", "were"];
    return count === 0 ? [] : [{ count, words: `${count === 1 ? one : several} ${state}` }];
  });
  const notifications = counts.map(({ count, words }, index) => {
    const noun = index > 0 ? "" : count === 1 ? " notification" : " notifications";
    return `${count}${noun} ${words}`;
  });
  return [...(notifications.length === 0 ? [] : [notifications.join(", ")]), ...countSilences(silences)];
}

/** Counts them by kind, such as `2 silences` and `1 acknowledgement`. */
export function countSilences(silences: readonly Silence[]): readonly string[] {
  return (["silence", "acknowledgement"] as const).flatMap((kind) => {
    const count = silences.filter((silence) => silence.kind === kind).length;
    return count === 0 ? [] : [`${count} ${kind}${count === 1 ? "" : "s"}`];
  });
}

const STATES = ["pending", "rejected", "dropped"] as const;

function wrapHanging(line: string, columns: number | null): readonly string[] {
  if (columns === null) return [line];
  const [first = "", ...rest] = wrap(line, columns);
  if (rest.length === 0) return [first];
  return [first, ...wrap(rest.join(" "), columns - INDENT.length).map((text) => INDENT + text)];
}

const INDENT = "    ";

/** Truncates a list to a readable number of lines, and counts the others. */
export function shortenLines(lines: readonly string[], noun: string): readonly string[] {
  const rest = lines.length - SHOWN_MAX;
  return [...lines.slice(0, SHOWN_MAX), ...(rest > 0 ? [`… and ${rest} more ${noun}`] : [])];
}

/** Returns the same for machines; fields are only ever added. */
export function queuedNotificationFields(
  { rows, silences }: QueuedNotifications,
): Readonly<Record<string, unknown>> {
  return {
    notifications: rows.map((row) => ({
      check: row.notification.check,
      event: row.notification.event,
      condition: row.notification.condition,
      channel: row.channelName,
      state: row.state,
      decided_at: isoTimeOrNull(row.notification.decidedAtMs),
      summarized: row.summarized,
      attempts: row.attempts,
      next_attempt_at: row.state === "dropped" ? null : isoTimeOrNull(row.nextAttemptAtMs),
      limited_until: isoTimeOrNull(row.limitedUntilMs ?? null),
      last_failure: row.lastFailure,
      first_failed_at: isoTimeOrNull(row.firstFailedAtMs),
    })),
    silences: silences.map(({ kind, check, tag, fromMs, untilMs, problemBeganAtMs, reason, by }) => ({
      kind,
      check,
      tag,
      from: isoTimeOrNull(fromMs),
      until: isoTimeOrNull(untilMs),
      until_ok: problemBeganAtMs !== null,
      reason,
      by,
    })),
  };
}

/** Describes a logged delivery, such as `sent critical at 10:00, accepted`; `at` is the part with its time. */
export function describeDelivery(delivery: LoggedDelivery, at = ""): string {
  const { event, condition, missedProblem, outcome, answer, messageSize, cause } = delivery;
  // A recovery to `unknown`: the config no longer has the check.
  const isUnchecked = event === "recovery" && condition === "unknown";
  const ending = isUnchecked ? "unknown, no longer checked" : "recovery";
  const what = missedProblem !== null
    ? `${missedProblem}${isUnchecked ? ", then " : " and its "}${ending}`
    : event === "recovery"
    ? ending
    : event === "reminder"
    ? `reminder of ${condition}`
    : event === "burning"
    ? "burning error budget"
    : isStandalone(event)
    ? event
    : condition;
  const verb = outcome === "dropped" ? "" : "sent ";
  const others = messageSize > 1 ? ` with ${messageSize - 1} more` : "";
  const named = cause === null ? "" : `; ${describeOneCause(cause)}`;
  return `${verb}${what}${at}${others}, ${outcome}${answer === "" ? "" : `: ${answer}`}${named}`;
}

/** As in `cause of 5 checks: all connect to 192.0.2.7, and no healthy check does`. */
export function describeOneCause({ checks, text }: Cause): string {
  return `cause of ${counted(checks, "check")}: ${text}`;
}

/** Returns the same for machines; fields are only ever added. */
export function deliveryFields(delivery: LoggedDelivery): Readonly<Record<string, unknown>> {
  return {
    at: isoTime(delivery.atMs),
    channel: delivery.channelName,
    event: delivery.event,
    condition: delivery.condition,
    missed_problem: delivery.missedProblem,
    decided_at: isoTime(delivery.decidedAtMs),
    first_failed_at: isoTimeOrNull(delivery.firstFailedAtMs),
    outcome: delivery.outcome,
    answer: delivery.answer,
    message_id: delivery.messageId,
    message_size: delivery.messageSize,
    summarized: delivery.summarized,
    cause: delivery.cause === null
      ? null
      : { text: delivery.cause.text, checks: delivery.cause.checks, since: isoTime(delivery.cause.sinceMs) },
  };
}
