/**
 * What becomes of rows and marks of channels that their checks have no more. Pure: it says what is to go where, and
 * whoever asks does it.
 */
import type { Condition } from "./domain/condition.ts";
import type { OutboxRow, Told } from "./domain/outbox.ts";
import { messageOf, toldKey } from "./outbox_message.ts";
import { freshRow } from "./outbox_rows.ts";
import type { FindSuccessors, Successor } from "./successors.ts";

/** What {@linkcode planHandOver} goes by. */
export interface HandOverOptions {
  /** All that waits or was refused, of all channels; those of a channel in order. */
  readonly pending: readonly OutboxRow[];
  /** What channels were told, by {@linkcode toldKey}. */
  readonly told: ReadonlyMap<string, Told>;
  /** What takes the place of channels. */
  readonly successorsOf: FindSuccessors;
  /** Whether a channel takes several items in one message. */
  gathers(channelKey: string): boolean;
  /** Whether what a report tells still holds. */
  holds(row: OutboxRow): boolean;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/** A row that takes the place of another. */
export interface PassedRow {
  /** As it is now. */
  readonly row: OutboxRow;
  /** How people call the channel that it leaves. */
  readonly fromName: string;
}

/** What goes where. */
export interface HandOver {
  /** Rows that leave their channels. */
  readonly left: readonly OutboxRow[];
  /** The rows in their place: fewer where two channels have the same successor, which is told once. */
  readonly passed: readonly PassedRow[];
  /** Rows that nobody takes: their check has the channel no more, and needs no other to tell it. */
  readonly unwanted: readonly OutboxRow[];
  /** Marks that leave their channels. */
  readonly marksLeft: readonly Told[];
  /** The marks in their place. */
  readonly marksPassed: readonly Told[];
}

/** Says which rows and marks go to other channels. */
export function planHandOver(options: HandOverOptions): HandOver {
  const { pending, told, successorsOf, nowMs } = options;
  const marksLeft = [...told.values()].filter(({ check, channelKey }) =>
    successorsOf(check, channelKey)?.areNew
  );
  const marksPassed = marksLeft.flatMap((mark) =>
    heirsOf(mark.check, mark.channelKey, successorsOf).map((channelKey) => ({ ...mark, channelKey }))
  );
  const moving = pending.filter(({ report, channelKey }) => successorsOf(report.check, channelKey) !== null);
  if (moving.length === 0) return { left: [], passed: [], unwanted: [], marksLeft, marksPassed };

  const goals = findGoals(moving, { ...options, marksPassed });
  const messageIdFor = createMessageIds(goals, options);
  const known = new Set(pending.map((row) => row.id));
  const passed = moving.flatMap((row) =>
    (goals.get(row) ?? [])
      .map((goal): PassedRow => ({
        row: {
          ...freshRow(row.report, { ...goal, sequence: row.sequence, nowMs }),
          messageId: messageIdFor(row, goal),
        },
        fromName: row.channelName,
      }))
      .filter(({ row: { id } }) => !known.has(id) && known.add(id))
  );
  const unwanted = moving.filter((row) => !goals.has(row));
  return { left: moving.filter((row) => goals.has(row)), passed, unwanted, marksLeft, marksPassed };
}

/** Where rows go; nowhere where another of their check's goes on in their place. What nobody takes is not in it. */
type Goals = ReadonlyMap<OutboxRow, readonly Successor[]>;

function findGoals(
  moving: readonly OutboxRow[],
  options: HandOverOptions & Pick<HandOver, "marksPassed">,
): Goals {
  const { pending, successorsOf, holds } = options;
  const knowledge = learnOf(options);
  const lastSequences = new Map<string, number>();
  for (const { report: { check }, sequence } of pending) {
    lastSequences.set(check, Math.max(lastSequences.get(check) ?? -Infinity, sequence));
  }
  /** What it tells is over, and what came after it was told already. */
  const isBehind = (row: OutboxRow): boolean =>
    !holds(row) && row.sequence === lastSequences.get(row.report.check);

  const goals = new Map<OutboxRow, Successor[]>();
  const chains = Map.groupBy(moving, ({ report, channelKey }) => toldKey(report.check, channelKey));
  for (const chain of chains.values()) {
    const [{ report: { check }, channelKey }] = chain as [OutboxRow, ...OutboxRow[]];
    const { channels, areNew } = successorsOf(check, channelKey) ?? { channels: [], areNew: false };
    const rows = chain.filter((row) => !isBehind(row));
    const pairs = channels.flatMap((channel) =>
      (areNew ? rows : unknownOf(rows, channel, knowledge)).map((row) => [row, channel] as const)
    );
    if (pairs.length > 0) { for (const row of chain) goals.set(row, []); }
    for (const [row, channel] of pairs) goals.get(row)?.push(channel);
  }
  return goals;
}

/** What may have arrived goes on as the message that it was, where that stays together and the channel takes it so. */
function createMessageIds(
  goals: Goals,
  { pending, told, gathers }: HandOverOptions,
): (row: OutboxRow, goal: Successor) => string | null {
  const messages = Map.groupBy(pending.filter((row) => row.messageId !== null), messageOfLane);
  return (row, { channelKey }) => {
    const rows = messages.get(messageOfLane(row)) ?? [];
    const isWhole = rows.every((one) => {
      const [only, ...others] = goals.get(one) ?? [];
      return only?.channelKey === channelKey && others.length === 0;
    });
    const isTaken = gathers(channelKey) || messageOf("", rows, told).items.length === 1;
    return isWhole && isTaken ? row.messageId : null;
  };
}

/** The channels that know what a channel is told. */
export function heirsOf(check: string, channelKey: string, successorsOf: FindSuccessors): readonly string[] {
  const successors = successorsOf(check, channelKey);
  return successors?.areNew ? successors.channels.map((channel) => channel.channelKey) : [channelKey];
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
  { channelKey }: Successor,
  { conditions, reports }: Knowledge,
): readonly OutboxRow[] {
  const last = rows.at(-1)?.report;
  if (last === undefined || reports.has(`${last.id} ${channelKey}`)) return [];
  const known = conditions.get(toldKey(last.check, channelKey));
  if (known === last.condition) return [];
  if (known !== undefined) return rows.slice(-1);
  return last.event === "recovery" && rows[0]?.report.event !== "problem" ? [] : rows;
}

/** Channels that are told the same have messages of the same id. */
function messageOfLane({ messageId, channelKey }: OutboxRow): string {
  return `${channelKey} ${messageId}`;
}
