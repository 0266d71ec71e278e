/** Between the rows of the outbox, of what channels were told and of silences, and what they stand for. */
import type { SQLInputValue } from "node:sqlite";
import type { ChannelCount } from "../domain/channel_count.ts";
import type { DeliveryMarker, QueuedNotification, Silence } from "../domain/outbox.ts";
import type { NotificationEvent } from "../domain/condition_state.ts";
import type { Notification } from "../domain/notification.ts";
import { copyNotification } from "./copies.ts";
import {
  conditionIn,
  encodedTextIn,
  encodedTextOrNullIn,
  encodeText,
  encodeTextOrNull,
  type Members,
  membersOf,
  numberIn,
  numberOrNullIn,
  textIn,
  textOrNullIn,
  wordIn,
} from "./members.ts";

/** What `UPSERT_OUTBOX_ROW` takes. */
export function rowOfOutboxRow(row: QueuedNotification): readonly SQLInputValue[] {
  return [
    encodeText(row.id),
    JSON.stringify(copyNotification(row.notification)),
    encodeText(row.channelKey),
    encodeText(row.channelName),
    row.sequence,
    row.state,
    row.attempts,
    row.nextAttemptAtMs,
    encodeTextOrNull(row.lastFailure),
    row.firstFailedAtMs,
    encodeTextOrNull(row.messageId),
    row.missedProblem === null ? null : JSON.stringify(copyNotification(row.missedProblem)),
    row.summarized,
  ];
}

/**
 * The row of the outbox in a row of `outbox`.
 *
 * @throws {UnreadableRowError} If it is none.
 */
export function outboxRowOfRow(row: Members): QueuedNotification {
  const missed = textOrNullIn(row, "missed_problem");
  return {
    id: encodedTextIn(row, "key"),
    notification: notificationOf(membersOf(textIn(row, "notification"))),
    channelKey: encodedTextIn(row, "channel_key"),
    channelName: encodedTextIn(row, "channel_name"),
    sequence: numberIn(row, "sequence"),
    state: wordIn(row, "state", STATES),
    attempts: numberIn(row, "attempts"),
    nextAttemptAtMs: numberIn(row, "next_attempt_at_ms"),
    lastFailure: encodedTextOrNullIn(row, "last_failure"),
    firstFailedAtMs: numberOrNullIn(row, "first_failed_at_ms"),
    messageId: encodedTextOrNullIn(row, "message_id"),
    missedProblem: missed === null ? null : notificationOf(membersOf(missed)),
    summarized: numberIn(row, "summarized"),
  };
}

/** What `UPSERT_TOLD` takes. */
export function rowOfTold(mark: DeliveryMarker): readonly SQLInputValue[] {
  const { check, channelKey, messageId, condition, certain } = mark;
  return [encodeText(check), encodeText(channelKey), encodeText(messageId), condition, Number(certain)];
}

/**
 * What a row of `told` says.
 *
 * @throws {UnreadableRowError} If it says nothing.
 */
export function toldOfRow(row: Members): DeliveryMarker {
  return {
    check: encodedTextIn(row, "check_name"),
    channelKey: encodedTextIn(row, "channel_key"),
    messageId: encodedTextIn(row, "message_id"),
    condition: conditionIn(row, "condition"),
    certain: numberIn(row, "certain") !== 0,
  };
}

/** What `ADD_TO_COUNTS` takes. */
export function rowOfCount(count: ChannelCount): readonly SQLInputValue[] {
  const { channelKey, channelName, sent, failedAttempts, dropped, summarized, countedAtMs } = count;
  const names = [encodeText(channelKey), encodeText(channelName)];
  return [...names, sent, failedAttempts, dropped, summarized, countedAtMs];
}

/**
 * The counts in a row of `channels`.
 *
 * @throws {UnreadableRowError} If it holds none.
 */
export function countOfRow(row: Members): ChannelCount {
  return {
    channelKey: encodedTextIn(row, "key"),
    channelName: encodedTextIn(row, "name"),
    sent: numberIn(row, "sent"),
    failedAttempts: numberIn(row, "failed_attempts"),
    dropped: numberIn(row, "dropped"),
    summarized: numberIn(row, "summarized"),
    countedAtMs: numberIn(row, "counted_at_ms"),
  };
}

/** What `UPSERT_SILENCE` takes. */
export function rowOfSilence({ id, check, fromMs, untilMs, reason }: Silence): readonly SQLInputValue[] {
  return [encodeText(id), encodeTextOrNull(check), fromMs, untilMs, encodeText(reason)];
}

/**
 * The silence in a row of `silences`.
 *
 * @throws {UnreadableRowError} If it is none.
 */
export function silenceOfRow(row: Members): Silence {
  return {
    id: encodedTextIn(row, "key"),
    check: encodedTextOrNullIn(row, "check_name"),
    fromMs: numberIn(row, "from_ms"),
    untilMs: numberIn(row, "until_ms"),
    reason: encodedTextIn(row, "reason"),
  };
}

const STATES: readonly QueuedNotification["state"][] = ["pending", "rejected", "dropped"];
const EVENTS: readonly NotificationEvent[] = ["problem", "change", "recovery", "reminder"];

function notificationOf(members: Members): Notification {
  return {
    id: textIn(members, "id"),
    check: textIn(members, "check"),
    title: textOrNullIn(members, "title"),
    event: wordIn(members, "event", EVENTS),
    condition: conditionIn(members, "condition"),
    previous: conditionIn(members, "previous"),
    output: textIn(members, "output"),
    detail: textIn(members, "detail"),
    problemBeganAtMs: numberIn(members, "problemBeganAtMs"),
    decidedAtMs: numberIn(members, "decidedAtMs"),
    occurrences: numberIn(members, "occurrences"),
    nextRunAtMs: numberIn(members, "nextRunAtMs"),
    hostName: textIn(members, "hostName"),
  };
}
