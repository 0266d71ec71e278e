/**
 * What waits for one channel, and what of it is due. Pure: times go in, and nobody is called.
 */
import type { Channel } from "./domain/channel.ts";
import type { OutboxRow } from "./domain/outbox.ts";

/** What the sender needs to know of a channel. */
export interface LaneChannel {
  /** The channel as the document has it now. */
  readonly channel: Channel;
  /** Whether everything that waits goes as one message. */
  readonly gathers: boolean;
  /** Older rows are given up unsent; milliseconds, `null`: none is too old. */
  readonly staleAfterMs: number | null;
  /** The time limit of one attempt, in milliseconds. */
  readonly attemptMs: number;
}

/** The rows of one channel, in order. */
export interface Lane {
  /** The channel's. */
  readonly key: string;
  /** In the order in which they were decided. */
  rows: OutboxRow[];
  /** When the next attempt is; `null` when nothing waits. */
  timer: (() => void) | null;
  /** Wall time of that, milliseconds since 1970; `Infinity` when nothing waits. */
  timerAtMs: number;
  /** Ends when what is being sent has been. */
  sending: Promise<void> | null;
  /** Attempts that failed since it last answered. */
  failures: number;
  /** The trouble that was told since it last worked. */
  trouble: "down" | "refused" | null;
}

/** Retries back off from 10 s to 15 min. */
const BACK_OFF_MS_MIN = 10_000;
const BACK_OFF_MS_MAX = 15 * 60_000;
/** What a channel refuses may be the matter of a moment, or somebody has to mend it: it is tried ever more seldom. */
const REFUSED_MS_MIN = 60_000;
const REFUSED_MS_MAX = 3_600_000;
/** More items in one message are of no use to anybody, and a receiver may refuse them. */
const ITEMS_MAX = 1000;

/** When a row is tried that was kept; nothing waits for longer than an hour, so what says so has seen another clock. */
export function keptTime(nextAttemptAtMs: number, nowMs: number): number {
  return nextAttemptAtMs > nowMs + REFUSED_MS_MAX ? nowMs : Math.max(nowMs, nextAttemptAtMs);
}

/** Puts rows in the place of those with their ids. */
export function replace(lane: Lane, rows: readonly OutboxRow[]): void {
  const byId = new Map(rows.map((row) => [row.id, row]));
  lane.rows = lane.rows.map((row) => byId.get(row.id) ?? row);
}

/** Takes rows out. */
export function remove(lane: Lane, rows: readonly OutboxRow[]): void {
  const ids = new Set(rows.map((row) => row.id));
  lane.rows = lane.rows.filter((row) => !ids.has(row.id));
}

/** Doubles from try to try, and spreads, so that many monitors do not come back in step. */
export function backOff(failures: number, random: number): number {
  const full = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** Math.min(failures - 1, 20));
  return Math.round(full * (0.75 + random / 4));
}

/**
 * How long refused rows wait: twice as long as it has been going on, a minute at least and an hour at most. So there are
 * four tries in ten minutes, fewer than those of somebody who guesses passwords.
 */
export function refusedWaitMs(rows: readonly OutboxRow[], nowMs: number): number {
  const sinceMs = rows.reduce(
    (least, row) => row.state === "refused" ? Math.min(least, row.firstFailedAtMs ?? nowMs) : least,
    nowMs,
  );
  return Math.min(REFUSED_MS_MAX, Math.max(REFUSED_MS_MIN, 2 * (nowMs - sinceMs)));
}

/** What is held back, and until when. */
export interface HoldBackOptions {
  /** Rows that were there before the attempt. */
  readonly behind: readonly OutboxRow[];
  /** When those are tried; wall time, milliseconds since 1970. */
  readonly untilMs: number;
  /** When the others are tried at the latest. */
  readonly soonMs: number;
}

/** Lets rows that were not tried wait for the channel; without that each of them would be a reason to try at once. */
export function holdBack(lane: Lane, { behind, untilMs, soonMs }: HoldBackOptions): void {
  const ids = new Set(behind.map((row) => row.id));
  lane.rows = lane.rows.map((row) => {
    if (row.state !== "waiting") return row;
    const nextAttemptAtMs = ids.has(row.id) ? untilMs : Math.min(untilMs, soonMs);
    return row.nextAttemptAtMs >= nextAttemptAtMs ? row : { ...row, nextAttemptAtMs };
  });
}

/** What {@linkcode nextBatch} goes by. */
export interface BatchOptions {
  /** Where it goes. */
  readonly target: LaneChannel;
  /** Rows that were tried in this round. */
  readonly tried: ReadonlySet<string>;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** Whether what is not due goes as well. */
  readonly force: boolean;
}

/**
 * The rows of the next message. A message that may have arrived goes again as it was. Otherwise a gathering channel
 * takes everything that waits; any other one check's rows at a time, since a problem and its recovery that wait
 * together are told as one.
 */
export function nextBatch(
  lane: Lane,
  { target, tried, nowMs, force }: BatchOptions,
): readonly OutboxRow[] | null {
  // What came of a check after it was refused in this round waits for the next one, to stay behind it.
  const refused = new Set(lane.rows.filter((row) => tried.has(row.id)).map((row) => row.report.check));
  const open = lane.rows.filter((row) => !refused.has(row.report.check));
  const isDue = (row: OutboxRow): boolean => force || row.nextAttemptAtMs <= nowMs;
  // Refused rows go when their time has come, or with what is new of their check; they hold up no other check.
  const checks = new Set(
    open.filter((row) => row.state === "waiting" || isDue(row)).map((row) => row.report.check),
  );
  const waiting = open.filter((row) => checks.has(row.report.check));
  const first = waiting[0];
  // What is due takes along the others that wait, and a channel that works takes all of them.
  if (first === undefined || (tried.size === 0 && !waiting.some(isDue))) return null;
  const sealed = waiting.find((row) => row.messageId !== null);
  if (sealed !== undefined) return lane.rows.filter((row) => row.messageId === sealed.messageId);
  if (target.gathers) return waiting.slice(0, ITEMS_MAX);
  return takeOver(waiting, first);
}

/** A row, and with a problem that is over its changes and its recovery. */
function takeOver(rows: readonly OutboxRow[], first: OutboxRow): readonly OutboxRow[] {
  if (first.report.event !== "problem") return [first];
  const own = rows.filter((row) => row.report.check === first.report.check);
  const end = own.findIndex((row) => row.report.event === "recovery");
  return end < 0 ? [first] : own.slice(0, end + 1);
}
