import {
  type Command,
  exitCodeOf,
  failRule,
  formatOption,
  type Invocation,
  OPTION,
  option,
  UsageError,
} from "../command_definition.ts";
import type { System } from "../../domain/system.ts";
import { counted, printable } from "../../shared/text.ts";
import { highestSeverity, mostUrgentFirst, SHOWN_CONDITIONS } from "../../domain/condition.ts";
import { describeDuration } from "../../domain/duration.ts";
import { lastingSilences } from "../../engine/suppression.ts";
import {
  type CheckStatus,
  countedConditions,
  describeStatus,
  inactiveNames,
  knownNotified,
  lastsSinceMs,
  statusOf,
} from "../../engine/check_status.ts";
import { isEverything, readSelection, selectActiveChecks } from "../open_config.ts";
import { describeReporting, readReporting, reportingConditions } from "../../outputs/agents_status.ts";
import { statusJson, type StatusSnapshot } from "../../outputs/json/status_json.ts";
import {
  describeFoundCause,
  presentCauses,
  recordedCauses,
  runningChecks,
} from "../../outputs/present_causes.ts";
import { NO_ACTIVE_CHECK } from "../formats/format.ts";
import type { PluginItem } from "../formats/plugin.ts";
import { describeVote } from "../../condition/agreement.ts";
import {
  believableColumns,
  conditionCounts,
  conditionPaints,
  renderTable,
  type TableOptions,
  type TableRow,
  wrapTo,
} from "../formats/pretty.ts";
import { openKnownState } from "../known_config.ts";
import { describeMonitor, describeMonitorTrouble, monitorNotes } from "../monitor_status.ts";
import {
  countQueuedNotifications,
  renderQueuedNotifications,
  shortenLines,
  shownNotifications,
} from "../../outputs/outbox_status.ts";
import { readDuration } from "../read_times.ts";
import { createColors, wantsColor } from "../terminal.ts";
import { dueEvent } from "../../condition/condition_state.ts";
import type { OpenWindow } from "../../engine/maintenance_windows.ts";
import { type TimeContext, timeText } from "../../shared/local_time.ts";

const FORMATS = ["pretty", "json", "plugin"] as const;

export const statusCommand: Command = {
  name: "status",
  group: "look",
  summary: "show the condition of every check",
  operands: "[NAME…]",
  description:
    "Shows the stored condition of every active check, or of the named or tagged ones, and pending notifications. " +
    "It works with and without a running monitor. A check counts as unknown if it has no data, is pending (nothing " +
    "is confirmed yet) or is overdue (usually two intervals after its planned run). While the service is stopped, " +
    "died, hangs or cannot write its state, all checks that only the service ran count as unknown. Named checks are " +
    "shown with their last and next run. --watch ends with exit code 0.",
  page: "reference/state.md",
  options: [
    OPTION.config,
    OPTION.state,
    OPTION.tag,
    option("--problems", "only problems and pending notifications"),
    option("--watch", "refresh the status on a terminal until Ctrl-C"),
    option("--interval DURATION", 'with --watch: time between two refreshes (default: "2s")'),
    formatOption(FORMATS),
  ],
  examples: [
    ["monitor status", "show every check"],
    ["monitor status web", "show one check in detail"],
    ["monitor status --tag web", "show the checks with a tag"],
    ["monitor status --problems", "show problems and pending notifications"],
    ["monitor status --watch --interval 10s", "refresh the status every 10 seconds"],
    ["monitor status --format json", "print JSON for scripts"],
    ["monitor status --format plugin", "print plugin output, for example over NRPE"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["confirmed", "name", "state", "permission", "config"],
  run: async (invocation, system) => {
    const intervalMs = readInterval(invocation, system);
    if (intervalMs === null) return await showStatus(invocation, system);
    const { watch } = await import("../watch.ts");
    return await watch({
      system,
      intervalMs,
      color: wantsColor(invocation, system.stdout, system),
      print: (shown) => showStatus(invocation, shown),
    });
  },
};

const WATCH_EVERY_MS = 2_000;

/**
 * Returns the refresh interval; `null`: the status is printed once.
 *
 * @throws {UsageError} If the status can't be refreshed, or the interval is invalid.
 */
function readInterval(invocation: Invocation, system: System): number | null {
  if (!invocation.has("watch")) {
    if (!invocation.has("interval")) return null;
    throw new UsageError("--interval requires --watch");
  }
  const format = invocation.text("format") ?? "pretty";
  if (format !== "pretty") throw new UsageError(`--watch cannot be used with --format ${format}`);
  if (!system.stdout.isTerminal || system.environment("TERM") === "dumb") {
    throw new UsageError("--watch requires a terminal", "print the status once with: monitor status");
  }
  return readDuration(invocation, "interval") ?? WATCH_EVERY_MS;
}

async function showStatus(invocation: Invocation, system: System): Promise<number> {
  const format = invocation.choice("format", FORMATS) ?? "pretty";
  const hasProblemsOnly = invocation.has("problems");
  if (hasProblemsOnly && format === "plugin") {
    throw new UsageError("--problems cannot be used with --format plugin");
  }
  const selection = readSelection(invocation);
  await using known = await openKnownState(invocation, system);
  const { checks: all, records, recordOf, monitor, store, error } = known;
  const checks = selectActiveChecks(all, selection);
  const nowMs = system.clock.wallMs();
  const chosen = new Set(checks.map((check) => check.name));
  const isShown = (name: string | null): boolean =>
    isEverything(selection) || name === null || chosen.has(name);
  const silences = lastingSilences(await store?.silences(nowMs) ?? [], records);
  const notifications = {
    rows: shownNotifications(await store?.outbox(), nowMs).filter((row) => isShown(row.notification.check)),
    silences: silences.filter(({ check }) => isShown(check)),
  };
  const { notRunning = null } = monitor ?? {};
  const context = { recordOf, inactive: inactiveNames(all), ...notifications, notRunning, nowMs };
  const statuses = checks.map((check) => statusOf(check, context));
  const reporting = store === null ? null : await readReporting(store);
  const ofReports = reportingConditions(reporting, known.config);
  const fails = failRule("warning");
  const conditions = [
    ...countedConditions(statuses),
    // Nothing repeats the runs of single calls.
    ...monitor?.notRunning ? ["unknown" as const] : [],
    ...ofReports,
  ];
  const timeZone = (known.config ?? system).timeZone();
  const time = { nowMs, hasErrors: error !== null, timeZone };
  if (format === "plugin") {
    const { renderPlugin } = await import("../formats/plugin.ts");
    const reason = statuses.length === 0 ? NO_ACTIVE_CHECK : null;
    const items = statuses.map((status) => toPluginItem(status, nowMs));
    const reports = reporting === null || ofReports.length === 0 ? [] : [describeReporting(reporting, nowMs)];
    const notes = [...monitorNotes(monitor, time), ...reports];
    const summary = { condition: highestSeverity(conditions), reason, unfinished: [] };
    system.stdout.write(renderPlugin({ ...summary, items, counted: SHOWN_CONDITIONS, notes }, fails));
    return exitCodeOf(conditions, fails);
  }
  const byName = new Map(statuses.map((status) => [status.check.name, status]));
  const running = runningChecks(known.config?.commonCauses ? known.config.checks : [], recordOf);
  const snapshot: StatusSnapshot = {
    ...{ statuses, notifications, monitor, reporting },
    causes: presentCauses(recordedCauses(running, recordOf, nowMs), (name) => byName.get(name)),
    servedBy: null,
    configError: error?.message ?? null,
  };
  const shown = hasProblemsOnly ? problemsOf(snapshot) : snapshot;
  system.stdout.write(
    format === "json" ? statusJson(shown, highestSeverity(conditions)) : renderPretty(shown, {
      nowMs,
      timeZone,
      all: snapshot,
      trouble: describeMonitorTrouble(monitor, time),
      colors: createColors(wantsColor(invocation, system.stdout, system)),
      columns: believableColumns(system.stdout.columns()),
      inactiveCount: isEverything(selection) ? all.length - checks.length : 0,
      header: { word: "condition", name: "check", duration: "for", output: "output" },
      detailed: invocation.operands.length > 0,
    }),
  );
  return exitCodeOf(conditions, fails);
}

function problemsOf(known: StatusSnapshot): StatusSnapshot {
  const rows = known.notifications.rows.filter(({ state }) => state !== "dropped");
  const statuses = known.statuses.filter(({ condition }) => condition !== "ok");
  return { ...known, statuses, notifications: { rows, silences: [] } };
}

/** The numbers of an outdated run are not printed: a graph would take them for new. */
function toPluginItem(status: CheckStatus, nowMs: number): PluginItem {
  const { check, record, condition, state } = status;
  const last = state === "current" ? record?.last : null;
  return {
    name: check.name,
    condition,
    output: describeStatus(status, nowMs),
    durationMs: last?.durationMs ?? null,
    performanceData: last?.performanceData ?? "",
    metrics: last?.metrics ?? {},
  };
}

interface PrettyOptions extends TableOptions, TimeContext {
  readonly all: StatusSnapshot;
  readonly inactiveCount: number;
  readonly trouble: readonly string[];
  readonly detailed: boolean;
}

/** The lowest severity first, so that the problems are on the screen, next to the prompt. */
function renderPretty(shown: StatusSnapshot, options: PrettyOptions): string {
  const { statuses, notifications, monitor, reporting, causes } = shown;
  const { nowMs, all, columns, trouble } = options;
  const rows = statuses
    .toSorted((one, other) => mostUrgentFirst(other.condition, one.condition))
    .map((status) => toRow(status, options));
  const running = describeMonitor(monitor, nowMs);
  const sums = [
    countStatuses(all.statuses, options),
    ...countQueuedNotifications(all.notifications),
    ...running === null ? [] : [running],
  ];
  const reports = reporting === null ? [] : wrapTo([printable(describeReporting(reporting, nowMs))], columns);
  const blocks = [
    ...renderQueuedNotifications(notifications, options),
    all.statuses === statuses ? maintenanceLines(statuses, options) : [],
    rows.length === 0 ? [] : renderTable(rows, options),
    wrapTo(causes.map((cause) => printable(describeFoundCause(cause, options.timeZone))), columns),
    wrapTo(trouble.map(printable), columns),
    [...reports, ...wrapTo([sums.join("; ")], columns)],
  ];
  return blocks.filter((lines) => lines.length > 0).map((lines) => `${lines.join("\n")}\n`).join("\n");
}

/** Such as `3 checks: 2 ok, 1 critical, 1 inactive`. */
function countStatuses(statuses: readonly CheckStatus[], { colors, inactiveCount }: PrettyOptions): string {
  const inactive = inactiveCount === 0 ? "" : `, ${inactiveCount} inactive`;
  if (statuses.length === 0) return `${NO_ACTIVE_CHECK}${inactive}`;
  const counts = conditionCounts(statuses.map(({ condition }) => condition), colors);
  return `${counted(statuses.length, "check")}: ${counts.join(", ")}${inactive}`;
}

function toRow(status: CheckStatus, options: PrettyOptions): TableRow {
  const { nowMs, colors, detailed } = options;
  const { check, record, condition, state } = status;
  const last = record?.last ?? null;
  const sinceMs = last === null || state !== "current" ? null : lastsSinceMs(status);
  return {
    word: condition.toUpperCase(),
    paint: conditionPaints(colors)[condition],
    name: printable(check.title === undefined ? check.name : `${check.name} (${check.title})`),
    duration: sinceMs === null ? "" : describeDuration(Math.max(0, nowMs - sinceMs)),
    output: printable([describeStatus(status, nowMs), ...marks(status, nowMs)].join(" ")),
    detail: detailed ? describeRuns(status, options) : [],
  };
}

/** What keeps it quiet now; the description has that if it suppresses a notification. */
function marks({ isSilenced, maintenance, record }: CheckStatus, nowMs: number): readonly string[] {
  const isSuppressed = record !== null && record.last !== null && dueEvent(record.condition) !== null;
  return [
    ...isSilenced && !isSuppressed ? ["[silenced]"] : [],
    ...maintenance === null ? [] : [`[maintenance ${describeEnd(maintenance, nowMs)}]`],
  ];
}

function describeEnd({ untilMs, reason }: OpenWindow, nowMs: number): string {
  const end = untilMs === null ? "without end" : `for ${describeDuration(untilMs - nowMs)} more`;
  return reason === "" ? end : `${end}: ${reason}`;
}

function describeRuns({ state, record }: CheckStatus, { nowMs, timeZone }: TimeContext): readonly string[] {
  const last = record?.last ?? null;
  if (record === null || last === null) return [];
  const { condition, nextRunAtMs, missedRuns } = record;
  const ago = (ms: number): string =>
    ms > nowMs ? `in ${describeDuration(ms - nowMs)}` : `${describeDuration(nowMs - ms)} ago`;
  const { confirmed, confirmedSinceMs, notified } = condition;
  return [
    confirmed === null
      ? "no condition is confirmed yet"
      : `confirmed ${confirmed} since ${timeText(confirmedSinceMs ?? nowMs, timeZone)}` +
        (notified === confirmed ? "" : `, last notified ${knownNotified(condition) ?? "never"}`),
    `last run ${ago(last.startedAtMs)}, took ${Math.round(last.durationMs)} ms: ${last.condition}`,
    ...(last.locations ?? []).map((vote) => printable(describeVote(vote))),
    ...nextRunAtMs === null || state === "not_running"
      ? []
      : [`next run ${nextRunAtMs > nowMs ? "" : "was due "}${ago(nextRunAtMs)}`],
    ...missedRuns > 0 ? [`${counted(missedRuns, "run")} skipped so far`] : [],
  ];
}

function maintenanceLines(statuses: readonly CheckStatus[], { nowMs, columns }: PrettyOptions) {
  const windows = statuses.flatMap(({ maintenance }) => maintenance ?? []);
  const ends = windows.map((window) => describeEnd(window, nowMs));
  const lines = [...Map.groupBy(ends, (end) => end)].filter(([, { length }]) => length > 1)
    .map(([end, { length }]) => printable(`maintenance: ${length} checks ${end}`));
  return wrapTo(shortenLines(lines, "maintenance windows"), columns);
}
