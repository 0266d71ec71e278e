import type { System } from "../../domain/system.ts";
import type { Ledger } from "../../ledger.ts";
import type { WatchEvent } from "../../watch.ts";
import { type KeptFile, startKeptFiles } from "../check/kept_files.ts";
import { isEverything, type OpenDocument, selectChecks, type Selection } from "../document.ts";
import type { Log } from "../log.ts";
import { pageFacts } from "./facts.ts";

/** What a kept page is made from. */
export interface KeptPageSource {
  /** Its clock and its names. */
  readonly system: Pick<System, "clock" | "hostName" | "timeZone">;
  /** Knows the checks as they are now, and the store with their past. */
  readonly ledger: Ledger;
  /** The checks that run. */
  readonly selection: Selection;
  /** When the service was stopped on purpose; `null` while it runs. @default null */
  stoppedAtMs?(): number | null;
}

/** The page that a document wants to be kept fresh, if any. */
export function keptPageOf(document: OpenDocument, source: KeptPageSource): readonly KeptFile[] {
  const { page } = document;
  const { system, ledger, selection } = source;
  if (page === null) return [];
  const render = async (): Promise<string> => {
    const { writePage } = await import("./write_page.ts");
    const stoppedAtMs = source.stoppedAtMs?.() ?? null;
    const facts = pageFacts({
      label: document.source.label,
      page,
      path: page.path,
      notRunning: stoppedAtMs === null ? null : { stoppedAtMs },
    }, system);
    return await writePage({
      store: ledger.store,
      checks: selectChecks(document.checks, selection),
      isWhole: isEverything(selection),
      facts,
      recordOf: (name) => ledger.recordOf(name, facts.nowMs),
      clock: system.clock,
    });
  };
  return [{ what: "the page", ...page, render }];
}

/** The page beside the loop. */
export interface WatchPage {
  /** Goes on with another document. */
  adopt(document: OpenDocument): void;
  /** Looks whether the page is to be renewed because of what happened. */
  happened(event: WatchEvent): void;
  /** Writes it for the last time: it says that the service was stopped. */
  stopped(atMs: number): Promise<void>;
  /** Writes no more. */
  end(): void;
}

/** Where this page comes from, and who is told of trouble. */
export interface WatchPageOptions extends KeptPageSource {
  /** Its clock, its names and its files. */
  readonly system: Pick<System, "clock" | "files" | "hostName" | "timeZone">;
  /** Told of trouble with the file. */
  readonly log: Log;
  /** Says where the page is, if anywhere. */
  readonly document: OpenDocument;
  /** Told of what must not happen. */
  onBug(error: unknown): void;
}

/** Keeps the document's page fresh: at its interval, and soon after a settled condition has changed. */
export function startWatchPage(options: WatchPageOptions): WatchPage {
  let stoppedAtMs: number | null = null;
  const source = { ...options, stoppedAtMs: () => stoppedAtMs };
  const files = startKeptFiles(keptPageOf(options.document, source), options);
  return {
    adopt: (document) => files.adopt(keptPageOf(document, source)),
    happened: (event) => {
      if (event.event !== "result") return;
      const { settledSinceMs, observedAtMs } = event.entry.record.condition;
      if (settledSinceMs === observedAtMs) files.changed();
    },
    stopped: async (atMs) => {
      stoppedAtMs = atMs;
      await files.finish();
    },
    end: files.end,
  };
}
