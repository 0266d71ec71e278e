/**
 * What becomes of rows and marks of channels that their checks have no more. Pure: it says what is to go where, and
 * whoever asks does it.
 */
import type { Condition } from "./domain/condition.ts";
import type { OutboxRow, Told } from "./domain/outbox.ts";
import { toldKey } from "./outbox_message.ts";
import { freshRow } from "./outbox_rows.ts";

/** A channel that a row goes to. */
export type Taker = Pick<OutboxRow, "channelKey" | "channelName">;

/** What takes the place of a channel that a check has no more. */
export interface Takers {
  /** As the document keys them, and how people call them; none where the check has no channel at all. */
  readonly channels: readonly Taker[];
  /** Whether they take over what the channel was told; otherwise each takes only what it does not know. */
  readonly areNew: boolean;
}

/** Answers what takes the place of a channel for a check; `null` where the check has that channel, or is not there. */
export type FindTakers = (check: string, channelKey: string) => Takers | null;

/** What {@linkcode planHandOver} goes by. */
export interface HandOverOptions {
  /** All that waits or was refused, of all channels; those of a channel in order. */
  readonly pending: readonly OutboxRow[];
  /** What channels were told, by {@linkcode toldKey}. */
  readonly told: ReadonlyMap<string, Told>;
  /** What takes the place of channels. */
  readonly takersOf: FindTakers;
  /** Whether what a report tells still holds. */
  holds(row: OutboxRow): boolean;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/** What goes where. */
export interface HandOver {
  /** Rows that leave their channels. */
  readonly left: readonly OutboxRow[];
  /** The rows in their place: fewer where two channels have the same taker, which is told once. */
  readonly passed: readonly OutboxRow[];
  /** Rows that nobody takes: their check has the channel no more, and needs no other to tell it. */
  readonly unwanted: readonly OutboxRow[];
  /** Marks that leave their channels. */
  readonly marksLeft: readonly Told[];
  /** The marks in their place. */
  readonly marksPassed: readonly Told[];
}

/** Says which rows and marks go to other channels. */
export function planHandOver({ pending, told, takersOf, holds, nowMs }: HandOverOptions): HandOver {
  const marksLeft = [...told.values()].filter(({ check, channelKey }) => takersOf(check, channelKey)?.areNew);
  const marksPassed = marksLeft.flatMap((mark) =>
    heirsOf(mark.check, mark.channelKey, takersOf).map((channelKey) => ({ ...mark, channelKey }))
  );
  const moving = pending.filter(({ report, channelKey }) => takersOf(report.check, channelKey) !== null);
  if (moving.length === 0) return { left: [], passed: [], unwanted: [], marksLeft, marksPassed };

  const knowledge = learnOf({ pending, told, marksPassed });
  const lastSequences = new Map<string, number>();
  for (const { report: { check }, sequence } of pending) {
    lastSequences.set(check, Math.max(lastSequences.get(check) ?? -Infinity, sequence));
  }
  /** What it tells is over, and what came after it was told already. */
  const isBehind = (row: OutboxRow): boolean =>
    !holds(row) && row.sequence === lastSequences.get(row.report.check);

  const takers = new Map<OutboxRow, readonly Taker[]>();
  for (
    const chain of Map.groupBy(moving, ({ report, channelKey }) => toldKey(report.check, channelKey)).values()
  ) {
    const [first] = chain;
    const found = first === undefined ? null : takersOf(first.report.check, first.channelKey);
    for (const row of chain) takers.set(row, []);
    for (const taker of found?.channels ?? []) {
      const rows = chain.filter((row) => !isBehind(row));
      for (const row of found?.areNew ? rows : unknownOf(rows, taker, knowledge)) {
        takers.set(row, [...takers.get(row) ?? [], taker]);
      }
    }
  }
  /** Rows of a chain of which another one goes on are told by that. */
  const goesOn = new Set([...takers].filter(([, some]) => some.length > 0).map(([row]) => chainOf(row)));
  const left = moving.filter((row) => goesOn.has(chainOf(row)));
  const messages = Map.groupBy(pending.filter((row) => row.messageId !== null), messageOfLane);
  /** What may have arrived goes on as the message that it was, where that stays together. */
  const messageIdFor = (row: OutboxRow, { channelKey }: Taker): string | null => {
    const isWhole = messages.get(messageOfLane(row))?.every((one) => {
      const [only, ...others] = takers.get(one) ?? [];
      return only?.channelKey === channelKey && others.length === 0;
    });
    return isWhole ? row.messageId : null;
  };
  const known = new Set(pending.map((row) => row.id));
  const passed = left.flatMap((row) =>
    (takers.get(row) ?? [])
      .map((taker): OutboxRow => ({
        ...freshRow(row.report, { ...taker, sequence: row.sequence, nowMs }),
        messageId: messageIdFor(row, taker),
      }))
      .filter(({ id }) => !known.has(id) && known.add(id))
  );
  return {
    left,
    passed,
    unwanted: moving.filter((row) => !goesOn.has(chainOf(row))),
    marksLeft,
    marksPassed,
  };
}

/** The channels that know what a channel is told. */
export function heirsOf(check: string, channelKey: string, takersOf: FindTakers): readonly string[] {
  const takers = takersOf(check, channelKey);
  return takers?.areNew ? takers.channels.map((taker) => taker.channelKey) : [channelKey];
}

/** What channels know of checks, by {@linkcode toldKey}, when all that waits for them is told. */
interface Knowledge {
  /** The condition; what is not there knows of no problem. */
  readonly conditions: ReadonlyMap<string, Condition>;
  /** Reports that are about to be told. */
  readonly reports: ReadonlySet<string>;
}

function learnOf(
  { pending, told, marksPassed }: Pick<HandOverOptions, "pending" | "told"> & Pick<HandOver, "marksPassed">,
): Knowledge {
  const conditions = new Map([...told].map(([key, { condition }]) => [key, condition]));
  for (const mark of marksPassed) conditions.set(toldKey(mark.check, mark.channelKey), mark.condition);
  const reports = new Set<string>();
  for (const { report, channelKey } of pending) {
    const key = toldKey(report.check, channelKey);
    if (report.event === "recovery") conditions.delete(key);
    else conditions.set(key, report.condition);
    reports.add(`${report.id} ${channelKey}`);
  }
  return { conditions, reports };
}

/**
 * What of a check's rows a channel has to know that was there all along: all of them where it knows of no problem, the
 * last one where it knows another condition. A recovery goes only where its problem went, or with it.
 */
function unknownOf(
  rows: readonly OutboxRow[],
  { channelKey }: Taker,
  { conditions, reports }: Knowledge,
): readonly OutboxRow[] {
  const last = rows.at(-1)?.report;
  if (last === undefined || reports.has(`${last.id} ${channelKey}`)) return [];
  const known = conditions.get(toldKey(last.check, channelKey));
  if (known === last.condition) return [];
  if (known !== undefined) return rows.slice(-1);
  return last.event === "recovery" && rows[0]?.report.event !== "problem" ? [] : rows;
}

function chainOf({ report, channelKey }: OutboxRow): string {
  return toldKey(report.check, channelKey);
}

/** Channels that are told the same have messages of the same id. */
function messageOfLane({ messageId, channelKey }: OutboxRow): string {
  return `${channelKey} ${messageId}`;
}
