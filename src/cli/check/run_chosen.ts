import type { Check } from "../../domain/check.ts";
import { type Condition, highestSeverity } from "../../domain/condition.ts";
import type { SharedState } from "../../domain/membership.ts";
import { RecordedPass } from "../../scheduler/recorded_pass.ts";
import { connectivityOf, createLimiters } from "../../scheduler/run_checks.ts";
import type { StepReceiver } from "../../scheduler/trace/record_steps.ts";
import type { Engine } from "../../engine/engine.ts";
import type { SharedSender } from "../../members/shared_sender.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import { EXIT, exitCodeOf, failRule } from "../command_definition.ts";
import {
  type Format,
  type FormatOptions,
  NO_ACTIVE_CHECK,
  NO_CHECK_DUE,
  notDueReason,
  type RunRecord,
  type RunSummary,
  traceOf,
  writeOutput,
} from "../formats/format.ts";
import { type CommandContext, type OpenConfig, runSettings } from "../open_config.ts";
import type { LocatedPass } from "./located_work.ts";
import { type CheckCommandSettings, FORMATS } from "./settings.ts";
import { abortOnStop, type Progress, startProgress, type StartSignals, wantsColor } from "../terminal.ts";
import { describeDuration } from "../../domain/duration.ts";
import type { System } from "../../domain/system.ts";
import { messageOf } from "../../shared/describe_error.ts";
import { firstItems, printable } from "../../shared/text.ts";
import { OutputError } from "../failure.ts";

export interface OnceOptions extends CommandContext {
  /** The whole config; the caller chooses the checks to run from it. */
  readonly config: OpenConfig;
  readonly settings: CheckCommandSettings;
  readonly signals: StartSignals;
}

export interface PassParts extends OnceOptions {
  readonly repository: StateRepository;
  readonly shared: SharedState | null;
  /** Names of checks whose record another process has written. */
  readonly overtaken: Set<string>;
  /** Runs checks with locations; `null`: there are none. */
  readonly located: LocatedPass | null;
  /** The checks that the call is about, including those that are not due. */
  readonly selected: readonly Check[];
  /** The checks that left the config since it was last used. */
  readonly left: ReadonlySet<string>;
  /** Whether there is a state: without one no channel is called. */
  readonly isKept: boolean;
  readonly steps: StepReceiver | undefined;
}

export interface ChosenOptions extends PassParts {
  readonly printer: RunPrinter;
  onBug(error: unknown): void;
}

/** Runs the checks, prints and records their results, and returns the exit code. */
export async function runChosen(
  checks: readonly Check[],
  options: ChosenOptions & { readonly engine: Engine; readonly sharedSender: SharedSender | null },
): Promise<number> {
  const { system, config, settings, printer, signals, shared, sharedSender } = options;
  const { clock } = system;
  const fails = failRule(settings.failOn);
  const stop = abortOnStop(system);
  signals.stopIsHandled();
  const startedAtMs = clock.wallMs();
  const startedMonotonicMs = clock.monotonicMs();
  const records = new Map<Check, RunRecord>();
  const pass = new RecordedPass({
    ...options,
    shared: shared === null || sharedSender === null ? null : { store: shared.store, sender: sharedSender },
    active: config.checks.filter(({ active }) => active),
    ...runSettings(config),
    connectivity: connectivityOf(config),
    commonCauses: config.commonCauses,
    machine: shared === null ? null : settings.member ?? system.hostName(),
    location: shared === null ? null : settings.location,
    limiters: createLimiters({ process: settings.concurrency }),
    signal: stop.signal,
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
    stop.end();
  });
  await pass.finish();
  const ordered = checks.flatMap((check) => records.get(check) ?? []);
  // Unfinished checks have no result.
  const results = [
    ...ordered.map(({ result }) => result.condition),
    ...unfinished.map(() => "unknown" as const),
  ];
  const hasRun = results.length > 0;
  const others = options.selected.filter((check) => !records.has(check) && !unfinished.includes(check));
  const known = hasRun && !settings.due ? null : await knownOf(results, others, options);
  const conditions = known?.conditions ?? results;
  const isWritten = await printer.summary({
    condition: highestSeverity(hasRun ? results : conditions),
    reason: hasRun ? null : options.selected.length === 0 ? NO_ACTIVE_CHECK : known?.reason ?? NO_CHECK_DUE,
    startedAtMs,
    durationMs: clock.monotonicMs() - startedMonotonicMs,
    records: ordered,
    unfinished: unfinished.map(({ name }) => name),
    inactiveCount: config.checks.filter(({ active }) => !active).length,
    hostName: system.hostName(),
  });
  if (unfinished.length > 0 && stop.code !== null) {
    printer.message(`stopped: no result of ${unfinished.map(({ name }) => name).join(", ")}`);
    return stop.code;
  }
  if (!isWritten) return EXIT.input_output;
  return exitCodeOf(conditions, fails);
}

/** The results with the stored conditions of checks that did not run, and which of these are not ok. */
async function knownOf(results: readonly Condition[], others: readonly Check[], options: PassParts) {
  const { repository, config, system } = options;
  const { countedConditions, describeStatus, inactiveNames, statusOf } = await import(
    "../../engine/check_status.ts"
  );
  const nowMs = system.clock.wallMs();
  const inactive = inactiveNames(config.checks);
  const context = { recordOf: (name: string) => repository.recordOf(name, nowMs), inactive, nowMs };
  const statuses = others.map((check) => statusOf(check, context));
  const conditions = countedConditions([...results.map((condition) => ({ condition })), ...statuses]);
  const described = statuses.map((status) => (
    { name: status.check.name, condition: status.condition, output: describeStatus(status, nowMs) }
  ));
  return { conditions, reason: notDueReason(described) };
}

type RunPrinterOptions = Omit<OnceOptions, "signals"> & { readonly format: Format };

const NAMES_MAX = 3;

export class RunPrinter {
  readonly #options: RunPrinterOptions;
  readonly #formatOptions: FormatOptions;
  readonly #checks: readonly Check[];
  readonly #progress: Progress;
  /** Whether results are not printed: cron would send an email of them. */
  readonly #isQuiet: boolean;

  constructor(checks: readonly Check[], options: RunPrinterOptions) {
    const { invocation, system, settings, config } = options;
    this.#options = options;
    this.#checks = checks;
    this.#isQuiet = settings.due && settings.format === null;
    this.#formatOptions = {
      color: wantsColor(invocation, system.stdout, system),
      columns: system.stdout.columns(),
      fails: failRule(settings.failOn),
      locate: (name) => {
        const [place] = config.placed([{ path: ["checks", name], message: "" }]);
        return place === undefined ? null : { ...place, file: (place.source ?? config.source).label };
      },
    };
    this.#progress = startProgress(checks, system);
  }

  message(text: string): void {
    const { system, config } = this.#options;
    this.#progress.clear();
    system.stderr.write(`monitor: ${printable(config.redact(text))}\n`);
  }

  /** Prints a line of the `console` channel: on stderr if a machine reads stdout. */
  line(line: string): void {
    const { system, settings } = this.#options;
    const text = `${printable(line)}\n`;
    this.#progress.clear();
    if (settings.format === null || settings.format === "pretty") print(text, system);
    else system.stderr.write(text);
  }

  record(record: RunRecord): void {
    const { system, settings, format } = this.#options;
    const { check, trace } = record.result;
    this.#progress.finished(check);
    if (this.#isQuiet) return;
    this.#progress.clear();
    print(format.record?.(record, this.#formatOptions) ?? "", system);
    if (!settings.traces) return;
    print(traceOf(check, trace), system);
  }

  retrying(failing: readonly Check[], leftMs: number): void {
    const names = firstItems(failing.map(({ name }) => name), NAMES_MAX).join(", ");
    const count = `${failing.length} of ${this.#checks.length} checks`;
    this.message(`retrying ${count}, ${describeDuration(leftMs)} left: ${names}`);
  }

  end(): void {
    this.#progress.end();
  }

  /** Prints a summary, and writes the files of `--output`. Returns whether all could be written. */
  async summary(summary: RunSummary): Promise<boolean> {
    const { system, settings, format } = this.#options;
    if (!this.#isQuiet) print(format.summary(summary, this.#formatOptions), system);
    let isWritten = true;
    for (const { format: name, path } of settings.outputs) {
      const failure = await writeOutput(path, this.#textOf(summary, await FORMATS[name]()), system);
      if (failure === null) continue;
      isWritten = false;
      system.stderr.write(`monitor: error: ${printable(failure)}\n`);
    }
    return isWritten;
  }

  #textOf(summary: RunSummary, format: Format): string {
    const options = { ...this.#formatOptions, color: false, columns: null };
    const records = summary.records.map((record) => format.record?.(record, options) ?? "");
    return records.join("") + format.summary(summary, options);
  }
}

function print(text: string, system: System): void {
  if (text === "") return;
  try {
    system.stdout.write(text);
  } catch (error) {
    throw new OutputError(`cannot write to stdout: ${messageOf(error)}`);
  }
}
