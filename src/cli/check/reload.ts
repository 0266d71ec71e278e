import { ConfigError, type PlacedProblem } from "../../config/problem.ts";
import type { System } from "../../domain/system.ts";
import { createRedactor } from "../../redact.ts";
import type { Watched } from "../../watch.ts";
import { type Invocation, UsageError } from "../command.ts";
import { type OpenDocument, openDocument, selectChecks } from "../document.ts";
import { describeFailure } from "../failure.ts";
import type { Log } from "../log.ts";

/** What is needed to read a document again. */
export interface RereadOptions {
  /** Names the document and the checks. */
  readonly invocation: Invocation;
  /** The machine that it is read from. */
  readonly system: System;
  /** The document that is in force. */
  readonly document: OpenDocument;
  /** Told of every mistake. */
  readonly log: Log;
}

/** A document that was read again and what to watch by it, or why the old one stays in force. */
export type Reread =
  | { readonly document: OpenDocument; readonly watched: Watched }
  | { readonly error: string };

/** Reads the document again. What is wrong with it is logged, every mistake at its place. */
export async function readAgain({ invocation, system, document, log }: RereadOptions): Promise<Reread> {
  const { source } = document;
  try {
    if (source.path === null) throw new UsageError("the document came from stdin and cannot be read again");
    const next = await openDocument(invocation, system);
    if (next.source.path !== source.path) {
      throw new UsageError(
        `another document, "${next.source.label}", is found now instead of "${source.label}"; restart to use it`,
      );
    }
    return { document: next, watched: toWatched(next, invocation.operands) };
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const problem of error.problems) log.error(describePlace(error.source?.label ?? "", problem));
    }
    const reason = reasonOf(error);
    log.error(`the document was not read again, the old one stays in force: ${reason}`);
    return { error: reason };
  }
}

/**
 * What of a document runs: its active checks, or those of them that are named.
 *
 * @throws {UsageError} If a name is not in the document.
 */
export function toWatched(document: OpenDocument, names: readonly string[]): Watched {
  return {
    checks: selectChecks(document.checks, names).filter((check) => check.active),
    documentChecks: document.checks,
    folder: document.source.folder,
    redact: createRedactor(document.secrets),
  };
}

/** A mistake or a doubt of a document on one line. */
export function describePlace(label: string, problem: PlacedProblem): string {
  const { line, column, path, message, hint } = problem;
  const place = `${label}:${line}:${column}: ${path === "" ? "" : `${path}: `}`;
  return `${place}${message}${hint === null ? "" : ` (${hint})`}`;
}

const ERROR_PREFIX = "monitor: error: ";

function reasonOf(error: unknown): string {
  const lines = describeFailure(error, { colour: false }).text.split("\n");
  return lines.find((line) => line.startsWith(ERROR_PREFIX))?.slice(ERROR_PREFIX.length) ?? String(error);
}
