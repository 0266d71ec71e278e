/**
 * What waits for one channel, and what of it is due. Pure: times go in, and nobody is called.
 */
import type { Channel } from "../domain/channel.ts";
import type { QueuedNotification } from "../domain/outbox.ts";

/** What the sender needs to know of a channel. */
export interface LaneChannel {
  /** The channel as the config has it now. */
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
  rows: readonly QueuedNotification[];
  /** When the next attempt is; `null` when nothing waits. */
  timer: (() => void) | null;
  /** Wall time of that, milliseconds since 1970; `Infinity` when nothing waits. */
  timerAtMs: number;
  /** Ends when what is being sent has been. */
  sending: Promise<void> | null;
  /** Attempts that failed since it last answered. */
  failures: number;
  /** The receiver asked not to be tried before (`Retry-After`); wall time, milliseconds since 1970. */
  askedUntilMs: number;
  /** The trouble that was told since it last worked; `stuck`: it takes some, and what it did not take still waits. */
  trouble: "down" | "rejected" | "stuck" | null;
  /** When its rows are merged; `null` where nothing came since the last time. */
  mergeTimer: (() => void) | null;
  /** Whether it was logged that older problems are summarized, since it was last empty. */
  isSummarizing: boolean;
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

/** By the rows of a lane, the last one of each check. */
const lastByCheck = new WeakMap<readonly QueuedNotification[], ReadonlyMap<string, QueuedNotification>>();

/** The last row of a check in a lane; fast, since each result asks for it. */
export function lastRowOf({ rows }: Lane, check: string): QueuedNotification | null {
  let last = lastByCheck.get(rows);
  if (last === undefined) {
    lastByCheck.set(rows, last = new Map(rows.map((row) => [row.notification.check, row])));
  }
  return last.get(check) ?? null;
}

/** The rows of some that are in a lane. */
export function rowsIn({ rows }: Lane, some: readonly QueuedNotification[]): readonly QueuedNotification[] {
  const ids = new Set(rows.map((row) => row.id));
  return some.filter((row) => ids.has(row.id));
}

/** Puts rows in the place of those with their ids. */
export function replace(lane: Lane, rows: readonly QueuedNotification[]): void {
  const byId = new Map(rows.map((row) => [row.id, row]));
  lane.rows = lane.rows.map((row) => byId.get(row.id) ?? row);
}

/** Takes rows out. */
export function remove(lane: Lane, rows: readonly QueuedNotification[]): void {
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
export function refusedWaitMs(rows: readonly QueuedNotification[], nowMs: number): number {
  const sinceMs = rows.reduce(
    (least, row) => row.state === "rejected" ? Math.min(least, row.firstFailedAtMs ?? nowMs) : least,
    nowMs,
  );
  return Math.min(REFUSED_MS_MAX, Math.max(REFUSED_MS_MIN, 2 * (nowMs - sinceMs)));
}

/** Lets refused rows wait that were not tried, where one of them stood for all. */
export function holdRefused(lane: Lane, untilMs: number): void {
  lane.rows = lane.rows.map((row) =>
    row.state === "rejected" && row.nextAttemptAtMs < untilMs ? { ...row, nextAttemptAtMs: untilMs } : row
  );
}

/** What is held back, and until when. */
export interface HoldBackOptions {
  /** Rows that were there before the attempt. */
  readonly behind: readonly QueuedNotification[];
  /** When those are tried; wall time, milliseconds since 1970. */
  readonly untilMs: number;
  /** When the others are tried at the latest. */
  readonly soonMs: number;
}

/** Lets rows that were not tried wait for the channel; without that each of them would be a reason to try at once. */
export function holdBack(lane: Lane, { behind, untilMs, soonMs }: HoldBackOptions): void {
  const ids = new Set(behind.map((row) => row.id));
  lane.rows = lane.rows.map((row) => {
    if (row.state !== "pending") return row;
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
  /** How many messages were taken in this round. */
  readonly taken: number;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** Whether what is not due goes as well. */
  readonly force: boolean;
}

/**
 * The rows of the next message. A message that may have arrived goes again as it was. Otherwise a gathering channel
 * takes everything that waits; any other one row at a time.
 *
 * What fails again and again may do so for what it says, so it lets all else go first, and what failed together is then
 * tried apart. Of one check nothing ever overtakes anything.
 */
export function nextBatch(lane: Lane, options: BatchOptions): readonly QueuedNotification[] | null {
  const { target, tried, nowMs, force } = options;
  // What came of a check after it was refused in this round waits for the next one, to stay behind it.
  const refused = new Set(lane.rows.filter((row) => tried.has(row.id)).map((row) => row.notification.check));
  const open = lane.rows.filter((row) => !refused.has(row.notification.check));
  const isDue = (row: QueuedNotification): boolean => force || row.nextAttemptAtMs <= nowMs;
  // Refused rows go when their time has come, or with what is new of their check; they hold up no other check.
  const checks = new Set(
    open.filter((row) => row.state === "pending" || isDue(row)).map((row) => row.notification.check),
  );
  const waiting = open.filter((row) => checks.has(row.notification.check));
  // What is due takes along the others that wait, and a channel that works takes all of them.
  if (waiting.length === 0 || (tried.size === 0 && !waiting.some(isDue))) return null;
  const stuck = stuckChecks(waiting, target);
  const fresh = waiting.filter((row) => !stuck.has(row.notification.check));
  const [first] = fresh;
  if (first === undefined) return nextOfStuck(lane, waiting, options);
  const sealed = fresh.find((row) => row.messageId !== null);
  if (sealed !== undefined) return sealedWith(lane, sealed);
  if (target.gathers) return fresh.slice(0, ITEMS_MAX);
  return [first];
}

/** All that goes with a row that may have arrived. */
function sealedWith(lane: Lane, { messageId }: QueuedNotification): readonly QueuedNotification[] {
  return lane.rows.filter((row) => row.messageId === messageId);
}

/** So often a message is tried before others, about half a minute long. */
const ATTEMPTS_FIRST = 3;
/** The same where all that waits goes as one, about an hour: a channel that was down shall get it as one. */
const ATTEMPTS_TOGETHER = 10;

/** Checks with a row that was tried too often, or that was refused together with others; and those in one message with them. */
function stuckChecks(rows: readonly QueuedNotification[], { gathers }: LaneChannel): ReadonlySet<string> {
  const isStuck = ({ state, attempts }: QueuedNotification): boolean =>
    gathers ? state === "rejected" || attempts >= ATTEMPTS_TOGETHER : attempts >= ATTEMPTS_FIRST;
  const stuck = rows.filter(isStuck);
  const messages = new Set(stuck.map((row) => row.messageId).filter((id) => id !== null));
  return new Set(
    [...stuck, ...rows.filter((row) => row.messageId !== null && messages.has(row.messageId))]
      .map((row) => row.notification.check),
  );
}

/**
 * Of what is stuck, that which was tried least. Of a gathering channel one check at first. When that is taken, all that
 * is left where it was down; where it refuses, one more, and then twice as many each time. When it is refused, nothing more in this
 * round, so that a wrong password is not tried more often; but where each must be tried, all that is left.
 */
function nextOfStuck(
  lane: Lane,
  waiting: readonly QueuedNotification[],
  { target, tried, taken, force }: BatchOptions,
): readonly QueuedNotification[] | null {
  const heads = [...new Map(waiting.toReversed().map((row) => [row.notification.check, row])).values()]
    .toSorted((one, other) => one.attempts - other.attempts || one.sequence - other.sequence);
  const [first] = heads;
  if (first === undefined) return null;
  if (first.messageId !== null) return sealedWith(lane, first);
  if (!target.gathers) return [first];
  const isRefused = first.state === "rejected";
  if (isRefused && tried.size > 0 && taken === 0 && !force) return null;
  const count = tried.size === 0 ? 1 : isRefused && taken > 0 ? 2 ** Math.min(taken - 1, 30) : Infinity;
  const chosen = new Set(
    heads.filter(({ messageId }) => messageId === null)
      // What was refused more often stays apart.
      .filter(({ attempts }) => !isRefused || attempts === first.attempts)
      .slice(0, count).map(({ notification }) => notification.check),
  );
  return waiting.filter((row) => chosen.has(row.notification.check)).slice(0, ITEMS_MAX);
}
