import type { Check } from "../../domain/check.ts";
import { worst } from "../../domain/condition.ts";
import type { Report } from "../../domain/report.ts";
import type { Result } from "../../domain/result.ts";
import type { StoreError } from "../../domain/store.ts";
import type { System } from "../../domain/system.ts";
import { type Ledger, openLedger } from "../../ledger.ts";
import { DEFAULT_LIMITS, runPass } from "../../monitor.ts";
import { enterAsked, isCheckDue } from "../../next_run.ts";
import { createRedactor } from "../../redact.ts";
import type { Invocation } from "../command.ts";
import type { OpenDocument } from "../document.ts";
import { EXIT, exitCodeOf, failRule } from "../exit_code.ts";
import { OutputError } from "../failure.ts";
import type { FormatOptions, RunRecord } from "../formats/format.ts";
import { FORMATS } from "../formats/registry.ts";
import { printable } from "../printable.ts";
import { deliver } from "./deliver.ts";
import { startProgress } from "../progress.ts";
import { locateState, ownState } from "../state.ts";
import { wantsColour } from "../terminal.ts";
import type { CheckSettings } from "./settings.ts";

/** What a run of `check --once` is about. */
export interface OnceOptions {
  /** Names the state, and may forbid colour. */
  readonly invocation: Invocation;
  /** The machine that is checked from and printed to. */
  readonly system: System;
  /** The whole document; the checks to run are chosen from it by the caller. */
  readonly document: OpenDocument;
  /** The options of the command, read and valid. */
  readonly settings: CheckSettings;
}

/** Runs checks once, prints them, keeps what they mean and answers the exit code. */
export async function runOnce(checks: readonly Check[], options: OnceOptions): Promise<number> {
  const { invocation, system, document, settings } = options;
  const place = await locateState(invocation, document, system);
  const state = await ownState(place, {
    system,
    required: settings.due,
    warn: (message) => system.stderr.write(`monitor: warning: ${printable(message)}\n`),
  });
  let trouble: StoreError | null = null;
  try {
    const ledger = await openLedger({
      store: state.store,
      onTrouble: (error) => trouble = error,
      reopen: state.reopen,
    });
    const nowMs = system.clock.wallMs();
    const isChosen = (check: Check): boolean =>
      !settings.due || isCheckDue(check, ledger.recordOf(check.name, nowMs), nowMs);
    const due = checks.filter(isChosen);
    // What was seen is kept, also where it cannot be printed.
    const code = await runChosen(due, {
      ...options,
      ledger,
      notifies: settings.notifies && state.path !== null,
    }).finally(() => ledger.finish(document.checks, system.clock.wallMs()));
    if (trouble === null) return code;
    system.stderr.write(`monitor: error: ${printable((trouble as StoreError).message)}\n`);
    return EXIT.input_output;
  } finally {
    await state.close();
  }
}

interface ChosenOptions extends OnceOptions {
  readonly ledger: Ledger;
  /** Whether reports are made. */
  readonly notifies: boolean;
}

async function runChosen(checks: readonly Check[], options: ChosenOptions): Promise<number> {
  const { invocation, system, document, settings, ledger, notifies } = options;
  const { clock } = system;
  const fails = failRule(settings.failOn);
  const format = FORMATS[settings.format ?? "pretty"];
  const isQuiet = settings.due && settings.format === null;
  const formatOptions: FormatOptions = {
    colour: wantsColour(invocation, system.stdout, system),
    columns: system.stdout.columns(),
    fails,
  };
  const abort = new AbortController();
  let stopCode: number | null = null;
  const stopListening = system.onStopSignal((signal) => {
    stopCode ??= signal === "SIGINT" ? EXIT.interrupted : EXIT.terminated;
    abort.abort(new Error(`Stopped by ${signal}`));
  });
  const progress = startProgress(checks, system);
  const startedAtMs = clock.wallMs();
  const startedMonotonicMs = clock.monotonicMs();
  const records = new Map<Check, RunRecord>();
  const reports: { readonly report: Report; readonly check: Check }[] = [];

  const onResult = (result: Result): void => {
    const { check } = result;
    const nowMs = clock.wallMs();
    const entry = enterAsked(ledger, result, { nowMs, held: notifies ? null : "no_notify" });
    const record = { result, occurrences: entry.occurrences, settled: entry.record.condition.settled };
    records.set(check, record);
    if (entry.report !== null) reports.push({ report: entry.report, check });
    // What changes a settled condition is kept at once, whatever becomes of the rest of the pass.
    if (ledger.isUrgent) void ledger.flush();
    progress.finished(check);
    if (!isQuiet) print(format.record(record, formatOptions), system);
  };
  const unfinished = await runPass(checks, {
    system,
    folder: document.source.folder,
    limits: { ...DEFAULT_LIMITS, process: settings.concurrency },
    signal: abort.signal,
    redact: createRedactor(document.secrets),
    onResult,
  }).finally(() => {
    progress.end();
    stopListening();
  });
  await ledger.flush();

  const ordered = checks.map((check) => records.get(check)).filter((record) => record !== undefined);
  const conditions = ordered.map((record) => record.result.condition);
  const summary = {
    condition: worst(conditions),
    startedAtMs,
    durationMs: clock.monotonicMs() - startedMonotonicMs,
    records: ordered,
    unfinished: unfinished.map((check) => check.name),
    inactiveCount: document.checks.filter((check) => !check.active).length,
  };
  if (!isQuiet) print(format.summary(summary, formatOptions), system);
  printReports(reports, { system, toStderr: settings.format !== null && settings.format !== "pretty" });
  if (unfinished.length > 0 && stopCode !== null) {
    const names = unfinished.map((check) => printable(check.name)).join(", ");
    system.stderr.write(`monitor: stopped: no result of ${names}\n`);
    return stopCode;
  }
  return exitCodeOf(conditions, fails);
}

function printReports(
  reports: readonly { readonly report: Report; readonly check: Check }[],
  { system, toStderr }: { readonly system: System; readonly toStderr: boolean },
): void {
  const writeLine = (line: string): void => {
    const text = `${printable(line)}\n`;
    if (toStderr) system.stderr.write(text);
    else print(text, system);
  };
  for (const { report, check } of reports) deliver(report, check, writeLine);
}

function print(text: string, system: System): void {
  if (text === "") return;
  try {
    system.stdout.write(text);
  } catch (error) {
    throw new OutputError(
      `Cannot write to stdout: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
