import { describeDuration } from "../domain/duration.ts";
import type { OutboxRow, Silence } from "../domain/outbox.ts";
import { wrap } from "./formats/wrap.ts";
import { printable } from "./printable.ts";

/** What `monitor status` shows below the checks. */
export interface KeptReports {
  /** Reports that wait, were refused or were given up; by sequence. */
  readonly rows: readonly OutboxRow[];
  /** Silences that are not over. */
  readonly silences: readonly Silence[];
}

const SHOWN_MAX = 20;

/** Where kept reports are shown. */
export interface KeptReportsOptions {
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
  /** The terminal's width; `null` off a terminal, where nothing is wrapped. */
  readonly columns: number | null;
}

/** Blocks of lines: one for the reports that did not arrive and one for the silences; without any, none. */
export function renderKeptReports(
  { rows, silences }: KeptReports,
  { nowMs, columns }: KeptReportsOptions,
): readonly (readonly string[])[] {
  const reports = rows.map((row) => printable(describeRow(row, nowMs)));
  const quiet = silences.map((silence) => printable(`silent: ${describeSilence(silence, nowMs)}`));
  return [shortenLines(reports, "reports"), shortenLines(quiet, "silences")]
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.flatMap((line) => wrapHanging(line, columns)));
}

/** One report that did not arrive, and why. */
export function describeRow(row: OutboxRow, nowMs: number): string {
  const since = describeDuration(Math.max(0, nowMs - row.report.decidedAtMs));
  const why = row.lastFailure === null ? "" : `: ${row.lastFailure}`;
  const counted = row.summarized === 0 ? "" : ` and ${row.summarized} older problems that recovered`;
  return `${
    STATE_WORDS[row.state]
  }: ${row.report.condition} of "${row.report.check}"${counted} to ${row.channelName}, ` +
    `decided ${since} ago, tried ${row.attempts === 1 ? "once" : `${row.attempts} times`}${why}`;
}

/** Which checks a silence is about, how long it still holds, and why. */
export function describeSilence({ check, untilMs, reason }: Silence, nowMs: number): string {
  const why = reason === "" ? "" : ` (${reason})`;
  return `${check === null ? "all checks" : `"${check}"`} for ${
    describeDuration(untilMs - nowMs)
  } more${why}`;
}

/** What sums them up, such as `2 reports wait, 1 was given up` and `1 silence`. */
export function countKeptReports({ rows, silences }: KeptReports): readonly string[] {
  const counts = STATES.flatMap((state) => {
    const count = rows.filter((row) => row.state === state).length;
    return count === 0 ? [] : [{ count, words: COUNT_WORDS[state][count === 1 ? 0 : 1] }];
  });
  const reports = counts.map(({ count, words }, index) => {
    const noun = index > 0 ? "" : count === 1 ? " report" : " reports";
    return `${count}${noun} ${words}`;
  });
  return [
    ...(reports.length === 0 ? [] : [reports.join(", ")]),
    ...(silences.length === 0
      ? []
      : [`${silences.length} ${silences.length === 1 ? "silence" : "silences"}`]),
  ];
}

const STATES = ["waiting", "refused", "given_up"] as const;

/** For one and for several. */
const COUNT_WORDS: Readonly<Record<OutboxRow["state"], readonly [string, string]>> = {
  waiting: ["waits", "wait"],
  refused: ["was refused", "were refused"],
  given_up: ["was given up", "were given up"],
};

function wrapHanging(line: string, columns: number | null): readonly string[] {
  if (columns === null) return [line];
  const [first = "", ...rest] = wrap(line, columns);
  if (rest.length === 0) return [first];
  return [first, ...wrap(rest.join(" "), columns - INDENT.length).map((text) => INDENT + text)];
}

const INDENT = "    ";

const STATE_WORDS: Readonly<Record<OutboxRow["state"], string>> = {
  waiting: "waits",
  refused: "refused",
  given_up: "given up",
};

/** Not more lines than anybody reads, the number of the others in their place. */
export function shortenLines(lines: readonly string[], noun: string): readonly string[] {
  const rest = lines.length - SHOWN_MAX;
  return [...lines.slice(0, SHOWN_MAX), ...(rest > 0 ? [`… and ${rest} more ${noun}`] : [])];
}

/** The same for machines; members are only ever added. */
export function keptReportMembers({ rows, silences }: KeptReports): Readonly<Record<string, unknown>> {
  const time = (ms: number | null): string | null => ms === null ? null : new Date(ms).toISOString();
  return {
    reports: rows.map((row) => ({
      check: row.report.check,
      event: row.report.event,
      condition: row.report.condition,
      channel: row.channelName,
      state: row.state,
      decided_at: time(row.report.decidedAtMs),
      summarized: row.summarized,
      attempts: row.attempts,
      next_attempt_at: row.state === "given_up" ? null : time(row.nextAttemptAtMs),
      last_failure: row.lastFailure,
      first_failed_at: time(row.firstFailedAtMs),
    })),
    silences: silences.map(({ check, fromMs, untilMs, reason }) => ({
      check,
      from: time(fromMs),
      until: time(untilMs),
      reason,
    })),
  };
}
