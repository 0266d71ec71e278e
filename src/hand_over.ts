/**
 * What becomes of rows and marks of channels that their checks have no more. Pure: it says what is to go where, and
 * whoever asks does it.
 */
import type { OutboxRow, Told } from "./domain/outbox.ts";
import type { Report } from "./domain/report.ts";
import { toldKey } from "./outbox_message.ts";
import { freshRow } from "./outbox_rows.ts";

/** A channel that a row goes to. */
export type Taker = Pick<OutboxRow, "channelKey" | "channelName">;

/** What takes the place of a channel. */
export interface Takers {
  /** As the document keys them, and how people call them; at least one. */
  readonly channels: readonly Taker[];
  /** Whether they take over what the channel was told; otherwise each takes only what it does not know. */
  readonly areNew: boolean;
}

/** Answers what takes the place of a channel for a check that has it no more; `null` where nothing does. */
export type FindTakers = (check: string, channelKey: string) => Takers | null;

/** What {@linkcode planHandOver} goes by. */
export interface HandOverOptions {
  /** All that waits or was refused, of all channels. */
  readonly pending: readonly OutboxRow[];
  /** What channels were told, by {@linkcode toldKey}. */
  readonly told: ReadonlyMap<string, Told>;
  /** What takes the place of channels. */
  readonly takersOf: FindTakers;
  /** Whether what a row tells is over, and what came after it was told already. */
  isBehind(row: OutboxRow): boolean;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/** What goes where. */
export interface HandOver {
  /** Rows that leave their channels. */
  readonly left: readonly OutboxRow[];
  /** The rows in their place: fewer where two channels have the same taker, which is told once. */
  readonly passed: readonly OutboxRow[];
  /** Marks that leave their channels. */
  readonly marksLeft: readonly Told[];
  /** The marks in their place. */
  readonly marksPassed: readonly Told[];
}

/** Says which rows and marks go to other channels. */
export function planHandOver({ pending, told, takersOf, isBehind, nowMs }: HandOverOptions): HandOver {
  const marksLeft = [...told.values()].filter(({ check, channelKey }) => takersOf(check, channelKey)?.areNew);
  const marksPassed = marksLeft.flatMap((mark) =>
    heirsOf(mark.check, mark.channelKey, takersOf).map((channelKey) => ({ ...mark, channelKey }))
  );
  const conditions = new Map([...told].map(([key, { condition }]) => [key, condition]));
  for (const { check, channelKey, condition } of marksPassed) {
    conditions.set(toldKey(check, channelKey), condition);
  }
  /** Whether a channel is neither told a report nor about to be, and has to know of it. */
  const isNewTo = (channelKey: string, { id, check, event, condition }: Report): boolean => {
    if (pending.some((row) => row.channelKey === channelKey && row.report.id === id)) return false;
    const known = conditions.get(toldKey(check, channelKey));
    return event === "recovery" ? known !== undefined : known !== condition;
  };
  const takersOfRow = (row: OutboxRow): readonly Taker[] => {
    const takers = takersOf(row.report.check, row.channelKey);
    if (takers === null || isBehind(row)) return [];
    if (takers.areNew) return takers.channels;
    return takers.channels.filter(({ channelKey }) => isNewTo(channelKey, row.report));
  };
  const leaving = new Map(
    pending.map((row) => [row, takersOfRow(row)] as const).filter(([, takers]) => takers.length > 0),
  );
  /** What may have arrived goes on as the message that it was, where that stays together. */
  const messageIdFor = ({ messageId }: OutboxRow, { channelKey }: Taker): string | null => {
    if (messageId === null) return null;
    const isWhole = pending.filter((row) => row.messageId === messageId).every((row) => {
      const [only, ...others] = leaving.get(row) ?? [];
      return only?.channelKey === channelKey && others.length === 0;
    });
    return isWhole ? messageId : null;
  };
  const known = new Set(pending.map((row) => row.id));
  const passed = [...leaving].flatMap(([row, takers]) =>
    takers
      .map((taker): OutboxRow => ({
        ...freshRow(row.report, { ...taker, sequence: row.sequence, nowMs }),
        messageId: messageIdFor(row, taker),
      }))
      .filter(({ id }) => !known.has(id) && known.add(id))
  );
  return { left: [...leaving.keys()], passed, marksLeft, marksPassed };
}

/** The channels that know what a channel is told. */
export function heirsOf(check: string, channelKey: string, takersOf: FindTakers): readonly string[] {
  const takers = takersOf(check, channelKey);
  return takers?.areNew ? takers.channels.map((taker) => taker.channelKey) : [channelKey];
}
