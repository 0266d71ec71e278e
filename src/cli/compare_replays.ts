/** Replays a state with one or two configs, and compares them: for `monitor replay` and `monitor reload --plan`. */
import type { LoadedConfig } from "../config/load.ts";
import { type Check, combinedChecks } from "../domain/check.ts";
import { describeDuration } from "../domain/duration.ts";
import { type CheckRecord, isEdited, type Store } from "../domain/store.ts";
import type { System } from "../domain/system.ts";
import { Past, type PastOptions } from "../rehearsal/past.ts";
import {
  differencesOf,
  outagesOnlyIn,
  type Replay,
  replay,
  type ReplayedMessage,
} from "../rehearsal/replay.ts";
import { isoTime, isoTimeOrNull } from "../shared/json_values.ts";
import { timeText } from "../shared/local_time.ts";
import { counted, firstItems, printable } from "../shared/text.ts";
import { pad } from "../shared/wrap.ts";
import { hasProblem } from "../condition/condition_state.ts";
import { DAY_MS } from "../shared/time_units.ts";
import { compareConfigs, type ConfigDifference, describeDifference } from "./check/service_output.ts";
import { askService } from "./commands/run.ts";
import { OutputError } from "./failure.ts";
import { type CommandContext, type OpenConfig, openConfig, openConfigAt } from "./open_config.ts";
import { locateState, readState } from "./open_state.ts";

interface NamedConfig {
  readonly label: string;
  readonly config: LoadedConfig;
}

interface StoredPast {
  readonly past: Past;
  /** Wall times; it begins with the first stored result. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The longest time from the planned time of the first stored run to its end. */
const FIRST_RUN_MS = 60_000;

/** Reads the latest results of the checks of some configs; prints an error and returns `null` without any. */
export async function readPast(
  configs: readonly LoadedConfig[],
  { store, lastMs, system, dependencies }: {
    readonly store: Store | null;
    readonly lastMs: number;
    readonly system: System;
    readonly dependencies?: PastOptions["dependencies"];
  },
): Promise<StoredPast | null> {
  const untilMs = system.clock.wallMs();
  const span = { sinceMs: untilMs - lastMs, untilMs };
  const names = new Set(configs.flatMap(({ checks }) => checks.map(({ name }) => name)));
  const journals = await store?.journal([...names], span) ?? [];
  const firstMs = Math.min(...journals.flatMap(({ rows }) => rows.map((row) => row.firstMs)));
  if (firstMs === Infinity) {
    system.stderr.write(`monitor: no result of the last ${describeDuration(lastMs)} is stored\n`);
    return null;
  }
  const silences = await store?.silences(span.sinceMs) ?? [];
  const past = new Past({ journals, silences, ...dependencies !== undefined && { dependencies } });
  return { past, untilMs, sinceMs: Math.max(span.sinceMs, firstMs - FIRST_RUN_MS) };
}

interface Replayed {
  readonly label: string;
  readonly replay: Replay;
}

interface ReplayComparison extends Pick<StoredPast, "sinceMs" | "untilMs"> {
  readonly after: Replayed;
  /** `null`: there is no comparison. */
  readonly before: Replayed | null;
  /** Active checks without a stored result. */
  readonly unknown: readonly string[];
  /** Checks whose last stored result has other parameters than a config. */
  readonly edited: readonly string[];
}

/** Replays the past with a config, and with the one for the comparison, if any. */
export async function compareReplays(
  { past, sinceMs, untilMs }: StoredPast,
  { after, before, records, system }: {
    readonly after: NamedConfig;
    readonly before: NamedConfig | null;
    readonly records: readonly CheckRecord[];
    readonly system: System;
  },
): Promise<ReplayComparison> {
  const play = async ({ label, config }: NamedConfig): Promise<Replayed> => ({
    label,
    replay: await replay(config, { system, past, sinceMs, untilMs }),
  });
  const byName = new Map(records.map((record) => [record.name, record]));
  // The replay itself combines the results of the checks of a group.
  const isOfOthers = (check: Check): boolean =>
    check.active && past.has(check.name) && combinedChecks(check).length === 0 &&
    isEdited(check, byName.get(check.name) ?? { last: null });
  const edited = [after, ...before === null ? [] : [before]].flatMap(({ config }) =>
    config.checks.filter(isOfOthers).map(({ name }) => name)
  );
  const unknown = after.config.checks.filter(({ name, active }) => active && !past.has(name));
  return {
    after: await play(after),
    before: before && await play(before),
    unknown: unknown.map(({ name }) => name),
    edited: [...new Set(edited)],
    ...{ sinceMs, untilMs },
  };
}

const LISTED_MAX = 100;
const NAMES_MAX = 10;

export function comparisonText(comparison: ReplayComparison, timeZone: string): string {
  const { after, before, unknown, edited, sinceMs, untilMs } = comparison;
  const columns = [...before === null ? [] : [before], after];
  const rows: (readonly string[])[] = [
    ["", ...columns.map(({ label }) => label)],
    ...figuresOf(columns.map(({ replay }) => replay)),
  ];
  const widthOf = (column: number): number => Math.max(...rows.map((row) => (row[column] ?? "").length));
  const without = `; without ${counted(unknown.length, "check")} that never ran then: ${named(unknown)}`;
  const span = `${timeText(sinceMs, timeZone)} to ${timeText(untilMs, timeZone)}`;
  const lines = [
    span + (unknown.length === 0 ? "" : without),
    "",
    ...rows.map((row) => row.map((cell, column) => pad(cell, widthOf(column))).join("  ").trimEnd()),
    "",
    ...edited.length === 0 ? [] : [`the results are those of other parameters: ${named(edited)}`],
    ...before === null
      ? listed(after.replay.messages.map((message) => `  ${messageLine(message, timeZone)}`))
      : differenceLines(before, after, timeZone),
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

function named(checks: readonly string[]): string {
  return firstItems(checks, NAMES_MAX).join(", ");
}

function figuresOf(replays: readonly Replay[]): readonly (readonly string[])[] {
  const channels = [...new Set(replays.flatMap(({ messages }) => messages.map(({ channel }) => channel)))]
    .sort();
  const row = (
    name: string,
    figure: (replay: Replay) => string | number,
  ) => [name, ...replays.map((replay) => `${figure(replay)}`)];
  const hasActions = replays.some(({ actions }) => actions.length > 0);
  return [
    row("messages", ({ messages }) => messages.length),
    ...channels.map((channel) =>
      row(`  ${channel}`, ({ messages }) => messages.filter((one) => one.channel === channel).length)
    ),
    ...hasActions ? [row("actions", ({ actions }) => actions.length)] : [],
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
      `only ${one.label} reports: ${outage.check} from ${timeText(outage.beganAtMs, timeZone)}`
    );
  return [
    ...listed([...only(before, after), ...only(after, before)]),
    `- only ${before.label}, + only ${after.label}:`,
    ...listed(found.map(({ sign, message }) => `${sign} ${messageLine(message, timeZone)}`)),
  ];
}

export function messageLine({ atMs, channel, text }: ReplayedMessage, timeZone: string): string {
  return `${timeText(atMs, timeZone)}  ${channel}: ${text}`;
}

export function listed(lines: readonly string[]): readonly string[] {
  const rest = lines.length - LISTED_MAX;
  return rest > 0 ? [...lines.slice(0, LISTED_MAX), `and ${rest} more; all with: --format json`] : lines;
}

/** Returns the comparison as JSON; fields are only ever added. */
export function comparisonFields(comparison: ReplayComparison): Readonly<Record<string, unknown>> {
  const { after, before, unknown, edited, sinceMs, untilMs } = comparison;
  return {
    from: isoTime(sinceMs),
    until: isoTime(untilMs),
    checks_without_results: unknown,
    checks_with_other_parameters: edited,
    configs: [...before === null ? [] : [before], after].map(({ label, replay }) => ({
      config: label,
      messages: replay.messages.map(messageFields),
      actions: replay.actions.map(messageFields),
      nights: replay.nights,
      outages: replay.outages.map(({ check, beganAtMs, notifiedAtMs, endedAtMs }) => ({
        ...{ check, began_at: isoTime(beganAtMs), notified_at: isoTime(notifiedAtMs) },
        ended_at: isoTimeOrNull(endedAtMs),
      })),
      mean_delay_seconds: replay.meanDelayMs === null ? null : replay.meanDelayMs / 1000,
    })),
    differences: before === null ? [] : differencesOf(before.replay.messages, after.replay.messages)
      .map(({ sign, message }) => ({ sign, ...messageFields(message) })),
  };
}

function messageFields({ atMs, channel, text }: ReplayedMessage) {
  return { at: isoTime(atMs), channel, text };
}

// Compares the messages of an edited config with those of the config in use: `monitor reload --plan`.

const LAST_MS = 7 * DAY_MS;

interface ReloadPlan {
  readonly text: string;
  readonly difference: ConfigDifference;
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Replays the last days with the edited config and with the one in use.
 *
 * @throws {ConfigError} If the edited config has errors.
 * @throws {OutputError} If no service returns the config in use.
 */
export async function planReload({ invocation, system }: CommandContext): Promise<ReloadPlan> {
  const edited = await openConfig(invocation, system, { withoutSecrets: true });
  const response = await askService({ command: "config" }, invocation, system);
  if (!("sources" in response)) throw new OutputError("error" in response ? response.error : "no response");
  const { sources } = response;
  const used = await openConfigAt({ path: sources[0]?.path ?? "-", named: true, sources }, {
    ...{ invocation, system },
    withoutSecrets: true,
  });
  const store = await readState(await locateState(invocation, edited, system), system);
  const [records, past] = await Promise.all([
    store?.records() ?? [],
    readPast([edited, used], { store, lastMs: LAST_MS, system }),
  ]).finally(() => store?.close());
  const comparison = past && await compareReplays(past, {
    after: { label: "edited", config: edited },
    before: { label: "running", config: used },
    ...{ records, system },
  });
  const active = ({ checks }: OpenConfig): readonly Check[] => checks.filter(({ active }) => active);
  const difference = compareConfigs(
    { checks: active(used), files: used.files },
    { checks: active(edited), files: edited.files },
  );
  const present = new Map(records.map(({ name, condition }) => [name, condition]));
  const problems = (["removed", "changed"] as const).flatMap((change) =>
    difference[change].flatMap((check) => {
      const condition = present.get(check);
      return condition !== undefined && hasProblem(condition)
        ? [{ check, condition: condition.confirmed, change }]
        : [];
    })
  );
  const lines = [
    ...problems.map(({ check, condition, change }) =>
      `${check} is ${condition} now and ${change}` +
      (change === "removed" ? ': channels that were notified of it get "no longer checked"' : "")
    ),
    `edited: ${counted(active(edited).length, "check")}, ${describeDifference(difference)}`,
  ];
  return {
    text: (comparison === null ? "" : `${comparisonText(comparison, edited.timeZone())}\n`) +
      lines.map((line) => `${printable(line)}\n`).join(""),
    difference,
    fields: { problems, plan: comparison && comparisonFields(comparison) },
  };
}
