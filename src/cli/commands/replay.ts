import { parseIntervalText } from "../../config/quantities.ts";
import { describeDuration } from "../../domain/duration.ts";
import { type LoggedDelivery, NOTICE_PREFIX } from "../../domain/outbox.ts";
import type { System } from "../../domain/system.ts";
import { Past } from "../../rehearsal/past.ts";
import { describeNotification } from "../../rehearsal/message_text.ts";
import {
  differencesOf,
  outagesOnlyIn,
  type Replay,
  replay,
  type ReplayDifference,
  type ReplayedMessage,
  type ReplayedOutage,
} from "../../rehearsal/replay.ts";
import { isoTime } from "../../shared/json_values.ts";
import { timeText } from "../../shared/local_time.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import { pad } from "../../shared/wrap.ts";
import { type Command, type Invocation, OPTION, option, UsageError } from "../command_definition.ts";
import { EXIT } from "../exit_code.ts";
import { openStateOf } from "../known_config.ts";
import { type OpenConfig, openConfig, openConfigAt } from "../open_config.ts";
import { locateState } from "../state_location.ts";
import { DAY_MS } from "../../shared/time_units.ts";

export const replayCommand: Command = {
  name: "replay",
  summary: "show what a config would have sent in the past",
  description:
    "Plays the stored results of the last time to the config: the messages that it would have sent, the nights with one, " +
    "the outages and the mean delay. With --against, the same of another config, and what only one of both sends. The " +
    "service itself decides, and sends and stores nothing. It begins with nothing known, and without what people did, " +
    "such as silences.",
  page: "guides/rehearse.md",
  options: [
    OPTION.config,
    option("--against PATH", "config to compare with, such as the present one; its state has the results"),
    OPTION.state,
    option("--verify", "compare with what was really sent, and fail if that differs"),
    option("--last TIME", "how far back (default: 90 days)"),
    OPTION.format,
  ],
  examples: [
    ["monitor replay --last 7d", "list the messages of a week"],
    ["monitor replay -c new.jsonc --against monitor.jsonc", "compare a new config with the present one"],
    ["monitor replay --format json", "print JSON for scripts"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "nothing_stored", "differs", "state", "permission", "config"],
  run: runReplay,
};

async function runReplay(invocation: Invocation, system: System): Promise<number> {
  const format = invocation.reportFormat();
  const lastMs = readLast(invocation.text("last"));
  const config = await openConfig(invocation, system, { withoutSecrets: true });
  const path = invocation.text("against");
  const against = path === undefined
    ? null
    : await openConfigAt({ path, named: true }, { invocation, system, withoutSecrets: true });
  const place = await locateState(invocation, against ?? config, system);
  await using state = await openStateOf({ config: against ?? config, place }, system);
  const untilMs = system.clock.wallMs();
  const span = { sinceMs: untilMs - lastMs, untilMs };
  const names = new Set(
    [config, ...against === null ? [] : [against]].flatMap(({ checks }) => checks.map(({ name }) => name)),
  );
  const journals = await state.store?.journal([...names], span) ?? [];
  const firstMs = Math.min(...journals.flatMap(({ rows }) => rows.map((row) => row.firstMs)));
  if (firstMs === Infinity) {
    system.stderr.write(`monitor: no result of the last ${describeDuration(lastMs)} is stored\n`);
    return EXIT.nothing;
  }
  const past = new Past(journals);
  const options = { system, past, untilMs, sinceMs: Math.max(span.sinceMs, firstMs - FIRST_RUN_MS) };
  const replayed = await replay(config, options);
  if (invocation.has("verify")) {
    const sent = await state.store?.deliveries({ sinceMs: options.sinceMs, untilMs }) ?? [];
    return verify(replayed, sent, system);
  }
  const shown: Shown = {
    after: { config, replay: replayed },
    before: against === null ? null : { config: against, replay: await replay(against, options) },
    unknown: config.checks.filter(({ name, active }) => active && !past.has(name)).map(({ name }) => name),
    sinceMs: options.sinceMs,
    untilMs,
  };
  system.stdout.write(format === "json" ? replayJson(shown) : replayText(shown, system.timeZone()));
  return EXIT.ok;
}

/** Prints what differs from the log of deliveries. */
function verify(replayed: Replay, log: readonly LoggedDelivery[], system: System): number {
  const sent = log.filter(({ check, event, outcome }) =>
    outcome === "accepted" && event !== "summary" && !check.startsWith(NOTICE_PREFIX)
  ).map(({ atMs, channelName, ...notification }) => ({
    atMs,
    channel: channelName,
    text: describeNotification(notification),
  }));
  const found = differencesOf(sent, replayed.notifications);
  const lines = found.length === 0 ? [`${counted(sent.length, "notification")} as sent`] : [
    "- only sent, + only replayed:",
    ...listed(found.map(({ sign, message }) => `${sign} ${messageLine(message, system.timeZone())}`)),
  ];
  system.stdout.write(lines.map((line) => `${printable(line)}\n`).join(""));
  return found.length === 0 ? EXIT.ok : EXIT.differs;
}

/** The first stored run ended so long after its planned time at most. */
const FIRST_RUN_MS = 60_000;

function readLast(value = "90d"): number {
  const interval = parseIntervalText(value);
  if (!("ms" in interval)) {
    throw new UsageError(`--last ${JSON.stringify(value)} ${interval.problem}`, "monitor replay --last 7d");
  }
  if (interval.ms > 10 * 365 * DAY_MS) {
    throw new UsageError(`--last is ${JSON.stringify(value)}, expected 10 years or less`);
  }
  return interval.ms;
}

interface Replayed {
  readonly config: OpenConfig;
  readonly replay: Replay;
}

interface Shown {
  readonly after: Replayed;
  /** `null`: it is compared with nothing. */
  readonly before: Replayed | null;
  /** Active checks without a stored result. */
  readonly unknown: readonly string[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** More differences are counted. */
const LISTED_MAX = 100;

function replayText({ after, before, unknown, sinceMs, untilMs }: Shown, timeZone: string): string {
  const columns = [...before === null ? [] : [before], after];
  const rows: (readonly string[])[] = [
    ["", ...columns.map(({ config }) => config.source.label)],
    ...figuresOf(columns.map(({ replay }) => replay)),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length))) ??
    [];
  const lines = [
    `${timeText(sinceMs, timeZone)} to ${timeText(untilMs, timeZone)}` +
    (unknown.length === 0 ? "" : `; without ${counted(unknown.length, "check")} that never ran then`),
    "",
    ...rows.map((row) => row.map((cell, column) => pad(cell, widths[column] ?? 0)).join("  ").trimEnd()),
    "",
    ...before === null
      ? listed(after.replay.messages.map((message) => `  ${messageLine(message, timeZone)}`))
      : differenceLines(before, after, timeZone),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

function figuresOf(replays: readonly Replay[]): readonly (readonly string[])[] {
  const channels = [...new Set(replays.flatMap(({ messages }) => messages.map(({ channel }) => channel)))]
    .sort();
  const row = (name: string, figure: (replay: Replay) => string | number): readonly string[] => [
    name,
    ...replays.map((replay) => String(figure(replay))),
  ];
  return [
    row("messages", ({ messages }) => messages.length),
    ...channels.map((channel) =>
      row(`  ${channel}`, ({ messages }) => messages.filter((one) => one.channel === channel).length)
    ),
    row("nights with one", ({ nights }) => nights.length),
    row("outages", ({ outages }) => outages.length),
    row("mean delay", ({ meanDelayMs }) => meanDelayMs === null ? "-" : describeDuration(meanDelayMs)),
  ];
}

function differenceLines(before: Replayed, after: Replayed, timeZone: string): readonly string[] {
  const found = differencesOf(before.replay.messages, after.replay.messages);
  if (found.length === 0) return ["the same messages"];
  const only = (one: Replayed, other: Replayed): readonly string[] =>
    outagesOnlyIn(one.replay, other.replay).map((outage) =>
      `only ${one.config.source.label} reports: ${outage.check} from ${timeText(outage.beganAtMs, timeZone)}`
    );
  return [
    ...only(before, after),
    ...only(after, before),
    `- only ${before.config.source.label}, + only ${after.config.source.label}:`,
    ...listed(found.map(({ sign, message }) => `${sign} ${messageLine(message, timeZone)}`)),
  ];
}

function messageLine({ atMs, channel, text }: ReplayedMessage, timeZone: string): string {
  return `${timeText(atMs, timeZone)}  ${channel}: ${text}`;
}

function listed(lines: readonly string[]): readonly string[] {
  const rest = lines.length - LISTED_MAX;
  return rest > 0 ? [...lines.slice(0, LISTED_MAX), `and ${rest} more; all with: --format json`] : lines;
}

/** The same for programs; fields are only ever added. */
function replayJson({ after, before, unknown, sinceMs, untilMs }: Shown): string {
  return jsonDocument({
    from: isoTime(sinceMs),
    until: isoTime(untilMs),
    checks_without_results: unknown,
    configs: [...before === null ? [] : [before], after].map(({ config, replay }) => ({
      config: config.source.label,
      messages: replay.messages.map(messageFields),
      nights: replay.nights,
      outages: replay.outages.map(outageFields),
      mean_delay_seconds: replay.meanDelayMs === null ? null : replay.meanDelayMs / 1000,
    })),
    differences: before === null
      ? []
      : differencesOf(before.replay.messages, after.replay.messages).map(differenceFields),
  });
}

function messageFields({ atMs, channel, text }: ReplayedMessage) {
  return { at: isoTime(atMs), channel, text };
}

function differenceFields({ sign, message }: ReplayDifference) {
  return { sign, ...messageFields(message) };
}

function outageFields({ check, beganAtMs, notifiedAtMs, endedAtMs }: ReplayedOutage) {
  return {
    check,
    began_at: isoTime(beganAtMs),
    notified_at: isoTime(notifiedAtMs),
    ended_at: endedAtMs === null ? null : isoTime(endedAtMs),
  };
}
