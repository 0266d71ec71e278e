import type { Check } from "../../domain/check.ts";
import type { System } from "../../domain/system.ts";
import { type Ledger, openLedger } from "../../ledger.ts";
import { DEFAULT_LIMITS } from "../../monitor.ts";
import { startWatch, type Watch, type Watched } from "../../watch.ts";
import type { Invocation } from "../command.ts";
import type { OpenDocument } from "../document.ts";
import { EXIT } from "../exit_code.ts";
import { createLog, type Log } from "../log.ts";
import { locateState, type OwnedState, ownState } from "../state.ts";
import { deliver, undeliveredKinds } from "./deliver.ts";
import { describePlace, readAgain, toWatched } from "./reload.ts";
import type { CheckSettings } from "./settings.ts";
import { createSteadySink } from "./steady_sink.ts";
import { logWatchEvent } from "./watch_log.ts";
import {
  countChecks,
  createEventOutput,
  createPrettyOutput,
  type WatchFacts,
  type WatchOutput,
} from "./watch_output.ts";

/** How long running checks may take to finish once somebody asked to stop. */
const STOP_GRACE_MS = 10_000;

/** What `monitor check` without `--once` is about. */
export interface WatchCommandOptions {
  /** Names the document, the checks and the state; a reload goes by it again. */
  readonly invocation: Invocation;
  /** The machine that is checked from and printed to. */
  readonly system: System;
  /** The document to begin with; a reload replaces it. */
  readonly document: OpenDocument;
  /** The options of the command, read and valid. */
  readonly settings: CheckSettings;
}

/** Keeps running the checks until a stop signal comes, and answers the exit code. */
export async function runWatch(options: WatchCommandOptions): Promise<number> {
  const { invocation, document, settings } = options;
  const { system, log } = withSteadySinks(options);
  const output = settings.format === "ndjson" ? createEventOutput(system, log) : createPrettyOutput(system);
  // From here on a hangup means a reload, not the end; one that comes too early waits.
  const reloads = listenForReloads(system);
  logWarnings(document, log);
  const state = await ownState(await locateState(invocation, document, system), {
    system,
    required: false,
    warn: (message) => log.warning(message),
  });
  try {
    return await watchUntilStopped({ ...options, system, log, output, state, reloads });
  } finally {
    reloads.end();
    await state.close();
  }
}

/** What is printed can never end the monitor: it goes on when the disk of its log is full. */
function withSteadySinks(
  { system, settings }: WatchCommandOptions,
): { readonly system: System; readonly log: Log } {
  const stderr = createSteadySink(system.stderr, () => {});
  const log = createLog({
    sink: stderr,
    clock: system.clock,
    level: settings.logLevel,
    format: settings.logFormat,
  });
  const stdout = createSteadySink(
    system.stdout,
    (reason) =>
      reason === null ? log.info("stdout can be written again") : log.warning(
        `Cannot write to stdout: ${reason}; monitoring goes on, and what is printed there is lost`,
      ),
  );
  return { system: { ...system, stdout, stderr }, log };
}

interface Reloads {
  /** Sets who is called at each reload, and at once if one is waiting. */
  handle(callback: () => void): void;
  end(): void;
}

function listenForReloads(system: System): Reloads {
  let isWaiting = false;
  let onReload = (): void => void (isWaiting = true);
  const end = system.onReloadSignal(() => onReload());
  return {
    handle: (callback) => {
      onReload = callback;
      if (isWaiting) callback();
    },
    end,
  };
}

interface UntilStoppedOptions extends WatchCommandOptions {
  readonly log: Log;
  readonly output: WatchOutput;
  readonly state: OwnedState;
  readonly reloads: Reloads;
}

async function watchUntilStopped(options: UntilStoppedOptions): Promise<number> {
  const { invocation, system, document, settings, log, output, state, reloads } = options;
  const ledger = await openLedger({
    store: state.store,
    onTrouble: (error) =>
      error === null
        ? log.info("the state can be written again; nothing that was decided meanwhile is lost")
        : log.error(`${error.message}; monitoring goes on and it is tried again`),
    reopen: state.reopen,
  });
  const first = toWatched(document, invocation.operands);
  output.started(factsOf(document, first), state.path);
  warnOfUndelivered(first.checks, log);
  const stopped = Promise.withResolvers<number>();
  const watch = startWatch(first, {
    system,
    ledger,
    limits: { ...DEFAULT_LIMITS, process: settings.concurrency },
    notifies: settings.notifies,
    onEvent: (event) => {
      logWatchEvent(event, log);
      output.happened(event);
      if (event.event === "report") deliver(event.report, event.check, output.writeLine);
    },
    onBug: stopped.reject,
  });
  const stop = createStop({ watch, ledger, log, output, stopped });
  const stopSignals = system.onStopSignal(stop.ask);
  const reload = createReload(first, { ...options, watch });
  reloads.handle(() => {
    if (!stop.wasAsked) reload().catch(stopped.reject);
  });
  try {
    return await stopped.promise;
  } finally {
    stopSignals();
  }
}

interface StopOptions {
  readonly watch: Watch;
  readonly ledger: Ledger;
  readonly log: Log;
  readonly output: WatchOutput;
  readonly stopped: PromiseWithResolvers<number>;
}

/**
 * The first signal lets running checks finish. A second one ends everything at once; programs that still run are
 * killed with this process.
 */
function createStop({ watch, ledger, log, output, stopped }: StopOptions): {
  ask(signal: "SIGINT" | "SIGTERM"): void;
  readonly wasAsked: boolean;
} {
  let wasAsked = false;
  const stop = async (signal: "SIGINT" | "SIGTERM"): Promise<number> => {
    const { running } = watch;
    log.info(`stopping, after ${signal}${running.length === 0 ? "" : `; waiting for ${list(running)}`}`);
    const unfinished = await watch.stop(STOP_GRACE_MS);
    if (unfinished.length > 0) log.warning(`no result of ${list(unfinished)}: ended after 10 s`);
    output.stopped({ signal, unfinished });
    return EXIT.ok;
  };
  const stopAtOnce = async (signal: "SIGINT" | "SIGTERM"): Promise<number> => {
    const unfinished = watch.running;
    log.warning(`stopping at once, after another ${signal}`);
    await ledger.flush();
    output.stopped({ signal, unfinished });
    return signal === "SIGINT" ? EXIT.interrupted : EXIT.terminated;
  };
  return {
    ask: (signal) => {
      (wasAsked ? stopAtOnce(signal) : stop(signal)).then(stopped.resolve, stopped.reject);
      wasAsked = true;
    },
    get wasAsked() {
      return wasAsked;
    },
  };
}

/** Reloads, one after another: each reads what the document is by then. */
function createReload(
  first: Watched,
  options: UntilStoppedOptions & { readonly watch: Watch },
): () => Promise<void> {
  const { invocation, system, log, output, state, watch } = options;
  let { document } = options;
  let watched = first;
  let isRequested = false;
  let isReloading = false;

  const reloadOnce = async (): Promise<void> => {
    const reread = await readAgain({ invocation, system, document, log });
    if ("error" in reread) return output.reloaded({ adopted: false, error: reread.error });
    const { added, changed, removed } = compare(watched.checks, reread.watched.checks);
    ({ document, watched } = reread);
    watch.reload(watched);
    logWarnings(document, log);
    warnOfUndelivered(watched.checks, log);
    const place = await locateState(invocation, document, system);
    if (place.path !== null && place.path !== state.path) {
      log.warning(`the state would be kept in "${place.path}" now; restart to use it`);
    }
    const facts = factsOf(document, watched);
    log.info(
      `the document was read again: ${
        countChecks(facts.checks)
      }, ${added.length} added, ${changed.length} changed, ` +
        `${removed.length} removed`,
    );
    output.reloaded({ adopted: true, ...facts, added, changed, removed });
  };
  return async () => {
    isRequested = true;
    if (isReloading) return;
    isReloading = true;
    try {
      while (isRequested) {
        isRequested = false;
        await reloadOnce();
      }
    } finally {
      isReloading = false;
    }
  };
}

function compare(before: readonly Check[], after: readonly Check[]): {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
} {
  const texts = (checks: readonly Check[]): ReadonlyMap<string, string> =>
    new Map(checks.map((check) => [check.name, JSON.stringify(check)]));
  const old = texts(before);
  const present = texts(after);
  return {
    added: [...present.keys()].filter((name) => !old.has(name)),
    changed: [...present].flatMap(([name, text]) => old.has(name) && old.get(name) !== text ? [name] : []),
    removed: [...old.keys()].filter((name) => !present.has(name)),
  };
}

function factsOf(document: OpenDocument, watched: Watched): WatchFacts {
  return {
    document: document.source.label,
    checks: watched.checks.length,
    inactive: document.checks.filter((check) => !check.active).length,
  };
}

function logWarnings({ source, placedWarnings }: OpenDocument, log: Log): void {
  for (const warning of placedWarnings) log.warning(describePlace(source.label, warning));
}

function warnOfUndelivered(checks: readonly Check[], log: Log): void {
  for (const kind of undeliveredKinds(checks)) {
    log.warning(`reports are not delivered to channels of kind "${kind}" by this version`);
  }
}

const LISTED_MAX = 5;

function list(names: readonly string[]): string {
  const rest = names.length - LISTED_MAX;
  return names.slice(0, LISTED_MAX).map((name) => `"${name}"`).join(", ") +
    (rest > 0 ? ` and ${rest} more` : "");
}
