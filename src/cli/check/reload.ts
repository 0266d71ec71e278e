import { ConfigError, type PlacedProblem } from "../../config/problem.ts";
import type { Check } from "../../domain/check.ts";
import type { System } from "../../domain/system.ts";
import type { ReportedDocument, Reporting } from "../../reporting.ts";
import type { Watch, Watched } from "../../watch.ts";
import { type Invocation, UsageError } from "../command.ts";
import { type OpenDocument, openDocument, readSelection, selectChecks, type Selection } from "../document.ts";
import {
  describeMissing,
  MissingPermissionsError,
  needsOfDocument,
  requireGranted,
} from "../document_needs.ts";
import { describeFailure } from "../failure.ts";
import type { Log } from "../log.ts";
import { permissionFlag } from "../permission_flags.ts";
import { locateState } from "../state.ts";
import { countChecks, type WatchFacts, type WatchOutput } from "./watch_output.ts";

/** What a reload replaces, and who is told. */
export interface ReloadOptions {
  /** Names the document, the checks and the state. */
  readonly invocation: Invocation;
  /** The machine that the document is read from. */
  readonly system: System;
  /** The document in force at first. */
  readonly document: OpenDocument;
  /** What is watched at first. */
  readonly watched: Watched;
  /** Goes on with what was read. */
  readonly watch: Watch;
  /** Sends on to the channels of what was read. */
  readonly reporting: Reporting;
  /** What else goes by the document, such as the signs of life that it asks for. */
  readonly followers: readonly { adopt(document: OpenDocument): void }[];
  /** Where the state is kept, whatever a document says later. */
  readonly statePath: string | null;
  /** Told of every mistake, and of what follows. */
  readonly log: Log;
  /** Prints what became of it. */
  readonly output: WatchOutput;
}

/** Makes what reloads, one time after another: each reads what the document is by then. */
export function createReload(options: ReloadOptions): () => Promise<void> {
  const { invocation, system, watch, reporting, followers, statePath, log, output } = options;
  let { document, watched } = options;
  let isRequested = false;
  let isReloading = false;

  const reloadOnce = async (): Promise<void> => {
    const reread = await readAgain({ invocation, system, document, log });
    if ("error" in reread) return output.reloaded({ adopted: false, error: reread.error });
    const { added, changed, removed } = compare(watched.checks, reread.watched.checks);
    ({ document, watched } = reread);
    reporting.adopt(toReported(document, watched));
    watch.reload(watched);
    for (const follower of followers) follower.adopt(document);
    logDoubts(document, log);
    const place = await locateState(invocation, document, system);
    if (place.path !== null && place.path !== statePath) {
      log.warning(`the state would be kept in "${place.path}" now; restart to use it`);
    }
    const facts = factsOf(document, watched);
    const difference = `${added.length} added, ${changed.length} changed, ${removed.length} removed`;
    log.info(`the document was read again: ${countChecks(facts.checks)}, ${difference}`);
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

/**
 * What of a document runs: its active checks, or those of them that are chosen.
 *
 * @throws {UsageError} If a name or a tag is not in the document.
 */
export function toWatched(document: OpenDocument, selection: Selection): Watched {
  return {
    checks: selectChecks(document.checks, selection).filter((check) => check.active),
    documentChecks: document.checks,
    folder: document.source.folder,
    redact: document.redact,
  };
}

/** What of a document reports go by: what waits for a channel of any of its checks can go. */
export function toReported(document: OpenDocument, { checks, folder, redact }: Watched): ReportedDocument {
  return { checks: document.checks, running: checks, folder, redact };
}

/** What is watched of a document, in numbers. */
export function factsOf(document: OpenDocument, watched: Watched): WatchFacts {
  return {
    document: document.source.label,
    checks: watched.checks.length,
    inactive: document.checks.filter((check) => !check.active).length,
  };
}

/** Logs what is valid in a document and yet doubtful. */
export function logDoubts({ source, placedWarnings }: OpenDocument, log: Log): void {
  for (const warning of placedWarnings) log.warning(describePlace(source.label, warning));
}

type RereadOptions = Pick<ReloadOptions, "invocation" | "system" | "document" | "log">;

/** A document that was read again and what to watch by it, or why the old one stays in force. */
type Reread =
  | { readonly document: OpenDocument; readonly watched: Watched }
  | { readonly error: string };

/** Reads the document again. What is wrong with it is logged, every mistake at its place. */
async function readAgain({ invocation, system, document, log }: RereadOptions): Promise<Reread> {
  const { source } = document;
  try {
    if (source.path === null) throw new UsageError("the document came from stdin and cannot be read again");
    const next = await openDocument(invocation, system);
    if (next.source.path !== source.path) {
      throw new UsageError(
        `another document, "${next.source.label}", is found now instead of "${source.label}"; restart to use it`,
      );
    }
    const watched = toWatched(next, readSelection(invocation));
    const { checks } = watched;
    refuseDropped(next, system);
    const missing = requireGranted(await needsOfDocument(next, { invocation, system, checks }), system);
    for (const need of missing) log.warning(describeMissing(need));
    return { document: next, watched };
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const problem of error.problems) log.error(describePlace(error.source?.label ?? "", problem));
    }
    if (error instanceof MissingPermissionsError) {
      for (const { permission, value, neededBy } of error.missing) {
        log.error(`${neededBy} needs ${permissionFlag(permission, [value])}`);
      }
    }
    const isDropped = error instanceof MissingPermissionsError || error instanceof Deno.errors.NotCapable;
    const reason = `${reasonOf(error)}${
      isDropped ? "; what was not read or granted at the start takes a restart to use it" : ""
    }`;
    log.error(`the document was not read again, the old one stays in force: ${reason}`);
    return { error: reason };
  }
}

/** What was given up at the start is no matter of the machine, and a restart brings it. */
function refuseDropped({ lacks }: OpenDocument, { permissions }: System): void {
  const lack = lacks.find(({ denied }) => denied !== undefined && permissions.isDropped(denied));
  if (lack !== undefined) throw new Deno.errors.NotCapable(lack.message);
}

/** A mistake or a doubt of a document on one line. */
function describePlace(label: string, problem: PlacedProblem): string {
  const { line, column, path, message, hint, source } = problem;
  const place = `${source?.label ?? label}:${line}:${column}: ${path === "" ? "" : `${path}: `}`;
  return `${place}${message}${hint === null ? "" : ` (${hint})`}`;
}

const ERROR_PREFIX = "monitor: error: ";

function reasonOf(error: unknown): string {
  const lines = describeFailure(error, { colour: false }).text.split("\n");
  return lines.find((line) => line.startsWith(ERROR_PREFIX))?.slice(ERROR_PREFIX.length) ?? String(error);
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
