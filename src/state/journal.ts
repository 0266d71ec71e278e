/**
 * The journal of a check: what its runs returned, run-length encoded and packed. A result extends the last row, or begins
 * a new one; a result that causes a decision always does. A notification that was decided without a result is a row of no runs.
 *
 * The last row and the newest of those before it are in the record of the check, so that a run writes nothing else. As
 * they become many, or a week old, those before the last one move to a separate table, as one block.
 *
 * A row is packed as flags (1 byte), first time, its length and the number of runs (6 + 0 to 4 + 1 to 3 bytes), and its output if
 * it has one. In the record, the last row comes first, behind the limits of its interval (16 bytes).
 */
import { type Condition, CONDITIONS } from "../domain/condition.ts";
import type { JournalBlock, JournalRow, JournalRun } from "../domain/store.ts";
import type { Awaited } from "../domain/check.ts";
import { lazily } from "../shared/lazily.ts";
import { joinBytes, truncateBytes } from "../shared/text.ts";
import { DAY_MS, SECOND_MS } from "../shared/time_units.ts";
import { UnreadableRowError } from "./codec.ts";

/** From so many bytes on rows leave the record. */
const BLOCK_BYTES = 160;
/** Rows leave the record if they are older than the last one by this: a block is deleted as one. */
const BLOCK_MS_MAX = 7 * DAY_MS;
/** A row is shorter. */
const ROW_MS_MAX = DAY_MS;
const OUTPUT_BYTES_MAX = 256;

/** How much of the interval a run may deviate from the regular times of its row, within limits. */
const TOLERANCE = 0.05;
const TOLERANCE_MS_MIN = SECOND_MS;
const TOLERANCE_MS_MAX = 60 * SECOND_MS;

/** How far a time in a row may be from the real one. Each run deviates by a twentieth of the time since the one before. */
export function journalToleranceMs({ intervalMs }: Pick<JournalRow, "intervalMs">): number {
  return toleranceMs(intervalMs / (1 - 2 * TOLERANCE));
}

function toleranceMs(distanceMs: number): number {
  return Math.min(Math.max(TOLERANCE * distanceMs, TOLERANCE_MS_MIN), TOLERANCE_MS_MAX);
}

/** The last row of a check, with the intervals that all of its runs but the last one allow. */
interface OpenRow {
  readonly row: JournalRow;
  readonly intervalMsMin: number;
  readonly intervalMsMax: number;
}

export interface Added {
  readonly journal: Uint8Array;
  /** Rows that were moved out of the record. */
  readonly block: JournalBlock | null;
}

/** Returns the packed journal of a record after a run, and the rows that left it. */
export function addRun(packed: Uint8Array | null, run: JournalRun): Added {
  const output = run.condition === "ok" ? "" : truncateBytes(run.output.toWellFormed(), OUTPUT_BYTES_MAX);
  const next = { ...run, output };
  if (packed === null) return { journal: pack(begin(next)), block: null };
  const unpacked = unpack(packed);
  const extended = extend(unpacked.open, next);
  if (extended !== null) return { journal: pack(extended, packed, unpacked.end), block: null };
  return append(packed, unpacked, begin(next));
}

/** Returns the packed journal of a record after a notification that was decided without a result, and the rows that left it. */
export function addReview(packed: Uint8Array, atMs: number): Added {
  const { row, ...limits } = begin({ ...NO_RUN, endedAtMs: atMs });
  return append(packed, unpack(packed), { ...limits, row: { ...row, runs: 0 } });
}

/** Returns what the last run of a packed journal awaited; `null`: nothing, or there is none. */
export function lastAwaits(packed: Uint8Array | null): Awaited | null {
  return packed === null ? null : unpack(packed).open.row.awaits;
}

const NO_RUN = {
  condition: "ok",
  awaits: null,
  isLate: false,
  isAfterGap: false,
  isInterrupted: false,
  isDecisive: true,
  output: "",
} as const;

function append(packed: Uint8Array, { open, end }: ReturnType<typeof unpack>, next: OpenRow): Added {
  const before = readRows(packed, end);
  const outputBefore = before.findLast(({ output }) => output !== "")?.output ?? "";
  const added = SCRATCH.slice(0, putRow(open.row, { offset: 0, outputBefore }));
  const rows = joinBytes([packed.subarray(end), added]);
  const firstMs = before[0]?.firstMs ?? open.row.firstMs;
  const isFull = rows.length >= BLOCK_BYTES || Math.abs(open.row.lastMs - firstMs) >= BLOCK_MS_MAX;
  if (!isFull) return { journal: pack(next, rows), block: null };
  const lastMs = before.reduce((ms, row) => Math.max(ms, row.lastMs), open.row.lastMs);
  return { journal: pack(next), block: { lastMs, rows } };
}

const NOTHING = new Uint8Array(0);

function begin(run: JournalRun): OpenRow {
  const { endedAtMs, condition, awaits, isLate, isAfterGap, isInterrupted, output } = run;
  const firstMs = Math.floor(endedAtMs);
  return {
    row: {
      condition,
      awaits,
      isLate,
      firstMs,
      lastMs: firstMs,
      runs: 1,
      intervalMs: 0,
      gap: isAfterGap ? "first" : "none",
      isInterrupted,
      output,
    },
    intervalMsMin: 0,
    intervalMsMax: Infinity,
  };
}

/** Returns the row with a run; `null` if it is not like those in it. */
function extend({ row, intervalMsMin, intervalMsMax }: OpenRow, run: JournalRun): OpenRow | null {
  const { firstMs, lastMs, runs } = row;
  const endedAtMs = Math.floor(run.endedAtMs);
  const gap = row.gap === "first" && runs === 1 && run.isAfterGap ? "each" : row.gap;
  const isAlike = runs > 0 && !run.isDecisive && run.condition === row.condition &&
    run.awaits === row.awaits && run.isLate === row.isLate && !run.isInterrupted &&
    run.isAfterGap === (gap === "each") && isSameReason(row.output, run.output);
  if (!isAlike || endedAtMs <= lastMs || endedAtMs - firstMs >= ROW_MS_MAX) return null;
  // The interval of a row is its mean, and all of its runs have to be regular at that.
  const intervalMs = (endedAtMs - firstMs) / runs;
  if (intervalMs < intervalMsMin || intervalMs > intervalMsMax) return null;
  const deviationMs = toleranceMs(endedAtMs - lastMs);
  return {
    row: { ...row, lastMs: endedAtMs, runs: runs + 1, intervalMs, gap },
    intervalMsMin: Math.max(intervalMsMin, (endedAtMs - deviationMs - firstMs) / runs),
    intervalMsMax: Math.min(intervalMsMax, (endedAtMs + deviationMs - firstMs) / runs),
  };
}

/** Of texts that were cut, their ends are left out: numbers of other lengths move the cut. */
function isSameReason(one: string, other: string): boolean {
  if (one === other) return true;
  const texts = [stableText(one), stableText(other)] as const;
  if (!texts.every((text) => text.endsWith("…"))) return texts[0] === texts[1];
  const length = Math.min(...texts.map((text) => text.length)) - CUT_END;
  return texts[0].slice(0, length) === texts[1].slice(0, length);
}

const CUT_END = 24;

/** The times of the runs of a row: the first and the last exact, the others regular. */
export function timesOf(row: JournalRow): readonly number[] {
  return Array.from({ length: row.runs }, (_, index) => timeOf(row, index));
}

export function timeOf({ firstMs, lastMs, runs, intervalMs }: JournalRow, index: number): number {
  return index === runs - 1 ? lastMs : Math.round(firstMs + index * intervalMs);
}

/** Returns whether a run of a row came after a gap, by its place in it. */
export function isAfterGapAt({ gap }: JournalRow, index: number): boolean {
  return gap === "each" || gap === "first" && index === 0;
}

/** Returns the rows of blocks, the oldest first, and of a record behind them, as far as they are in a span of time. */
export function journalRows(
  blocks: readonly Uint8Array[],
  packed: Uint8Array | null,
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
): readonly JournalRow[] {
  const rows = blocks.flatMap((block) => readRows(block));
  if (packed !== null) {
    const { open, end } = unpack(packed);
    rows.push(...readRows(packed, end), open.row);
  }
  return rows.filter(({ firstMs, lastMs }) => lastMs >= sinceMs && firstMs <= untilMs);
}

// The packed form.

const REASONS: readonly (Awaited | "late" | null)[] = [null, "checks", "job", "late"];
const GAPS: readonly JournalRow["gap"][] = ["none", "first", "each"];

// Views of each record would cost as much as the rest of a run: bytes are copied one by one, into one buffer.

/** The limits of the interval of the last row, as numbers and as bytes. */
const LIMITS = new Float64Array(2);
const LIMITS_BYTES = new Uint8Array(LIMITS.buffer);

/** Flags, four numbers of at most eight bytes, and the output. */
const ROW_BYTES_MAX = 1 + 4 * 8 + OUTPUT_BYTES_MAX;
/** What is being packed: of a record at most. */
const SCRATCH = new Uint8Array(LIMITS_BYTES.length + ROW_BYTES_MAX + BLOCK_BYTES);

/** The rows before the last one are those in some bytes from an offset on. */
function pack(
  { row, intervalMsMin, intervalMsMax }: OpenRow,
  closed: Uint8Array = NOTHING,
  offset = 0,
): Uint8Array {
  LIMITS[0] = intervalMsMin;
  LIMITS[1] = intervalMsMax;
  SCRATCH.set(LIMITS_BYTES);
  let end = putRow(row, { offset: LIMITS_BYTES.length, outputBefore: "" });
  for (let from = offset; from < closed.length; from++) SCRATCH[end++] = closed[from] ?? 0;
  return SCRATCH.slice(0, end);
}

/**
 * Returns the last row, and where the others begin.
 *
 * @throws {UnreadableRowError} If it is no journal.
 */
function unpack(packed: Uint8Array): { readonly open: OpenRow; readonly end: number } {
  if (packed.length > SCRATCH.length) unreadable();
  for (let index = 0; index < LIMITS_BYTES.length; index++) LIMITS_BYTES[index] = packed[index] ?? 0;
  const [intervalMsMin = NaN, intervalMsMax = NaN] = LIMITS;
  const { row, end } = readRow(packed, LIMITS_BYTES.length, "");
  return { open: { row, intervalMsMin, intervalMsMax }, end };
}

/** Returns the end of the row. An output with the reason of that of the last row with one has no bytes of its own. */
function putRow(
  { condition, awaits, isLate, firstMs, lastMs, runs, gap, isInterrupted, output }: JournalRow,
  { offset, outputBefore }: { readonly offset: number; readonly outputBefore: string },
): number {
  SCRATCH[offset] = CONDITIONS.indexOf(condition) | GAPS.indexOf(gap) << 2 | Number(isInterrupted) << 4 |
    REASONS.indexOf(isLate ? "late" : awaits) << 5 | Number(output !== "") << 7;
  // Before 1970 the clock is wrong, yet the time is kept.
  let end = putNumber(firstMs < 0 ? -2 * firstMs - 1 : 2 * firstMs, offset + 1);
  end = putNumber(lastMs - firstMs, end);
  end = putNumber(runs, end);
  if (output === "") return end;
  const text = isSameReason(output, outputBefore) ? NOTHING : encoder.encode(output);
  end = putNumber(text.length, end);
  SCRATCH.set(text, end);
  return end + text.length;
}

function readRows(packed: Uint8Array, from = 0): JournalRow[] {
  const rows: JournalRow[] = [];
  let output = "";
  for (let offset = from; offset < packed.length;) {
    const { row, end } = readRow(packed, offset, output);
    rows.push(row);
    if (row.output !== "") output = row.output;
    offset = end;
  }
  return rows;
}

function readRow(
  packed: Uint8Array,
  offset: number,
  outputBefore: string,
): { readonly row: JournalRow; readonly end: number } {
  let end = offset;
  const byte = (): number => packed[end++] ?? unreadable();
  const number = (): number => {
    let sum = 0;
    for (let unit = 1;; unit *= 0x80) {
      const next = byte();
      sum += next % 0x80 * unit;
      if (next < 0x80) return sum;
      if (unit > Number.MAX_SAFE_INTEGER) unreadable();
    }
  };
  const flags = byte();
  const time = number();
  const firstMs = time % 2 === 1 ? -(time + 1) / 2 : time / 2;
  const lastMs = firstMs + number();
  const runs = number();
  const hasOutput = flags >> 7 === 1;
  const outputBytes = hasOutput ? number() : 0;
  if (end + outputBytes > packed.length) unreadable();
  const condition = CONDITIONS[flags & 3] satisfies Condition | undefined;
  const reason = REASONS[flags >> 5 & 3];
  const gap = GAPS[flags >> 2 & 3];
  if (condition === undefined || reason === undefined || gap === undefined) unreadable();
  const row: JournalRow = {
    condition,
    awaits: reason === "late" ? null : reason,
    isLate: reason === "late",
    firstMs,
    lastMs,
    runs,
    intervalMs: runs <= 1 ? 0 : (lastMs - firstMs) / (runs - 1),
    gap,
    isInterrupted: (flags >> 4 & 1) === 1,
    output: outputBytes > 0
      ? decoder.decode(packed.subarray(end, end + outputBytes))
      : hasOutput
      ? outputBefore
      : "",
  };
  return { row, end: end + outputBytes };
}

/** Puts a whole number of 0 or more, seven bits a byte, the lowest first (LEB128). Returns its end. */
function putNumber(number: number, offset: number): number {
  let end = offset;
  let rest = number;
  while (rest >= 0x80) {
    SCRATCH[end++] = rest % 0x80 + 0x80;
    rest = Math.floor(rest / 0x80);
  }
  SCRATCH[end++] = rest;
  return end;
}

function unreadable(): never {
  throw new UnreadableRowError('"journal" of a row is no list of results');
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Words with their inner punctuation: `web1`, `3.5`, `12ms`, `2026-01-31T10:00:00Z`, `10.0.0.5:443`. */
const words = lazily(() => /[\p{L}\p{N}_%]+(?:[.,:+-]+[\p{L}\p{N}_%]+)*/gu);

const IP_ADDRESS = /^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?$/;
/** As the status of HTTP, SMTP and FTP. */
const STATUS = /^[1-5]\d\d$/;
const unit = lazily(() =>
  /^ ?(?:[num\u00b5]?s|sec|seconds?|min|minutes?|h|hours?|d|days?|[kMGT]?i?B|bytes?|%)(?![\p{L}\p{N}_])/u
);
const ID = /^(?=.*\d)[\da-f]{8,}(?:-[\da-f]{4,})*$/i;

/**
 * Returns a text in which numbers that change from run to run are `#`, so that two texts with the same reason are equal.
 * Numbers with or without unit, times and hexadecimal ids change. IP addresses, names with digits, and three digits from
 * 100 to 599 without a unit, such as a status, do not.
 */
export function stableText(text: string): string {
  if (!/\d/.test(text)) return text;
  return text.replace(words(), (word, offset: number) => {
    if (IP_ADDRESS.test(word)) return word;
    const rest = text.slice(offset + word.length, offset + word.length + 12);
    if (STATUS.test(word) && !unit().test(rest)) return word;
    return /^\d/.test(word) || ID.test(word) ? "#" : word;
  });
}
