import { type CheckOf, type CheckResult, checkResult, unknownResult } from "../domain/check.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { describeSize } from "../domain/describe_size.ts";
import { describeDuration } from "../domain/duration.ts";
import type { FilePart } from "../domain/system.ts";
import type { LogParameters } from "../domain/generated/config.ts";
import { pause, startDeadline, unlessAborted } from "../shared/deadline.ts";
import { hashHex } from "../shared/hash.ts";
import { counted, oneLine, quote } from "../shared/text.ts";
import { createLineSearch } from "./body_pattern.ts";
import { evaluateFailure, unreadable } from "./file_findings.ts";
import { nameForPath } from "./targets.ts";

export const logKind: CheckKindEntry<"log"> = {
  observe: observeLog,
  withoutLocations: "a log check keeps its position in the state and runs at no location",
  target: {
    form: "PATH",
    parametersOf: ({ path }) => ({ path, pattern: "(?i)\\b(error|fatal|panic)\\b" }),
    nameOf: ({ path }) => nameForPath(path),
    subjectsOf: ({ parameters: { path } }) => [`log ${path}`],
    textOf: ({ parameters: { path } }) => path,
  },
  warnings: ({ threshold }) =>
    threshold === 1 ? [] : [{
      path: ["pattern"],
      message: `threshold is ${threshold}, and a line counts in one run only; write "threshold": 1`,
    }],
  requiredPermissions: ({ parameters }) => ({ read: [parameters.path, rotatedPathOf(parameters)] }),
};

function rotatedPathOf({ path, rotatedPath = `${path}.1` }: LogParameters): string {
  return rotatedPath;
}

const BYTES_MAX = 10 * 1024 * 1024;

/** A line without end is searched in parts of this length. */
const LINE_BYTES_MAX = 64 * 1024;

/** How many turns of some ten milliseconds the searches of one run may take. */
const TURNS_MAX = 20;

const ANCHOR_BYTES = 256;

const SHOWN_MAX = 10;

const POSITIONS_MAX = 50;

interface Position {
  readonly path: string;
  /** Device and inode; empty if the file did not exist. */
  readonly id: string;
  readonly offset: number;
  /** A hash of the bytes before it: a file that was copied keeps them, and one that was emptied and grew again does not. */
  readonly anchor: string;
}

/**
 * Counts the lines since the last run that match. The first run begins at the end of the file. After a rotation, by
 * renaming or by copying and emptying, the end of the rotated file is read first. Whatever was not searched makes the
 * check `unknown`, unless too many lines match.
 */
async function observeLog(check: CheckOf<"log">, context: ObserveContext): Promise<CheckResult> {
  const { system: { clock, hostName }, memory, signal } = context;
  signal.throwIfAborted();
  const { parameters, timeoutMs } = check;
  const { path } = parameters;
  if (memory === undefined) {
    return unknownResult("no data: no state is stored, and only lines after the last run count");
  }
  // A member on another machine has a file of its own.
  const positions: Readonly<Record<string, Position | undefined>> = memory === null ? {} : JSON.parse(memory);
  const host = hostName();
  const before = positions[host];
  const position = before?.path === path ? before : null;
  const withPosition = (result: CheckResult, after: Position): CheckResult => {
    const { [host]: _, ...others } = positions;
    const newest = Object.entries(others).slice(-POSITIONS_MAX + 1);
    return { ...result, memory: JSON.stringify({ ...Object.fromEntries(newest), [host]: after }) };
  };
  using deadline = startDeadline(clock, timeoutMs, signal);
  try {
    const reading = read(parameters, position, { ...context, signal: deadline.signal });
    const { after, findings } = await unlessAborted(reading, deadline.signal);
    return withPosition(evaluate(findings, parameters), after);
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.isTimeUp) {
      return unreadable(path, `not read and searched within ${describeDuration(timeoutMs)}`);
    }
    if (error instanceof Deno.errors.TimedOut) {
      return unreadable(path, "the file system did not respond in time");
    }
    const failure = evaluateFailure(error, parameters);
    // A log that appears after the first run is read from its beginning.
    const isAwaited = error instanceof Deno.errors.NotFound && position === null;
    return isAwaited ? withPosition(failure, { path, id: "", offset: 0, anchor: "" }) : failure;
  }
}

interface Findings {
  lines: number;
  matches: number;
  readonly shown: string[];
  readonly obstacles: string[];
  isFirst: boolean;
}

async function read(
  parameters: LogParameters,
  position: Position | null,
  { system: { clock, files }, signal }: ObserveContext,
) {
  const { path } = parameters;
  const findings: Findings = { lines: 0, matches: 0, shown: [], obstacles: [], isFirst: position === null };
  if (position === null) {
    const part = await files.readPart(path, { fromByte: -ANCHOR_BYTES, bytesMax: ANCHOR_BYTES });
    return { after: positionAt(part.bytes, part.sizeBytes, { path, id: part.id }), findings };
  }
  const search = await createSearch(parameters, {
    findings,
    turn: async () => {
      await pause(clock, 0);
      signal.throwIfAborted();
    },
  });
  const current = await readFrom(path, position, files);
  const goOn = async (start: Start) => ({ after: await search(start, { isWhole: false }), findings });
  if (current?.id === position.id) return await goOn(current);
  const rotated = await readRotated(rotatedPathOf(parameters), position, files);
  // A copy has another id. A new file may have the same bytes before the position.
  const isRenamed = typeof rotated !== "string" && rotated.id === position.id;
  if (current !== null && !isRenamed) return await goOn(current);
  const fresh = await files.readPart(path, { fromByte: 0, bytesMax: BYTES_MAX });
  if (typeof rotated === "string") {
    findings.obstacles.push(`the file was replaced or truncated, and lines may be missing: ${rotated}`);
  } else {
    // Until a program opens the new file, it writes to the old one.
    const isEnded = fresh.sizeBytes > 0 || rotated.bytes.length === rotated.skipped;
    const after = await search(rotated, { isWhole: isEnded && !isPart(rotated) });
    if (!isEnded || after.offset < rotated.sizeBytes) return { after: { ...after, path }, findings };
  }
  return await goOn({ path, skipped: 0, offset: 0, ...fresh });
}

/** A part of a file from a position on. */
interface Start extends FilePart {
  readonly path: string;
  readonly offset: number;
  /** How many of the bytes are before it. */
  readonly skipped: number;
}

function isPart({ bytes, sizeBytes, offset, skipped }: Start): boolean {
  return sizeBytes - (offset - skipped) > bytes.length;
}

/** Reads a file from a position on; `null`: the position is in another file. */
async function readFrom(
  path: string,
  { id, offset, anchor }: Position,
  files: ObserveContext["system"]["files"],
): Promise<Start | null> {
  const skipped = Math.min(offset, ANCHOR_BYTES);
  const part = await files.readPart(path, { fromByte: offset - skipped, bytesMax: skipped + BYTES_MAX });
  const isSame = skipped === 0
    ? id === "" || part.id === id
    : part.bytes.length >= skipped && hashOf(part.bytes.subarray(0, skipped)) === anchor;
  return isSame ? { ...part, path, offset, skipped } : null;
}

/** Returns the end of the rotated file, or why it is not known. */
async function readRotated(
  path: string,
  position: Position,
  files: ObserveContext["system"]["files"],
): Promise<Start | string> {
  try {
    return await readFrom(path, position, files) ??
      `${quote(path)} is not the file that was read; set "rotated_path"`;
  } catch (error) {
    if (error instanceof Deno.errors.TimedOut) throw error;
    return `${evaluateFailure(error, { path, conditionOnMissing: "unknown" }).output}; set "rotated_path"`;
  }
}

function positionAt(bytesBefore: Uint8Array, offset: number, file: Pick<Position, "path" | "id">): Position {
  const anchor = bytesBefore.subarray(Math.max(0, bytesBefore.length - ANCHOR_BYTES));
  return { ...file, offset, anchor: offset === 0 ? "" : hashOf(anchor) };
}

function hashOf(bytes: Uint8Array): string {
  return hashHex(String.fromCharCode(...bytes), 32);
}

/** `isWhole`: the file gets no more lines, so that its last one needs no newline. */
type Search = (start: Start, options: { readonly isWhole: boolean }) => Promise<Position>;

/** Returns a function that searches a part and returns up to where. */
async function createSearch(
  { pattern, ignorePattern }: LogParameters,
  { findings, turn }: { readonly findings: Findings; turn(): Promise<void> },
): Promise<Search> {
  const wanted = await createLineSearch(pattern);
  const ignored = ignorePattern === undefined ? null : await createLineSearch(ignorePattern);
  const lengthMax = ignored === null
    ? wanted.lengthMax
    : Math.floor(Math.min(wanted.lengthMax, ignored.lengthMax) / 2);
  const decoder = new TextDecoder();
  let [left, turns] = [lengthMax, TURNS_MAX];
  return async (start, { isWhole }) => {
    const { bytes, offset, skipped } = start;
    let at = skipped;
    while (at < bytes.length) {
      const end = lineEnd(bytes, at, isWhole);
      if (end === null) break;
      const line = decoder.decode(bytes.subarray(at, end)).replace(/\r?\n$/, "");
      // Each search costs something, however short the line is.
      const cost = line.length + 10;
      if (cost > left) {
        if (--turns < 0) break;
        await turn();
        left = lengthMax;
      }
      left -= cost;
      if (end - at === LINE_BYTES_MAX && bytes[end - 1] !== NEWLINE) {
        findings.obstacles.push(`a line is longer than ${LINE_BYTES_MAX / 1024} KiB`);
      }
      if (line.length > lengthMax) findings.obstacles.push(`a line is longer than ${lengthMax} characters`);
      const searched = line.slice(0, lengthMax);
      findings.lines++;
      if (wanted.test(searched) && ignored?.test(searched) !== true) {
        findings.matches++;
        if (findings.shown.length < SHOWN_MAX) findings.shown.push(oneLine(line, 300));
      }
      at = end;
    }
    const reached = offset + at - skipped;
    if (turns < 0 || isPart(start)) {
      const left = describeSize(start.sizeBytes - reached);
      findings.obstacles.push(`${left} are left for the next run, too much for one`);
    }
    return positionAt(bytes.subarray(0, at), reached, start);
  };
}

/** Returns where a line ends, behind its newline; `null`: it has no end yet. */
function lineEnd(bytes: Uint8Array, at: number, isWhole: boolean): number | null {
  const part = bytes.subarray(at, at + LINE_BYTES_MAX);
  const newline = part.indexOf(NEWLINE);
  if (newline >= 0) return at + newline + 1;
  return part.length === LINE_BYTES_MAX || isWhole ? at + part.length : null;
}

const NEWLINE = 0x0a;

function evaluate(
  { lines, matches, shown, obstacles, isFirst }: Findings,
  parameters: LogParameters,
): CheckResult {
  const { pattern, atMost, asWarning } = parameters;
  if (isFirst) return checkResult("ok", "no new lines: the first run begins at the end", { lines, matches });
  const isTooMany = matches > atMost;
  const condition = isTooMany ? asWarning ? "warning" : "critical" : obstacles.length > 0 ? "unknown" : "ok";
  const limit = atMost === 0 && !isTooMany ? "" : `, expected at most ${atMost}`;
  const first = isTooMany && shown[0] !== undefined ? `: ${shown[0]}` : "";
  const verb = matches === 1 ? "matches" : "match";
  const found = `${matches} of ${counted(lines, "new line")} ${verb} ${quote(pattern)}${limit}${first}`;
  const output = [found, ...new Set(obstacles)].join("; ");
  const rest = matches - shown.length;
  const detail = [...shown, ...rest > 0 ? [`and ${rest} more`] : []].join("\n");
  return { ...checkResult(condition, output, { lines, matches }), detail };
}
