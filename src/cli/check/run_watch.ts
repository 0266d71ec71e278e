import { ConfigError } from "../../config/problem.ts";
import type { Check } from "../../domain/check.ts";
import type { System } from "../../domain/system.ts";
import { openLedger } from "../../ledger.ts";
import { DEFAULT_LIMITS } from "../../monitor.ts";
import { createRedactor } from "../../redact.ts";
import { startWatch, type Watched, type WatchEvent } from "../../watch.ts";
import type { Invocation } from "../command.ts";
import { type OpenDocument, openDocument, selectChecks } from "../document.ts";
import { EXIT } from "../exit_code.ts";
import { describeFailure } from "../failure.ts";
import { checkMembers } from "../formats/check_members.ts";
import { createLog, type Log } from "../log.ts";
import { printable } from "../printable.ts";
import { locateState, ownState } from "../state.ts";
import { VERSION } from "../version.ts";
import { deliver, undeliveredKinds } from "./deliver.ts";
import { reportMembers } from "./report_members.ts";
import type { CheckSettings } from "./settings.ts";

/** How long running checks may take to finish once somebody asked to stop. */
const STOP_GRACE_MS = 10_000;

/** What `monitor check` without `--once` is about. */
export interface WatchCommandOptions {
  readonly invocation: Invocation;
  readonly system: System;
  readonly document: OpenDocument;
  readonly settings: CheckSettings;
}

/** Keeps running the checks until a stop signal comes, and answers the exit code. */
export async function runWatch(options: WatchCommandOptions): Promise<number> {
  const { invocation, system, document, settings } = options;
  const log = createLog({
    sink: system.stderr,
    clock: system.clock,
    level: settings.logLevel,
    format: settings.logFormat,
  });
  const state = await ownState(await locateState(invocation, document, system), {
    system,
    required: false,
    warn: (message) => log.warning(message),
  });
  try {
    const ledger = await openLedger({
      store: state.store,
      onTrouble: (error) =>
        error === null
          ? log.info("the state can be written again; nothing that was decided meanwhile is lost")
          : log.error(`${error.message}; monitoring goes on and it is tried again`),
      reopen: state.reopen,
    });
    const stopped = Promise.withResolvers<number>();
    const watched = toWatched(document, invocation);
    const print = createEventPrinter(options);
    const watch = startWatch(watched, {
      system,
      ledger,
      limits: { ...DEFAULT_LIMITS, process: settings.concurrency },
      notifies: settings.notifies,
      onEvent: (event) => {
        logEvent(event, log);
        print(event);
        if (event.event === "report") deliver(event.report, event.check, consoleWriter(options));
      },
      onBug: stopped.reject,
    });
    sayStart(watched.checks, options, state.path);
    warnOfUndelivered(watched.checks, log);

    const stopReloads = system.onReloadSignal(() => void reload());
    const reload = async (): Promise<void> => {
      const next = await reopenDocument(options, log);
      if (next === null) return;
      watch.reload(next);
      warnOfUndelivered(next.checks, log);
      log.info(`the document was read again: ${next.checks.length} checks`);
    };
    const stopSignals = system.onStopSignal((signal) => {
      // A second signal ends everything at once; programs that still run are killed with this process.
      if (isStopping) stopped.resolve(signal === "SIGINT" ? EXIT.interrupted : EXIT.terminated);
      else {
        isStopping = true;
        log.info(`stopping, after ${signal}`);
        watch.stop(STOP_GRACE_MS).then(() => stopped.resolve(EXIT.ok), stopped.reject);
      }
    });
    let isStopping = false;
    try {
      return await stopped.promise;
    } finally {
      stopReloads();
      stopSignals();
    }
  } finally {
    await state.close();
  }
}

function toWatched(document: OpenDocument, invocation: Invocation): Watched {
  return {
    checks: selectChecks(document.checks, invocation.operands).filter((check) => check.active),
    folder: document.source.folder,
    redact: createRedactor(document.secrets),
  };
}

/** Reads the document again; `null` when it cannot be used, which is logged and leaves the old one in force. */
async function reopenDocument(
  { invocation, system }: WatchCommandOptions,
  log: Log,
): Promise<Watched | null> {
  try {
    return toWatched(await openDocument(invocation, system), invocation);
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const { path, line, column, message } of error.problems) {
        log.error(
          `${error.source?.label ?? ""}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}`,
        );
      }
    }
    const [first = ""] = describeFailure(error, { colour: false }).text.split("\n").filter((line) =>
      line.startsWith("monitor: error: ")
    );
    log.error(
      `the document was not read again, the old one stays in force: ${first.replace("monitor: error: ", "")}`,
    );
    return null;
  }
}

function sayStart(checks: readonly Check[], options: WatchCommandOptions, statePath: string | null): void {
  const { system, document, settings } = options;
  const inactive = document.checks.filter((check) => !check.active).length;
  if (settings.format === "ndjson") {
    writeEvent(system, {
      event: "start",
      version: VERSION,
      document: document.source.label,
      checks: checks.length,
      inactive,
      state: statePath,
    });
    return;
  }
  const count = `${checks.length} ${checks.length === 1 ? "check" : "checks"}`;
  const rest = inactive > 0 ? ` (${inactive} inactive)` : "";
  const kept = statePath === null ? "nothing is kept" : `state in ${statePath}`;
  system.stdout.write(
    printable(`monitor ${VERSION} watches ${count}${rest} of ${document.source.label}, ${kept}`) + "\n",
  );
}

function warnOfUndelivered(checks: readonly Check[], log: Log): void {
  for (const kind of undeliveredKinds(checks)) {
    log.warning(`reports are not delivered to channels of kind "${kind}" by this version`);
  }
}

/** The console channel's way out: stdout, or stderr when a machine format owns stdout. */
function consoleWriter({ system, settings }: WatchCommandOptions): (line: string) => void {
  const sink = settings.format === "ndjson" ? system.stderr : system.stdout;
  return (line) => sink.write(`${printable(line)}\n`);
}

function createEventPrinter({ system, settings }: WatchCommandOptions): (event: WatchEvent) => void {
  if (settings.format !== "ndjson") return () => {};
  return (event) => {
    if (event.event === "result") {
      const { result, entry, lateMs } = event;
      const record = { result, occurrences: entry.occurrences, settled: entry.record.condition.settled };
      writeEvent(system, { event: "result", ...checkMembers(record), late_ms: Math.round(lateMs * 10) / 10 });
    } else if (event.event === "report") {
      writeEvent(system, { event: "report", ...reportMembers(event.report) });
    }
  };
}

function writeEvent(system: System, members: Readonly<Record<string, unknown>>): void {
  system.stdout.write(`${JSON.stringify(members)}\n`);
}

function logEvent(event: WatchEvent, log: Log): void {
  if (event.event === "result") {
    const { result, entry, lateMs } = event;
    log.debug(`${result.check.name}: ${result.condition}: ${result.output}`, {
      settled: entry.record.condition.settled,
      duration_ms: Math.round(result.durationMs),
      late_ms: Math.round(lateMs),
    });
  } else if (event.event === "slept") {
    log.warning("the machine slept or its clock was set: what ran then is run again", {
      for_ms: Math.round(event.forMs),
      runs: event.discarded,
    });
  } else if (event.event === "late") {
    log.warning("checks started late", {
      count: event.count,
      worst_ms: Math.round(event.worstMs),
      worst: event.name,
    });
  }
}
