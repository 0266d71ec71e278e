import type { Rehearsal, RehearsedChannel } from "../../rehearsal/rehearse.ts";
import { isoTime } from "../../shared/json_values.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import { createColors } from "../terminal.ts";
import type { TestedRun, TestFormat } from "../formats/format.ts";
import { junitFormat } from "../formats/junit.ts";
import { tapFormat } from "../formats/tap.ts";
import { annotation } from "../validation_formats.ts";

/** A rehearsal, and how long it took. */
interface TimedRehearsal extends Rehearsal {
  readonly durationMs: number;
}

interface RunFacts extends Pick<TestedRun, "startedAtMs" | "durationMs" | "hostName"> {
  readonly color: boolean;
}

type RehearsalFormat = (rehearsals: readonly TimedRehearsal[], facts: RunFacts) => string;

export type RehearsalFormatName = "pretty" | "json" | "junit" | "tap" | "github";

export const REHEARSAL_FORMATS: Readonly<Record<RehearsalFormatName, RehearsalFormat>> = {
  pretty: prettyText,
  json: jsonText,
  junit: (rehearsals, facts) => testText(junitFormat, rehearsals, facts),
  tap: (rehearsals, facts) => testText(tapFormat, rehearsals, facts),
  github: (rehearsals) => rehearsals.flatMap(annotations).join(""),
};

function prettyText(rehearsals: readonly TimedRehearsal[], { color }: RunFacts): string {
  const colors = createColors(color);
  const lines = rehearsals.flatMap((rehearsal) => {
    const { scenario: { source }, channels, causes, isAsExpected } = rehearsal;
    const head = `${printable(source.label)}: ${describe(rehearsal)}`;
    return [
      isAsExpected ? head : colors.red(head),
      ...channels.filter((channel) => !channel.isAsExpected).flatMap(({ name, differences }) => [
        `  ${printable(name)} (- expected, + sent)`,
        ...differences.map(({ sign, text }) => {
          const line = `    ${sign} ${printable(text)}`;
          return sign === "-" ? colors.red(line) : sign === "+" ? colors.green(line) : line;
        }),
      ]),
      ...causes.map((text) => `  common cause: ${printable(text)}`),
      ...causes.length === 0 ? [] : [`  (${ASSUMED})`],
    ];
  });
  return lines.map((line) => `${line}\n`).join("");
}

const ASSUMED = "assumed: each name of a host is one IP address, and no response is a failure of the host";

/** As in `5 messages as expected`, or `chat and mail are not as expected`. */
function describe({ channels, isAsExpected }: Rehearsal): string {
  const count = channels.reduce((sum, { sent }) => sum + sent.length, 0);
  if (isAsExpected) return `${counted(count, "message")} as expected`;
  const [missing, unexpected] = (["-", "+"] as const)
    .map((sign) => channels.flatMap((channel) => textsOf(channel, sign)).length);
  return `${counted(count, "message")}, ${missing} missing, ${unexpected} unexpected`;
}

function testText(format: TestFormat, rehearsals: readonly TimedRehearsal[], facts: RunFacts): string {
  const isFailed = rehearsals.some(({ isAsExpected }) => !isAsExpected);
  const { startedAtMs, durationMs, hostName } = facts;
  const records = rehearsals.map((rehearsal) => ({
    result: {
      check: { kind: "scenario", name: rehearsal.scenario.source.label },
      condition: rehearsal.isAsExpected ? "ok" as const : "critical" as const,
      output: describe(rehearsal),
      detail: rehearsal.isAsExpected ? "" : differencesText(rehearsal),
      durationMs: rehearsal.durationMs,
    },
  }));
  return format.summary({
    condition: isFailed ? "critical" : "ok",
    reason: null,
    records,
    unfinished: [],
    inactiveCount: 0,
    ...{ startedAtMs, durationMs, hostName },
  }, { color: false, columns: null, fails: (condition) => condition !== "ok", locate: () => null });
}

function differencesText({ channels }: Rehearsal): string {
  return channels.filter(({ isAsExpected }) => !isAsExpected)
    .map(({ name, differences }) =>
      [`${name} (- expected, + sent)`, ...differences.map(({ sign, text }) => `${sign} ${text}`)].join("\n")
    ).join("\n");
}

/** The same for programs; fields are only ever added. */
function jsonText(rehearsals: readonly TimedRehearsal[]): string {
  return jsonDocument({
    as_expected: rehearsals.every(({ isAsExpected }) => isAsExpected),
    scenarios: rehearsals.map(({ scenario, channels, causes, isAsExpected }) => ({
      scenario: scenario.source.label,
      as_expected: isAsExpected,
      channels: channels.map((channel) => ({
        channel: channel.name,
        as_expected: channel.isAsExpected,
        messages: channel.sent.map(({ atMs, text }) => ({ at: isoTime(atMs), text })),
        missing: textsOf(channel, "-"),
        unexpected: textsOf(channel, "+"),
      })),
      causes,
    })),
  });
}

function textsOf({ differences }: RehearsedChannel, sign: "-" | "+"): readonly string[] {
  return differences.filter((one) => one.sign === sign).map(({ text }) => text);
}

/** Each difference at its line, or at that of its channel. */
function annotations({ scenario: { source, place }, channels }: Rehearsal): readonly string[] {
  return channels.flatMap(({ name, differences }) =>
    differences.filter(({ sign }) => sign !== " ").map(({ sign, text, expected }) => {
      const path = ["expect", name, ...sign === "-" ? [expected] : []];
      const { line, column } = place({ path, message: "" });
      const message = sign === "-" ? `expected, and not sent: ${text}` : `sent, and not expected: ${text}`;
      return annotation({
        severity: "error",
        file: source.label,
        line,
        column,
        path: name,
        message,
        hint: null,
      });
    })
  );
}
