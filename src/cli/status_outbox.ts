import { describeDuration } from "../domain/duration.ts";
import type { OutboxRow, Silence } from "../domain/outbox.ts";
import { printable } from "./printable.ts";

/** What `monitor status` shows below the checks. */
export interface KeptReports {
  /** Reports that wait, were refused or were given up; by sequence. */
  readonly rows: readonly OutboxRow[];
  /** Silences that are not over. */
  readonly silences: readonly Silence[];
}

const SHOWN_MAX = 20;

/** A line for each report that did not arrive and for each silence, with an empty line before; empty without any. */
export function renderKeptReports({ rows, silences }: KeptReports, nowMs: number): string {
  const reports = rows.map((row) => printable(describeRow(row, nowMs)));
  const quiet = silences.map((silence) => printable(`silent: ${describeSilence(silence, nowMs)}`));
  return [...shorten(reports, "reports"), ...shorten(quiet, "silences")].map((lines) => `\n${lines}\n`).join(
    "",
  );
}

/** One report that did not arrive, and why. */
export function describeRow(row: OutboxRow, nowMs: number): string {
  const since = describeDuration(Math.max(0, nowMs - row.report.decidedAtMs));
  const why = row.lastFailure === null ? "" : `: ${row.lastFailure}`;
  return `${
    STATE_WORDS[row.state]
  }: ${row.report.condition} of "${row.report.check}" to ${row.channelName}, ` +
    `decided ${since} ago, tried ${row.attempts === 1 ? "once" : `${row.attempts} times`}${why}`;
}

/** Which checks a silence is about, how long it still holds, and why. */
export function describeSilence({ check, untilMs, reason }: Silence, nowMs: number): string {
  const why = reason === "" ? "" : ` (${reason})`;
  return `${check === null ? "all checks" : `"${check}"`} for ${
    describeDuration(untilMs - nowMs)
  } more${why}`;
}

const STATE_WORDS: Readonly<Record<OutboxRow["state"], string>> = {
  waiting: "waits",
  refused: "refused",
  given_up: "given up",
};

/** The lines as one block, or none where there are no lines. */
function shorten(lines: readonly string[], noun: string): readonly string[] {
  return lines.length === 0 ? [] : [shortenLines(lines, noun).join("\n")];
}

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
