import { pathFromHere } from "../../config/source.ts";
import { describeDuration } from "../../domain/duration.ts";
import { describeFileError, messageOf } from "../../shared/describe_error.ts";
import { type Check, combinedChecks } from "../../domain/check.ts";
import { highestSeverity } from "../../domain/condition.ts";
import type { KnownConditions } from "../../domain/check_kind.ts";
import type { SharedState } from "../../domain/membership.ts";
import type { Result } from "../../domain/result.ts";
import type { StoreError } from "../../domain/store.ts";
import type { System } from "../../domain/system.ts";
import type { TraceDepth } from "../../domain/trace.ts";
import { mayConfirmProblem } from "../../scheduler/trace_depth.ts";
import { renderTrace } from "../render_trace.ts";
import { sendHeartbeat } from "../../outputs/heartbeat_sender.ts";
import { jobLogOf } from "../../state/job_log.ts";
import { WriteSchedule } from "../../state/write_schedule.ts";
import { openStateRepository, type Recorded, type StateRepository } from "../../state/state_repository.ts";
import { DEFAULT_LIMITS, type PassOptions, runPass } from "../../scheduler/run_checks.ts";
import { regularRunAfter } from "../../alerting/overdue.ts";
import { isCheckDue, recordRequested } from "../../scheduler/next_run.ts";
import { BATCHING_DELAY_MS, type Notifying, startNotifying } from "../../alerting/notifying.ts";
import type { Invocation } from "../command_definition.ts";
import type { OpenConfig } from "../open_config.ts";
import { EXIT, exitCodeOf, failRule } from "../exit_code.ts";
import { OutputError } from "../failure.ts";
import type { FormatOptions, RunRecord, RunSummary } from "../formats/format.ts";
import { FORMATS } from "../formats/registry.ts";
import { publishedPageOf } from "../../outputs/html_report/publish_report.ts";
import { printable } from "../../shared/printable.ts";
import { publishFile } from "../../outputs/file_publisher.ts";
import { describeOutboxEvent, describePending, describeUnfinished } from "./outbox_words.ts";
import { recordCronRun } from "./run_recorder.ts";
import { type Progress, startProgress } from "../progress.ts";
import { locateState, ownState } from "../state.ts";
import { wantsColor } from "../terminal.ts";
import { VERSION } from "../version.ts";
import type { CheckSettings, OutputFile } from "./settings.ts";
import { type StartSignals, stopCode } from "./start_signals.ts";

/** What a run of `check --once` is about. */
interface OnceOptions {
  /** Names the state, and may forbid color. */
  readonly invocation: Invocation;
  readonly system: System;
  /** The whole config; the checks to run are chosen from it by the caller. */
  readonly config: OpenConfig;
  readonly settings: CheckSettings;
  /** What listens to signals until the checks run. */
  readonly signals: Pick<StartSignals, "stopIsHandled">;
}

/** Runs checks once, prints them, keeps what they mean and answers the exit code. */
export async function runOnce(checks: readonly Check[], options: OnceOptions): Promise<number> {
  const { invocation, system, config, settings } = options;
  const place = await locateState(invocation, config, system);
  const state = await ownState(place, {
    system,
    required: settings.due,
    // The HTML report of a due run shows the history.
    readsBack: settings.due,
    warn: (message) => system.stderr.write(`monitor: warning: ${printable(message)}\n`),
  });
  let trouble: StoreError | null = null;
  const overtaken = new Set<string>();
  try {
    const repository = await openStateRepository({
      store: state.store,
      onFailure: (error) => trouble = error,
      reopen: state.reopen,
      newId: state.shared?.newId ?? system.randomId,
      hostName: system.hostName(),
      onOvertaken: (names) => names.forEach((name) => overtaken.add(name)),
    });
    const nowMs = system.clock.wallMs();
    if (settings.due) await recordCronRun(repository.store, config, nowMs);
    const isChosen = (check: Check): boolean =>
      !settings.due || isCheckDue(check, repository.recordOf(check.name, nowMs), nowMs);
    const chosen = checks.filter(isChosen);
    if (settings.due && state.shared !== null) await claimRuns(chosen, { repository, nowMs });
    // Another call runs these.
    const due = chosen.filter(({ name }) => !overtaken.has(name));
    // What has never run waits for its time, so somebody has to know which one that is.
    for (const check of settings.due ? checks : []) {
      if (!due.includes(check) && repository.recordOf(check.name, nowMs).nextRunAtMs === null) {
        repository.plan(check.name, regularRunAfter(check, nowMs), nowMs);
      }
    }
    const isKept = state.path !== null;
    // Results are persisted even if they can't be printed.
    const code = await state.whileLocked(
      runNotifying(due, { ...options, repository, shared: state.shared, selected: checks, isKept })
        .finally(() => isKept ? repository.finish(config.checks, system.clock.wallMs()) : undefined),
    );
    if (settings.due && config.heartbeat !== null) {
      const failure = await sendHeartbeat(config.heartbeat, system);
      if (failure !== null) system.stderr.write(`monitor: warning: ${printable(config.redact(failure))}\n`);
    }
    if (settings.due) {
      for (
        const file of publishedPageOf(config, {
          system,
          repository,
          select: (checks) => checks,
          isWhole: true,
        })
      ) {
        const failure = await publishFile(file, system.files);
        if (failure !== null) system.stderr.write(`monitor: warning: ${printable(failure)}\n`);
      }
    }
    if (trouble === null) return code;
    system.stderr.write(`monitor: error: ${printable((trouble as StoreError).message)}\n`);
    return EXIT.input_output;
  } finally {
    await state.close();
  }
}

/** Plans checks anew, so that of several calls that share a state only one runs each. */
async function claimRuns(
  checks: readonly Check[],
  { repository, nowMs }: { readonly repository: StateRepository; readonly nowMs: number },
): Promise<void> {
  for (const check of checks) repository.plan(check.name, regularRunAfter(check, nowMs), nowMs);
  await repository.flush();
}

interface NotifyingRunOptions extends OnceOptions {
  readonly repository: StateRepository;
  /** The state, if several processes share it. */
  readonly shared: SharedState | null;
  /** All checks that the call is about, those too that are not due. */
  readonly selected: readonly Check[];
  /** Whether there is a state: without one no channel is called. */
  readonly isKept: boolean;
}

/** How long the outbox is worked off at the end of a run; what did not go by then waits for the next one. */
const DRAIN_MS = 60_000;

const AT_NEXT_RUN = "retrying at the next run";

/** Runs the checks and sends what they lead to; in the end each pending notification is tried once more. */
async function runNotifying(checks: readonly Check[], options: NotifyingRunOptions): Promise<number> {
  const { system, config, settings, repository, shared, isKept } = options;
  const { redact } = config;
  const progress = startProgress(checks, system);
  const say = (text: string): void => {
    progress.clear();
    system.stderr.write(`monitor: ${printable(redact(text))}\n`);
  };
  const toStderr = settings.format !== null && settings.format !== "pretty";
  let bug: unknown = null;
  const onBug = (error: unknown): void => void (bug ??= error);
  const sending = shared === null ? null : await import("./send_once.ts");
  const guest = sending === null || shared === null
    ? null
    : sending.createGuest({ shared, system, config, notifying: () => notifying, onBug });
  const notifying = startNotifying({
    checks: config.checks,
    running: options.selected,
    directory: config.source.directory,
    redact,
  }, {
    system,
    repository,
    kept: await repository.store.outbox(),
    notifies: settings.notifies && isKept,
    batchingMs: BATCHING_DELAY_MS,
    member: guest,
    writeLine: (line) => {
      const text = `${printable(line)}\n`;
      progress.clear();
      if (toStderr) system.stderr.write(text);
      else print(text, system);
    },
    onEvent: (event) => {
      const text = describeOutboxEvent(event, AT_NEXT_RUN);
      if (text !== null && text.level !== "info") say(text.message);
    },
    onBug,
  });
  if (shared === null) await notifying.refresh();
  else {
    const names = config.checks.map(({ name }) => name);
    notifying.silence(await shared.store.silences(system.clock.wallMs()));
    notifying.know(names, await shared.store.known(names));
  }
  const code = await runChosen(checks, { ...options, notifying, progress, onBug });
  const deadlineMs = system.clock.wallMs() + DRAIN_MS;
  if (settings.notifies && isKept) {
    if (guest === null || shared === null) await notifying.drain(deadlineMs);
    else await sending?.sendShared({ shared, guest, notifying, clock: system.clock, deadlineMs });
  }
  await notifying.stop();
  await guest?.leave();
  if (bug !== null) throw bug;
  if (isKept) await writeMetrics({ ...options, notifying });
  const waiting = settings.notifies ? notifying.pending : [];
  // Why another one was not taken was said when that happened.
  const unanswered = waiting.filter(({ attempts, lastFailure }) => attempts > 0 && lastFailure === null);
  const silent = Map.groupBy(unanswered, (row) => row.channelKey);
  for (const rows of silent.values()) say(describeUnfinished(rows, AT_NEXT_RUN));
  if (code !== EXIT.ok || waiting.length === 0) return code;
  // cron would send an email at each call.
  if (!settings.due) say(`${describePending(waiting)}, see: monitor status`);
  return EXIT.undelivered;
}

/** Writes the config's file of metrics, if it asks for one. Metrics that cannot be written are no failure of the run. */
async function writeMetrics(
  { system, config, repository, notifying }: OnceOptions & Pick<ChosenOptions, "repository" | "notifying">,
): Promise<void> {
  const { metrics } = config;
  if (metrics === null) return;
  const { gatherMetrics } = await import("../../outputs/metrics/gather_metrics.ts");
  const { renderMetrics } = await import("../../outputs/metrics/render_metrics.ts");
  const { publishFile } = await import("../../outputs/file_publisher.ts");
  const nowMs = system.clock.wallMs();
  const loop = {
    lastLoopAtMs: nowMs,
    schedulerLagMs: null,
    configLoadedAtMs: nowMs,
    isReloadSuccessful: null,
    isRunning: null,
  };
  const values = gatherMetrics({ config, version: VERSION, repository, notifying, nowMs, loop });
  // Nothing else is under way.
  const render = (): Promise<string> => renderMetrics(values, () => Promise.resolve());
  const failure = await publishFile({ what: "the metrics", ...metrics, render }, system.files);
  if (failure !== null) system.stderr.write(`monitor: warning: ${printable(failure)}\n`);
}

interface ChosenOptions extends OnceOptions {
  readonly repository: StateRepository;
  readonly isKept: boolean;
  readonly notifying: Notifying;
  readonly progress: Progress;
  onBug(error: unknown): void;
}

async function runChosen(checks: readonly Check[], options: ChosenOptions): Promise<number> {
  const { invocation, system, config, settings, repository, isKept, notifying, progress, onBug, signals } =
    options;
  const { clock } = system;
  const fails = failRule(settings.failOn);
  const format = await FORMATS[settings.format ?? "pretty"]();
  const isQuiet = settings.due && settings.format === null;
  const formatOptions: FormatOptions = {
    color: wantsColor(invocation, system.stdout, system),
    columns: system.stdout.columns(),
    fails,
  };
  const abort = new AbortController();
  let code: number | null = null;
  const stopListening = system.onStopSignal((signal) => {
    code ??= stopCode(signal);
    abort.abort(new Error(`Stopped by ${signal}`));
  });
  signals.stopIsHandled();
  const startedAtMs = clock.wallMs();
  const startedMonotonicMs = clock.monotonicMs();
  const records = new Map<Check, RunRecord>();
  const writing = new WriteSchedule({ repository, after: clock.after, onBug });
  /** Ends when all that was decided has been given to the outbox, each once it was written. */
  let sending: Promise<unknown> = Promise.resolve();
  const send = ({ queued }: Recorded): void => {
    const written = writing.recorded();
    if (queued.length === 0) written.catch(onBug);
    else sending = Promise.all([sending, written]).then(() => notifying.send(queued)).catch(onBug);
  };

  const active = new Set(config.checks.filter((check) => check.active).map(({ name }) => name));
  /** Names of checks whose confirmed condition changed. */
  const changed = new Set<string>();
  const pass = {
    system,
    jobs: isKept ? jobLogOf(repository) : null,
    conditionsOf: (name: string): KnownConditions | null => {
      if (!active.has(name)) return null;
      const { condition, last: lastResult } = repository.recordOf(name, clock.wallMs());
      const last = lastResult?.condition ?? null;
      // Without a state nothing but this run can confirm anything.
      return { confirmed: isKept ? condition.confirmed : last, last };
    },
    directory: config.source.directory,
    limits: { ...DEFAULT_LIMITS, process: settings.concurrency },
    signal: abort.signal,
    traceOf: (check: Check): TraceDepth | null => {
      if (settings.traces) return "full";
      return mayConfirmProblem(check, repository.recordOf(check.name, clock.wallMs())) ? "brief" : null;
    },
    redact: config.redact,
  };
  const parents = createParentRuns(checks, {
    ...options,
    pass,
    send,
    recordResult: (result) => recordResult(result),
  });
  const recordResult = (result: Result): Recorded => {
    const { check } = result;
    const nowMs = clock.wallMs();
    const { confirmed } = repository.recordOf(check.name, nowMs).condition;
    const entry = recordRequested(repository, result, { nowMs, ...notifying.deciding(check, nowMs) });
    send(entry);
    if (entry.record.condition.confirmed !== confirmed) changed.add(check.name);
    parents.recorded(check, entry);
    return entry;
  };
  const onResult = (result: Result): void => {
    const { check } = result;
    const entry = recordResult(result);
    const record = { result, occurrences: entry.occurrences, confirmed: entry.record.condition.confirmed };
    records.set(check, record);
    progress.finished(check);
    if (isQuiet) return;
    progress.clear();
    print(format.record(record, formatOptions), system);
    if (settings.traces) {
      print(
        `trace of ${printable(check.name)}:\n${renderTrace(result.trace || "nothing sent or received")}\n`,
        system,
      );
    }
  };
  const reviewOthers = (ran: ReadonlySet<Check>): void => {
    if (settings.due) {
      config.checks.filter((check) => check.active && !ran.has(check)).forEach(parents.review);
    }
  };
  reviewOthers(new Set(checks));
  const { retryForMs } = settings;
  const onRetry = (failing: readonly Check[], leftMs: number): void => {
    progress.clear();
    const count = `${failing.length} of ${checks.length} checks`;
    const names = failing.slice(0, NAMES_MAX).map((check) => printable(check.name)).join(", ");
    const more = failing.length > NAMES_MAX ? ", …" : "";
    system.stderr.write(`monitor: retrying ${count}, ${describeDuration(leftMs)} left: ${names}${more}\n`);
  };
  const runAll = async (): Promise<readonly Check[]> => {
    if (retryForMs === null) return await runPass(checks, { ...pass, onResult });
    const { runRetryPass } = await import("../../scheduler/retry_pass.ts");
    return await runRetryPass(checks, { ...pass, onResult }, {
      forMs: retryForMs,
      isFailure: fails,
      onRetry,
    });
  };
  const unfinished = await runAll().finally(async () => {
    await parents.ended();
    progress.end();
    stopListening();
  });
  reviewOthers(new Set(records.keys()));
  await parents.ended();
  if (settings.due) {
    await runChangedGroups(config.checks.filter((check) => check.active && !records.has(check)), {
      changed,
      run: (groups) => runPass(groups, { ...pass, onResult: recordResult }),
    });
  }
  writing.end();
  await repository.flush();
  await sending;

  const ordered = checks.map((check) => records.get(check)).filter((record) => record !== undefined);
  const conditions = ordered.map((record) => record.result.condition);
  const summary = {
    // Nobody looked at what was not finished.
    condition: highestSeverity([...conditions, ...(unfinished.length > 0 ? ["unknown" as const] : [])]),
    startedAtMs,
    durationMs: clock.monotonicMs() - startedMonotonicMs,
    records: ordered,
    unfinished: unfinished.map((check) => check.name),
    inactiveCount: config.checks.filter((check) => !check.active).length,
    hostName: system.hostName(),
  };
  if (!isQuiet) print(format.summary(summary, formatOptions), system);
  const isWritten = await writeOutputs(summary, { system, outputs: settings.outputs, fails });
  if (unfinished.length > 0 && code !== null) {
    const names = unfinished.map((check) => printable(check.name)).join(", ");
    system.stderr.write(`monitor: stopped: no result of ${names}\n`);
    return code;
  }
  if (!isWritten) return EXIT.input_output;
  return exitCodeOf(ordered.length === 0 ? [format.withoutChecks ?? "ok"] : conditions, fails);
}

/** Runs the groups that are not due and of which a check changed, until no further one changes. */
async function runChangedGroups(
  checks: readonly Check[],
  { changed, run }: {
    readonly changed: ReadonlySet<string>;
    run(groups: readonly Check[]): Promise<unknown>;
  },
): Promise<void> {
  const isAffected = (check: Check): boolean => combinedChecks(check).some((name) => changed.has(name));
  let left = checks;
  for (let next = left.filter(isAffected); next.length > 0; next = left.filter(isAffected)) {
    left = left.filter((check) => !isAffected(check));
    await run(next);
  }
}

const NAMES_MAX = 3;

/** Writes the results to files, each replaced as a whole. Returns `false` if one can't be written, and says so. */
async function writeOutputs(
  summary: RunSummary,
  { system, outputs, fails }: Pick<FormatOptions, "fails"> & {
    readonly system: System;
    readonly outputs: readonly OutputFile[];
  },
): Promise<boolean> {
  let isWritten = true;
  for (const { format: name, path: typed } of outputs) {
    const format = await FORMATS[name]();
    const options = { color: false, columns: null, fails };
    const records = summary.records.map((record) => format.record(record, options));
    const path = pathFromHere(typed, system);
    try {
      await system.files.replace(path, records.join("") + format.summary(summary, options));
    } catch (error) {
      isWritten = false;
      const reason = describeFileError(error, { path, access: "write" });
      system.stderr.write(`monitor: error: cannot write "${printable(path)}": ${printable(reason)}\n`);
    }
  }
  return isWritten;
}

/** What decides again what a dependency suppresses. */
interface ParentRuns {
  recorded(check: Check, entry: Recorded): void;
  /** Decides again on a check that was not run: a suppression may have ended. */
  review(check: Check): void;
  ended(): Promise<void>;
}

/**
 * Runs checks at once whose state decides whether something due of another check is suppressed, also those that are not
 * due or ran before it failed. Their results are entered and not printed.
 */
function createParentRuns(
  checks: readonly Check[],
  { system, repository, notifying, onBug, pass, send, recordResult }: ChosenOptions & {
    readonly pass: Omit<PassOptions, "onResult">;
    send(entry: Recorded): void;
    recordResult(result: Result): void;
  },
): ParentRuns {
  const running = new Set(checks);
  /** Checks of which something is due that a dependency suppresses. */
  const suppressed = new Set<Check>();
  const runs = new Set<Promise<unknown>>();
  const note = (check: Check, entry: Recorded, runsParents: boolean): void => {
    if (entry.suppressed !== "dependency") return void suppressed.delete(check);
    suppressed.add(check);
    if (!runsParents) return;
    for (const parent of notifying.dependenciesToRun(check, system.clock.wallMs())) {
      if (running.has(parent)) continue;
      running.add(parent);
      const run = runPass([parent], { ...pass, onResult: recordResult }).catch(onBug).finally(() =>
        runs.delete(run)
      );
      runs.add(run);
    }
  };
  const review = (check: Check, runsParents: boolean): void => {
    const nowMs = system.clock.wallMs();
    const entry = repository.review(check, { nowMs, ...notifying.deciding(check, nowMs) });
    if (entry.notification !== null) send(entry);
    note(check, entry, runsParents);
  };
  return {
    recorded: (check, entry) => {
      running.delete(check);
      note(check, entry, true);
      for (const child of suppressed) if (child.dependsOn.includes(check.name)) review(child, false);
    },
    review: (check) => review(check, true),
    ended: async () => {
      while (runs.size > 0) await Promise.all(runs);
    },
  };
}

function print(text: string, system: System): void {
  if (text === "") return;
  try {
    system.stdout.write(text);
  } catch (error) {
    throw new OutputError(
      `cannot write to stdout: ${messageOf(error)}`,
    );
  }
}
