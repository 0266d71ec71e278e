import { type Check } from "../../domain/check.ts";
import { highestSeverity } from "../../domain/condition.ts";
import type { SharedState } from "../../domain/membership.ts";
import { StoreError } from "../../domain/store.ts";
import type { System } from "../../domain/system.ts";
import { sendHeartbeat } from "../../outputs/heartbeat_sender.ts";
import { openStateRepository, type StateRepository } from "../../state/state_repository.ts";
import { DEFAULT_LIMITS } from "../../scheduler/run_checks.ts";
import { channelUsers } from "../../alerting/configured_channels.ts";
import { regularRunAfter } from "../../alerting/overdue.ts";
import { isCheckDue } from "../../scheduler/next_run.ts";
import { BATCHING_DELAY_MS, type Notifying, startNotifying } from "../../alerting/notifying.ts";
import type { Invocation } from "../command_definition.ts";
import type { OpenConfig } from "../open_config.ts";
import { FORMATS } from "../formats/registry.ts";
import { EXIT, exitCodeOf, failRule } from "../exit_code.ts";
import type { RunRecord } from "../formats/format.ts";
import { publishedReportOf } from "../../outputs/html_report/publish_report.ts";
import { printable } from "../../shared/printable.ts";
import { publishFile } from "../../outputs/file_publisher.ts";
import { describeOutboxEvent, describePending, describeUnfinished } from "./outbox_words.ts";
import type { LocatedPass } from "./located_pass.ts";
import { recordCronRun } from "./run_recorder.ts";
import { locateState } from "../state_location.ts";
import { ownState } from "../owned_state.ts";
import { VERSION } from "../version.ts";
import type { CheckCommandSettings } from "./settings.ts";
import { type StartSignals, stopCode } from "./start_signals.ts";
import { RecordedPass } from "../../scheduler/recorded_pass.ts";
import { createRunPrinter, type RunPrinter } from "./run_printer.ts";

interface OnceOptions {
  /** Names the state, and may forbid color. */
  readonly invocation: Invocation;
  readonly system: System;
  /** The whole config; the caller chooses the checks to run from it. */
  readonly config: OpenConfig;
  readonly settings: CheckCommandSettings;
  readonly signals: Pick<StartSignals, "stopIsHandled">;
}

/** Runs checks once, prints the results, persists them and returns the exit code. */
export async function runOnce(checks: readonly Check[], options: OnceOptions): Promise<number> {
  const { invocation, system, config, settings } = options;
  const warn = (message: string): void => system.stderr.write(`monitor: warning: ${printable(message)}\n`);
  const place = await locateState(invocation, config, system);
  const state = await ownState(place, {
    system,
    required: settings.due,
    // The HTML report of a due run shows the history.
    readsBack: settings.due,
    warn,
  });
  let failure: StoreError | null = null;
  const overtaken = new Set<string>();
  try {
    const repository = await openStateRepository({
      store: state.store,
      onFailure: (error) => failure = error,
      reopen: state.reopen,
      newId: state.shared?.newId ?? system.randomId,
      hostName: system.hostName(),
      onOvertaken: (names) => names.forEach((name) => overtaken.add(name)),
    });
    const { shared } = state;
    const located = await openLocated(checks, { ...options, shared });
    const chosen = settings.due
      ? await chooseDue(checks, {
        repository,
        config,
        shared,
        overtaken,
        changed: await located?.runDue(checks, { ...options, repository }) ?? new Set(),
        nowMs: system.clock.wallMs(),
      })
      : checks;
    const isKept = state.path !== null;
    // Results are persisted even if they can't be printed.
    const code = await state.whileLocked(
      runNotifying(chosen, { ...options, repository, shared, overtaken, located, selected: checks, isKept })
        .finally(() => isKept ? repository.finish(config.checks, system.clock.wallMs()) : undefined),
    );
    if (settings.due) await publish(config, { system, repository, warn });
    if (failure === null) return code;
    system.stderr.write(`monitor: error: ${printable((failure as StoreError).message)}\n`);
    return EXIT.input_output;
  } finally {
    await state.close();
  }
}

/** Runs checks with locations; `null` without any, or if the state is not shared. */
async function openLocated(
  checks: readonly Check[],
  { config, system, settings, shared }: OnceOptions & { readonly shared: SharedState | null },
): Promise<LocatedPass | null> {
  if (shared === null || checks.every(({ locations }) => locations === undefined)) return null;
  const { LocatedPass } = await import("./located_pass.ts");
  return new LocatedPass({ store: shared.store, system, location: settings.location, checks: config.checks });
}

/** Returns the checks that are due and not run by another call, and plans the first run of new ones. */
async function chooseDue(
  checks: readonly Check[],
  { repository, config, shared, overtaken, changed, nowMs }: {
    readonly repository: StateRepository;
    readonly config: OpenConfig;
    readonly shared: SharedState | null;
    /** Names of checks that another call has planned. */
    readonly overtaken: ReadonlySet<string>;
    /** Names of checks that the results of their locations change: they are due, too. */
    readonly changed: ReadonlySet<string>;
    readonly nowMs: number;
  },
): Promise<readonly Check[]> {
  const plan = (check: Check): void => repository.plan(check.name, regularRunAfter(check, nowMs), nowMs);
  await recordCronRun(repository.store, config, nowMs);
  let due = checks.filter((check) =>
    changed.has(check.name) || isCheckDue(check, repository.recordOf(check.name, nowMs), nowMs)
  );
  if (shared !== null) {
    // Of several calls that share a state, the first one to write its plan runs a check.
    due.forEach(plan);
    await repository.flush();
    due = due.filter(({ name }) => !overtaken.has(name));
  }
  const isNew = (check: Check): boolean => repository.recordOf(check.name, nowMs).nextRunAtMs === null;
  checks.filter((check) => !due.includes(check) && isNew(check)).forEach(plan);
  return due;
}

/** Sends the heartbeat and writes the HTML report, if the config has them. */
async function publish(
  config: OpenConfig,
  { system, repository, warn }: {
    readonly system: System;
    readonly repository: StateRepository;
    warn(message: string): void;
  },
): Promise<void> {
  if (config.heartbeat !== null) {
    const failure = await sendHeartbeat(config.heartbeat, system);
    if (failure !== null) warn(config.redact(failure));
  }
  const source = { system, repository, select: (checks: readonly Check[]) => checks, isWhole: true };
  for (const file of publishedReportOf(config, source)) {
    const failure = await publishFile(file, system.files);
    if (failure !== null) warn(failure);
  }
}

interface NotifyingRunOptions extends OnceOptions {
  readonly repository: StateRepository;
  readonly shared: SharedState | null;
  /** Names of checks whose record another process has written. */
  readonly overtaken: Set<string>;
  /** Runs checks with locations; `null`: there are none. */
  readonly located: LocatedPass | null;
  /** The checks that the call is about, including those that are not due. */
  readonly selected: readonly Check[];
  /** Whether there is a state: without one no channel is called. */
  readonly isKept: boolean;
}

/** How long a run sends notifications at its end; the others are sent by the next run. */
const DRAIN_MS = 60_000;

const AT_NEXT_RUN = "retrying at the next run";

/** Runs the checks and sends their notifications. In the end, each pending notification is tried once more. */
async function runNotifying(checks: readonly Check[], options: NotifyingRunOptions): Promise<number> {
  const { system, config, settings, repository, shared, isKept } = options;
  const printer = await createRunPrinter(checks, { ...options, loadFormat: (name) => FORMATS[name]() });
  let bug: unknown = null;
  const onBug = (error: unknown): void => void (bug ??= error);
  const sending = shared === null ? null : await import("./send_once.ts");
  const guest = sending === null || shared === null
    ? null
    : sending.createGuest({ shared, system, config, notifying: () => notifying, onBug });
  const notifying = startNotifying({
    users: channelUsers(config),
    running: options.selected,
    directory: config.source.directory,
    redact: config.redact,
  }, {
    system,
    repository,
    kept: await repository.store.outbox(),
    notifies: settings.notifies && isKept,
    batchingMs: BATCHING_DELAY_MS,
    member: guest,
    writeLine: (line) => printer.line(line),
    onEvent: (event) => {
      const text = describeOutboxEvent(event, AT_NEXT_RUN);
      if (text !== null && text.level !== "info") printer.message(text.message);
    },
    onBug,
  });
  if (shared === null) await notifying.refresh();
  else {
    const names = config.checks.map(({ name }) => name);
    notifying.silence(await shared.store.silences(system.clock.wallMs()));
    await notifying.know(names, shared.store.known);
  }
  const code = await runChosen(checks, { ...options, notifying, printer, onBug });
  if (settings.due && settings.notifies) await queueSummary({ ...options, notifying, printer });
  const deadlineMs = system.clock.wallMs() + DRAIN_MS;
  if (settings.notifies && isKept) {
    if (guest === null || shared === null) await notifying.drain(deadlineMs);
    else await sending?.sendShared({ shared, guest, notifying, clock: system.clock, deadlineMs });
  }
  await notifying.stop();
  await guest?.leave();
  if (bug !== null) throw bug;
  if (isKept) await writeMetrics({ ...options, notifying });
  const pending = settings.notifies ? notifying.pending : [];
  // A failed attempt was printed when it failed.
  const unfinished = pending.filter(({ attempts, lastFailure }) => attempts > 0 && lastFailure === null);
  for (const rows of Map.groupBy(unfinished, (row) => row.channelKey).values()) {
    printer.message(describeUnfinished(rows, AT_NEXT_RUN));
  }
  if (code !== EXIT.ok || pending.length === 0) return code;
  // cron would send an email at each call.
  if (!settings.due) printer.message(`${describePending(pending)}, see: monitor status`);
  return EXIT.undelivered;
}

/** Queues the summary if it is due. */
async function queueSummary(
  { config, printer, ...options }: NotifyingRunOptions & Pick<ChosenOptions, "notifying" | "printer">,
): Promise<void> {
  const { summary: settings, checks } = config;
  if (settings === null) return;
  const { queueDueSummary } = await import("../../outputs/summary/queue_summary.ts");
  try {
    await queueDueSummary({ ...options, settings, checks });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    printer.message(`the summary waits: ${error.message}`);
  }
}

/** Writes the config's metrics file, if any. A failure to write it is printed and doesn't fail the run. */
async function writeMetrics(
  { system, config, repository, notifying }: OnceOptions & Pick<ChosenOptions, "repository" | "notifying">,
): Promise<void> {
  const { metrics } = config;
  if (metrics === null) return;
  const { gatherMetrics } = await import("../../outputs/metrics/gather_metrics.ts");
  const { renderMetrics } = await import("../../outputs/metrics/render_metrics.ts");
  const nowMs = system.clock.wallMs();
  const loop = {
    lastLoopAtMs: nowMs,
    schedulerLagMs: null,
    configLoadedAtMs: nowMs,
    isReloadSuccessful: null,
    isRunning: null,
  };
  const values = gatherMetrics({ config, version: VERSION, repository, notifying, nowMs, loop });
  // Without pauses: nothing else is in progress.
  const render = (): Promise<string> => renderMetrics(values, () => Promise.resolve());
  const failure = await publishFile({ what: "the metrics", ...metrics, render }, system.files);
  if (failure !== null) system.stderr.write(`monitor: warning: ${printable(failure)}\n`);
}

interface ChosenOptions extends NotifyingRunOptions {
  readonly notifying: Notifying;
  readonly printer: RunPrinter;
  onBug(error: unknown): void;
}

async function runChosen(checks: readonly Check[], options: ChosenOptions): Promise<number> {
  const { system, config, settings, printer, signals } = options;
  const { clock } = system;
  const fails = failRule(settings.failOn);
  const abort = new AbortController();
  let stoppedCode: number | null = null;
  const stopListening = system.onStopSignal((signal) => {
    stoppedCode ??= stopCode(signal);
    abort.abort(new Error(`Stopped by ${signal}`));
  });
  signals.stopIsHandled();
  const startedAtMs = clock.wallMs();
  const startedMonotonicMs = clock.monotonicMs();
  const records = new Map<Check, RunRecord>();
  const pass = new RecordedPass({
    ...options,
    active: config.checks.filter(({ active }) => active),
    directory: config.source.directory,
    redact: config.redact,
    limits: { ...DEFAULT_LIMITS, process: settings.concurrency },
    signal: abort.signal,
    ...options.located !== null && { runner: options.located.runner({ isDue: settings.due }) },
    includesOthers: settings.due,
    tracesAll: settings.traces,
    onResult: (result, { occurrences, record: { condition: { confirmed } } }) => {
      const record = { result, occurrences, confirmed };
      records.set(result.check, record);
      printer.record(record);
    },
  });
  const retry = settings.retryForMs === null ? null : {
    forMs: settings.retryForMs,
    isFailure: fails,
    onRetry: (failing: readonly Check[], leftMs: number) => printer.retrying(failing, leftMs),
  };
  const unfinished = await pass.run(checks, retry).finally(() => {
    printer.end();
    stopListening();
  });
  await pass.finish();
  const ordered = checks.flatMap((check) => records.get(check) ?? []);
  const conditions = ordered.map(({ result }) => result.condition);
  const isWritten = await printer.summary({
    // Unfinished checks have no result.
    condition: highestSeverity([...conditions, ...unfinished.map(() => "unknown" as const)]),
    startedAtMs,
    durationMs: clock.monotonicMs() - startedMonotonicMs,
    records: ordered,
    unfinished: unfinished.map(({ name }) => name),
    inactiveCount: config.checks.filter(({ active }) => !active).length,
    hostName: system.hostName(),
  });
  if (unfinished.length > 0 && stoppedCode !== null) {
    printer.message(`stopped: no result of ${unfinished.map(({ name }) => name).join(", ")}`);
    return stoppedCode;
  }
  if (!isWritten) return EXIT.input_output;
  return exitCodeOf(ordered.length === 0 ? [printer.withoutChecks] : conditions, fails);
}
