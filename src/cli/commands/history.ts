import { type Command, EXIT, type Invocation, OPTION, option, UsageError } from "../command_definition.ts";
import {
  asObserved,
  describeFaults,
  describeObserved,
  describeRunCounts,
  percent,
} from "../../state/availability.ts";
import { didYouMean } from "../../config/nearest.ts";
import { actionTitle } from "../../condition/action.ts";
import { describeDurationRule, describeMetricRules } from "../../condition/duration_rule.ts";
import { type CheckStatus, describeStale, statusOf } from "../../engine/check_status.ts";
import { describeAction, describeDelivery, describeOneCause } from "../../outputs/outbox_status.ts";
import { allChanges } from "../../state/read_store.ts";
import type { ConditionChange, JournalRow } from "../../domain/store.ts";
import type { LoggedDelivery } from "../../domain/outbox.ts";
import { measuredIn } from "../../state/metric_sums.ts";
import { describeDuration } from "../../domain/duration.ts";
import {
  historyJson,
  type HistorySpan,
  type Past,
  type PresentFacts,
  readHistory,
} from "../../outputs/json/history_json.ts";
import { describeObjective } from "../../outputs/summary/objectives.ts";
import { checksOfState, openKnownState } from "../known_config.ts";
import { describeMonitorTrouble, monitorNotes, type NoteOptions } from "../monitor_status.ts";
import { jsonDocument, printable } from "../../shared/text.ts";
import { renderTrace } from "../formats/format.ts";
import type { System } from "../../domain/system.ts";
import { isoTime } from "../../shared/json_values.ts";
import { timeText } from "../../shared/local_time.ts";
import { DAY_MS, durationText } from "../../shared/time_units.ts";
import type { PastSpan } from "../../outputs/past_events.ts";
import { isEverything, readSelection, selectChecks } from "../open_config.ts";
import { readSpan, SPAN_OPTIONS } from "../read_times.ts";
import { believableColumns } from "../formats/pretty.ts";
import { wrap } from "../../shared/wrap.ts";

const CHANGES_SHOWN = 20;
const RESULTS_SHOWN = 40;
const DELIVERIES_SHOWN = 40;
const ACTIONS_SHOWN = 20;

const EVER = { sinceMs: -Infinity, untilMs: Infinity };

export const historyCommand: Command = {
  name: "history",
  group: "look",
  summary: "show what happened to a check, or to all of them",
  operands: "[NAME…]",
  description:
    "Shows the changes of a check's confirmed condition, and the actions on the live page. For the last 24 hours, 7 " +
    "days and 30 days, or from --from to --to, it also shows availability, failed runs and durations. Without the " +
    "name of one check, it lists the events of all checks of the last 24 hours, or from --from to --to, the oldest " +
    "first: changes, messages, actions, silences, times without results, and starts of the service.",
  page: "reference/output_formats.md",
  options: [
    OPTION.config,
    OPTION.state,
    OPTION.tag,
    ...SPAN_OPTIONS,
    OPTION.format,
    option("--trace", "the trace of each run that confirmed a problem"),
    option("--results", "what each run returned, alike results together"),
    option("--deliveries", "what was sent to each channel"),
  ],
  examples: [
    ["monitor history web", "show one check"],
    ["monitor history --from 22:00 --to 07:00", "list what happened last night"],
    ["monitor history --from 2026-10-01 --to 2026-10-31 web", "show a check in October"],
    ["monitor history --trace web", "show what the runs did that confirmed problems"],
    ["monitor history --results web", "show what each run returned"],
    ["monitor history --deliveries web", "show what was sent, and whether it was accepted"],
    ["monitor history --format json web", "print every stored change as JSON"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "name", "state", "permission", "config"],
  run: async (invocation, system) => {
    const { names, tags } = readSelection(invocation);
    const [name, ...others] = names;
    if (name === undefined || others.length > 0 || tags.length > 0) {
      return await showEvents(invocation, system);
    }
    const format = invocation.reportFormat();
    await using known = await openKnownState(invocation, system);
    const { config, error, store, checks, records, monitor } = known;
    const nowMs = system.clock.wallMs();
    const timeZone = (config ?? system).timeZone();
    const span = readSpan(invocation, { timeZone, nowMs });
    const { sinceMs, untilMs } = span ?? EVER;
    const record = records.find((candidate) => candidate.name === name);
    const check = checks.find((candidate) => candidate.name === name);
    if (store === null || record === undefined) {
      const problem = check === undefined ? `no data for check "${name}"` : `the check "${name}" never ran`;
      const meant = check === undefined
        ? didYouMean(name, checks.map((candidate) => candidate.name))
        : undefined;
      throw new UsageError(problem, meant ?? "list the checks with: monitor status");
    }
    const { notRunning = null } = monitor ?? {};
    const shown = check ?? checksOfState(null, [record])[0];
    if (shown === undefined) throw new Error(`The check "${name}" is neither in the config nor in the state`);
    const status = statusOf(shown, { recordOf: () => record, notRunning, nowMs });
    const isInConfig = config === null ? null : config.checks.some((candidate) => candidate.name === name);
    const ranUntilMs = notRunning?.sinceMs ?? null;
    const history = await readHistory(store, asObserved(shown, record, ranUntilMs), nowMs, span);
    const sent = { checks: [name], sinceMs, untilMs };
    const actions = await store.actions(name);
    const [journal] = invocation.has("results") ? await store.journal([name], { sinceMs, untilMs }) : [null];
    const past = {
      changes: allChanges(store, name, { sinceMs, untilMs }),
      results: journal === null ? null : (journal?.rows ?? []).filter(({ runs }) => runs > 0).toReversed(),
      deliveries: invocation.has("deliveries") ? (await store.deliveries(sent)).toReversed() : null,
      actions: actions.filter(({ atMs }) => atMs >= sinceMs && atMs <= untilMs).toReversed(),
    };
    const { readObjectives } = await import("../../outputs/summary/read_objectives.ts");
    const objectives = await readObjectives(store, [shown], { untilMs: span?.untilMs ?? nowMs, ranUntilMs });
    const facts = {
      ...{ status, isInConfig, monitor },
      objective: objectives.get(name) ?? null,
      durations: describeDurationRule(shown, record, nowMs),
      metricLimits: describeMetricRules(shown, record, nowMs),
    };
    const pieces = format === "json" ? historyJson(history, facts, past) : renderPretty(name, past, {
      ...{ ...facts, spans: history.spans, span, timeZone },
      notes: presentNotes(facts, { nowMs, hasErrors: error !== null, timeZone }),
      caused: await store.deliveries({ ...sent, haveCause: true }),
      traces: invocation.has("trace"),
      columns: believableColumns(system.stdout.columns()) ?? COLUMNS,
    });
    for await (const piece of pieces) {
      if (system.stdout.closed) break;
      system.stdout.write(piece);
    }
    return EXIT.ok;
  },
};

const OF_ONE_CHECK = ["trace", "results", "deliveries"];

async function showEvents(invocation: Invocation, system: System): Promise<number> {
  const given = OF_ONE_CHECK.find((name) => invocation.has(name));
  if (given !== undefined) {
    throw new UsageError(`--${given} requires the name of one check`, `monitor history --${given} NAME`);
  }
  const selection = readSelection(invocation);
  const isWhole = isEverything(selection);
  const format = invocation.reportFormat();
  await using known = await openKnownState(invocation, system);
  const { config, store, checks, records, recordOf, monitor } = known;
  const nowMs = system.clock.wallMs();
  const timeZone = (config ?? system).timeZone();
  const span = readSpan(invocation, { timeZone, nowMs }) ?? { sinceMs: nowMs - DAY_MS, untilMs: nowMs };
  const chosen = selectChecks(checks, selection).map(({ name }) => name);
  const removed = isWhole ? records.map(({ name }) => name) : [];
  const { gatherPastEvents } = await import("../../outputs/past_events.ts");
  const events = store === null ? [] : await gatherPastEvents({
    ...{ store, isWhole, monitor, timeZone, recordOf, ...span },
    actionOf: (name) => {
      const action = config?.checks.find((check) => check.name === name)?.action;
      return action === undefined ? null : actionTitle(action);
    },
    names: [...new Set([...chosen, ...removed])],
  });
  if (format === "json") {
    const fields = events.map(({ atMs, ...event }) => ({ at: isoTime(atMs), ...event }));
    const [from, to] = [isoTime(span.sinceMs), isoTime(span.untilMs)];
    system.stdout.write(jsonDocument({ from, to, events: fields }));
    return EXIT.ok;
  }
  const columns = believableColumns(system.stdout.columns()) ?? Infinity;
  const lines = events.map(({ atMs, check, text }) =>
    hanging(`${timeText(atMs, timeZone)}  `, printable(check === null ? text : `${check}: ${text}`), columns)
  );
  system.stdout.write(`${describePeriod(span, timeZone)}\n\n${lines.join("") || "no events\n"}`);
  return EXIT.ok;
}

function describePeriod({ sinceMs, untilMs }: PastSpan, timeZone: string): string {
  return `${timeText(sinceMs, timeZone)} to ${timeText(untilMs, timeZone)}`;
}

/** The width off a terminal. */
const COLUMNS = 80;

/** Returns what would be taken for the present: lines without newlines. */
function presentNotes(
  { status, isInConfig, monitor }: PresentFacts & { readonly status: CheckStatus },
  options: NoteOptions,
): readonly string[] {
  const { check, condition, state } = status;
  const stale = describeStale(status, options.nowMs);
  return [
    ...stale === "" ? [] : [`${condition}: ${stale}`],
    ...isInConfig === false ? ["not in the config"] : check.active ? [] : ["inactive"],
    // The condition has the reason why no service runs.
    ...state === "not_running" ? describeMonitorTrouble(monitor, options) : monitorNotes(monitor, options),
  ];
}

interface Layout {
  readonly timeZone: string;
  readonly columns: number;
}

interface PrettyOptions extends Layout, Pick<PresentFacts, "objective" | "durations" | "metricLimits"> {
  readonly notes: readonly string[];
  readonly spans: readonly HistorySpan[];
  /** What was sent of it with a common cause, the oldest first. */
  readonly caused: readonly LoggedDelivery[];
  readonly traces: boolean;
  /** What `--from` and `--to` chose. */
  readonly span: PastSpan | null;
}

async function* renderPretty(name: string, past: Past, options: PrettyOptions): AsyncGenerator<string> {
  const { changes, results, deliveries, actions } = past;
  const { notes, spans, objective, span: chosen, timeZone, columns, durations, metricLimits } = options;
  yield `${printable(name)}\n`;
  for (const note of notes) yield hanging("", printable(note), columns);
  yield "\n";
  if (chosen !== null) yield `${describePeriod(chosen, timeZone)}\n`;
  for (const span of spans) {
    const head = chosen === null ? `last ${span.name.padEnd(8)}  ` : "by whole hours  ";
    yield hanging(head, describeSpan(span), columns);
  }
  if (objective !== null) yield hanging("objective  ", describeObjective(objective), columns);
  for (const text of describeMetrics(spans)) yield hanging("", printable(text), columns);
  for (const text of durations) yield hanging("duration       ", printable(text), columns);
  for (const text of metricLimits) yield hanging("metric         ", printable(text), columns);
  yield* renderChanges(changes, options);
  yield* renderRows("actions on the live page", actions, {
    ...{ timeZone, columns, max: ACTIONS_SHOWN },
    describe: (one) => [one.atMs, describeAction(one, { timeZone })],
  });
  if (results?.length === 0) yield "\nno results\n";
  yield* renderRows("results", results ?? [], {
    ...{ timeZone, columns, max: RESULTS_SHOWN },
    describe: (row, before) => [row.firstMs, describeResults(row), describeGap(row, before)],
  });
  if (deliveries?.length === 0) yield "\nno deliveries\n";
  yield* renderRows("deliveries", deliveries ?? [], {
    ...{ timeZone, columns, max: DELIVERIES_SHOWN },
    describe: (one) => [one.atMs, `${one.channelName}: ${describeDelivery(one)}`],
  });
}

async function* renderChanges(
  changes: AsyncIterable<ConditionChange>,
  { caused, traces, timeZone, columns }: PrettyOptions,
): AsyncGenerator<string> {
  let count = 0;
  let nextMs = Infinity;
  for await (const { atMs, from, to, output, trace } of changes) {
    if (count === 0) yield "\nchanges, newest first:\n";
    if (count++ === CHANGES_SHOWN) return yield MORE;
    const known = caused.find(({ decidedAtMs, cause }) =>
      cause !== null && decidedAtMs >= atMs && decidedAtMs < nextMs
    )?.cause ?? null;
    const cause = known === null ? "" : `; ${printable(describeOneCause(known))}`;
    const shown = output === "" ? "" : `: ${printable(output)}`;
    yield hanging(`  ${timeText(atMs, timeZone)}  `, `${from} to ${to}${shown}${cause}`, columns);
    nextMs = atMs;
    if (traces) yield renderTrace(trace);
  }
  if (count === 0) yield "\nno changes\n";
}

const MORE = "  more with --format json\n";

interface RowsOptions<Row> extends Layout {
  readonly max: number;
  /** Returns the time and the text of a row, and lines below it. */
  describe(row: Row, before: Row | undefined): readonly [atMs: number, text: string, below?: string];
}

function* renderRows<Row>(heading: string, rows: readonly Row[], options: RowsOptions<Row>) {
  const { max, timeZone, columns, describe } = options;
  if (rows.length > 0) yield `\n${heading}, newest first:\n`;
  for (const [index, row] of rows.slice(0, max).entries()) {
    const [atMs, text, below = ""] = describe(row, rows[index + 1]);
    yield hanging(`  ${timeText(atMs, timeZone)}  `, printable(text), columns) + below;
  }
  if (rows.length > max) yield MORE;
}

/** A line for the time without results before a row; empty: there is none. */
function describeGap({ gap, isInterrupted, firstMs }: JournalRow, before: JournalRow | undefined): string {
  if (gap === "none" && !isInterrupted) return "";
  const ms = before === undefined ? 0 : firstMs - before.lastMs;
  return `  ${ms > 0 ? `no results for ${describeDuration(ms)}` : "no results before"}\n`;
}

/** A row, such as `critical, 3 times in 20 s, the first: connection refused`: outputs of others differ in numbers. */
function describeResults({ condition, awaits, firstMs, lastMs, runs, gap, output }: JournalRow): string {
  const parts = [
    awaits === null ? condition : `${condition}, does not count`,
    runs === 1 ? "once" : `${runs} times in ${describeDuration(lastMs - firstMs)}`,
    gap === "each" && runs > 1 ? "each overdue" : "",
  ].filter((part) => part !== "").join(", ");
  return output === "" ? parts : `${parts}${runs > 1 ? ", the first" : ""}: ${output}`;
}

/** A text behind a head, wrapped there. */
function hanging(head: string, text: string, columns: number): string {
  return wrap(text, columns - head.length).map((line, index) =>
    `${index === 0 ? head : " ".repeat(head.length)}${line}\n`
  ).join("");
}

function describeSpan(span: HistorySpan): string {
  const { shares, observedMs, runs } = span;
  const parts = [
    ...(shares === null ? ["no data"] : [
      `${percent(shares.ok, PLACES)} ok`,
      ...describeFaults(shares, PLACES),
      describeObserved(observedMs, span.ms),
    ]),
    ...(runs === 0 ? [] : [
      describeRunCounts(span),
      ...describeDurations(span),
      `${ms(span.durationMaxMs)} at most`,
    ]),
  ];
  return parts.filter((part) => part !== null).join(", ");
}

const PLACES = 3;

/** The measured values of each span of which they are known, a text for each name. */
function describeMetrics(spans: readonly HistorySpan[]): readonly string[] {
  const texts = spans.flatMap(({ name: span, metrics }) =>
    Object.entries(metrics ?? {}).map(([name, sum]) => {
      const { min, max, mean, percentiles } = measuredIn(sum);
      const shares = Object.entries(percentiles ?? {}).map(([key, value]) => `, ${key} ${rounded(value)}`);
      const rest = min === max ? "" : ` to ${rounded(max)}, mean ${rounded(mean)}${shares.join("")}`;
      return { name, text: `${rounded(min)}${rest} (${span})` };
    })
  );
  return [...Map.groupBy(texts, ({ name }) => name)]
    .map(([name, all]) => `${name}: ${all.map(({ text }) => text).join("; ")}`);
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/** The percentiles; the mean of runs that were recorded before there were histograms. */
function describeDurations({ percentiles, durationMeanMs }: HistorySpan): readonly string[] {
  if (percentiles === null) return [`${ms(durationMeanMs)} on average`];
  const { p50, p95, p99 } = percentiles;
  return [`p50 ${ms(p50)}`, `p95 ${ms(p95)}`, `p99 ${ms(p99)}`];
}

function ms(value: number | null): string {
  if (value === null) return "-";
  return value < 10 ? `${value.toFixed(1)} ms` : durationText(value);
}
