import type { System } from "../../domain/system.ts";
import type { Ledger } from "../../ledger.ts";
import type { Reporting } from "../../reporting.ts";
import type { Watch } from "../../watch.ts";
import { type KeptFile, startKeptFiles } from "../check/kept_files.ts";
import type { OpenDocument } from "../document.ts";
import type { Log } from "../log.ts";
import { gatherMetrics } from "./gather_metrics.ts";
import { renderMetrics } from "./render_metrics.ts";

/** The file of metrics beside the loop. */
export interface WatchMetrics {
  /** Goes on with another document. */
  adopt(document: OpenDocument): void;
  /** Notes what became of a reload. */
  reloaded(isSuccessful: boolean): void;
  /** Writes the file for the last time: it says that the service was stopped. */
  stopped(): Promise<void>;
  /** Writes no more. */
  end(): void;
}

/** Where these metrics come from, and who is told of trouble. */
export interface WatchMetricsOptions {
  /** Its clock and its files. */
  readonly system: Pick<System, "clock" | "files">;
  /** Told of trouble with the file. */
  readonly log: Log;
  /** Knows the checks. */
  readonly ledger: Ledger;
  /** Knows the reports. */
  readonly reporting: Reporting;
  /** The loop. */
  readonly watch: Watch;
  /** Says where the file is, if anywhere. */
  readonly document: OpenDocument;
  /** Told of what must not happen. */
  onBug(error: unknown): void;
}

/** Keeps the document's file of metrics fresh. */
export function startWatchMetrics(options: WatchMetricsOptions): WatchMetrics {
  const { system, log, ledger, reporting, watch, onBug } = options;
  const { clock } = system;
  let { document } = options;
  let documentLoadedAtMs = clock.wallMs();
  let lastLoopAtMs = clock.wallMs();
  let isReloadSuccessful = true;
  let isRunning = true;

  const pause = (): Promise<void> => new Promise((resolve) => void clock.after(0, resolve));
  const render = (schedulerLagMs: number): Promise<string> => {
    const nowMs = clock.wallMs();
    if (watch.isAdvancing) lastLoopAtMs = nowMs;
    const loop = { lastLoopAtMs, schedulerLagMs, documentLoadedAtMs, isReloadSuccessful, isRunning };
    return renderMetrics(gatherMetrics({ document, ledger, reporting, nowMs, loop }), pause);
  };
  const filesOf = ({ metrics }: OpenDocument): readonly KeptFile[] =>
    metrics === null
      ? []
      : [{ what: "the metrics", path: metrics.path, intervalMs: metrics.intervalMs, render }];
  const files = startKeptFiles(filesOf(document), { system, log, onBug });
  return {
    adopt: (next) => {
      document = next;
      documentLoadedAtMs = clock.wallMs();
      isReloadSuccessful = true;
      files.adopt(filesOf(next));
    },
    reloaded: (isSuccessful) => isReloadSuccessful = isSuccessful,
    stopped: async () => {
      isRunning = false;
      await files.finish();
    },
    end: files.end,
  };
}
