import type { Check } from "../../domain/check.ts";
import type { StoreError } from "../../domain/store.ts";
import { sendHeartbeat } from "../../outputs/heartbeat.ts";
import { openStateRepository } from "../../state/state_repository.ts";
import { regularRunAfter } from "../../engine/check_status.ts";
import { isCheckDue } from "../../scheduler/next_run.ts";
import type { OpenConfig } from "../open_config.ts";
import { FORMATS } from "./settings.ts";
import { EXIT } from "../command_definition.ts";
import { publishedReportOf } from "../../outputs/html_report/publish_report.ts";
import { printable } from "../../shared/text.ts";
import type { SpanQueue } from "../../outputs/opentelemetry/span_queue.ts";
import { VERSION } from "../answer_at_once.ts";
import { publishFile } from "../../outputs/file_publisher.ts";
import { checksThatLeft, endOfService, recordCronRun, recordDeath } from "../monitor_status.ts";
import { locateState } from "../open_state.ts";
import { ownState } from "../owned_state.ts";
import { Engine } from "../../engine/engine.ts";
import { type OnceOptions, type PassParts, runChosen, RunPrinter } from "./run_chosen.ts";
import { warn } from "../terminal.ts";

export async function runOnce(checks: readonly Check[], options: OnceOptions): Promise<number> {
  const { invocation, system, config, settings } = options;
  const place = await locateState(invocation, config, system);
  const state = await ownState(place, {
    system,
    required: settings.due,
    // The HTML report of a due run shows the history.
    readsBack: settings.due,
    warn: (message) => warn(message, system),
    ...!settings.due &&
      { heldHint: "run checks in that service with: monitor run NAME, or add --state none" },
  });
  const spans = await startSpans(config);
  let failure: StoreError | null = null;
  const overtaken = new Set<string>();
  try {
    const repository = await openStateRepository({
      store: state.store,
      onFailure: (error) => failure = error,
      reopen: state.reopen,
      // Of members, one may run without reaching the state just now.
      ranUntilMs: state.shared === null ? await endOfService(state.store, system.clock.wallMs()) : null,
    });
    repository.onOvertaken((names) => names.forEach((name) => overtaken.add(name)));
    const { shared } = state;
    const located = shared === null || checks.every(({ locations }) => locations === undefined)
      ? null
      : new (await import("./located_work.ts")).LocatedPass({
        ...{ store: shared.store, system, location: settings.location },
      });
    if (!settings.due) await recordDeath(state.store);
    const isKept = state.path !== null;
    const left = isKept && shared === null
      ? await checksThatLeft(repository.store, config)
      : new Set<string>();
    if (shared === null) {
      // Calls with another config may run the others: these are known until they are overdue.
      if (settings.due) repository.leave((name) => left.has(name), config);
      // A service that ended ran the others.
      const { ranUntilMs } = repository;
      if (ranUntilMs !== null) repository.leaveOthers(checks, ranUntilMs);
    }
    // Agents report the others to the service, unless one is asked for.
    const here = invocation.operands.length > 0 ? checks : checks.filter(({ agent }) => agent === undefined);
    const chosen = settings.due
      ? await chooseDue(here, {
        ...{ repository, shared, overtaken },
        changed: await located?.runDue(checks, { ...options, repository }) ?? new Set(),
        nowMs: system.clock.wallMs(),
      })
      : here;
    // Results are persisted even if they can't be printed.
    const code = await state.whileLocked(
      runPass(chosen, {
        ...{ ...options, repository, shared, overtaken, located, selected: checks, left, isKept },
        steps: spans ?? undefined,
      })
        .finally(() => isKept ? repository.finish(config, system.clock.wallMs()) : undefined),
    );
    // Once the notifications about checks that left are persisted.
    if (settings.due) {
      const unended = settings.notifies ? new Set<string>() : left;
      await recordCronRun(repository.store, config, { left: unended, nowMs: system.clock.wallMs() });
      await publish(config, { system, repository });
    }
    if (spans !== null) await sendSpans(spans, options);
    if (failure === null) return code;
    system.stderr.write(`monitor: error: ${printable((failure as StoreError).message)}\n`);
    return EXIT.input_output;
  } finally {
    await state.close();
  }
}

/** Returns the checks that are due and not run by another call, and plans the first run of new ones. */
async function chooseDue(
  checks: readonly Check[],
  { repository, shared, overtaken, changed, nowMs }:
    & Pick<PassParts, "repository" | "shared" | "overtaken">
    & {
      /** Names of checks that the results of their locations change: they are due, too. */
      readonly changed: ReadonlySet<string>;
      readonly nowMs: number;
    },
): Promise<readonly Check[]> {
  const plan = (check: Check): void => repository.plan(check.name, regularRunAfter(check, nowMs), nowMs);
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

async function publish(config: OpenConfig, { system, repository }: Pick<PassParts, "system" | "repository">) {
  const failure = config.heartbeat === null ? null : await sendHeartbeat(config.heartbeat, system);
  if (failure !== null) warn(config.redact(failure), system);
  const source = { system, repository, select: (checks: readonly Check[]) => checks, isWhole: true };
  for (const file of publishedReportOf(config, source)) {
    const failure = await publishFile(file, system.files);
    if (failure !== null) warn(failure, system);
  }
}

/** Begins to record the steps of runs; `null`: the config does not ask for it. */
async function startSpans({ opentelemetry }: OpenConfig): Promise<SpanQueue | null> {
  if (opentelemetry?.traces !== true) return null;
  const { SpanQueue } = await import("../../outputs/opentelemetry/span_queue.ts");
  const spans = new SpanQueue();
  spans.isOn = true;
  spans.propagates = opentelemetry.propagate;
  return spans;
}

async function sendSpans(spans: SpanQueue, { config, system, settings }: OnceOptions): Promise<void> {
  if (config.opentelemetry === null) return;
  const { exportAllSpans } = await import("../../outputs/opentelemetry/export_otlp.ts");
  const failure = await exportAllSpans(spans, {
    ...{ settings: config.opentelemetry, system, version: VERSION, instance: settings.member },
    abort: new AbortController().signal,
  });
  if (failure !== null) warn(config.redact(failure), system);
}

async function runPass(checks: readonly Check[], options: PassParts): Promise<number> {
  const { settings, repository, system } = options;
  const format = await FORMATS[settings.format ?? "pretty"]();
  const printer = new RunPrinter(checks, { ...options, format });
  let bug: unknown = null;
  const parts = { ...options, printer, onBug: (error: unknown): void => void (bug ??= error) };
  const withoutChannels = { repository, sender: null, newId: system.randomId, hostName: system.hostName() };
  const code = options.isKept
    ? await (await import("./run_notifying.ts")).runNotifying(checks, parts)
    : await runChosen(checks, { ...parts, engine: new Engine([], withoutChannels), sharedSender: null });
  if (bug !== null) throw bug;
  return code;
}
