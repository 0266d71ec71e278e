import type { NotRunning } from "../../domain/monitor_run.ts";
import type { Log, System } from "../../domain/system.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import type { SchedulerEvent } from "../../scheduler/scheduler.ts";
import { FilePublisher, type PublishedFile } from "../file_publisher.ts";
import type { Check } from "../../domain/check.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { pageFacts } from "./snapshot.ts";

interface PublishedPageSource {
  readonly system: Pick<System, "clock" | "hostName">;
  /** The present checks, and the store with their history. */
  readonly repository: StateRepository;
  select(checks: readonly Check[]): readonly Check[];
  readonly isWhole: boolean;
  /** That the service was stopped; `null` while it runs. @default null */
  notRunning?(): NotRunning | null;
}

/** The page that a config wants to be kept fresh, if any. */
export function publishedReportOf(
  config: LoadedConfig,
  source: PublishedPageSource,
): readonly PublishedFile[] {
  const { report } = config;
  const { system, repository, isWhole } = source;
  if (report === null) return [];
  const render = async (): Promise<string> => {
    const { writeReport } = await import("./write_report.ts");
    const facts = pageFacts({
      configLabel: config.source.label,
      text: config.page,
      timeZone: config.timeZone(),
      intervalMs: report.intervalMs,
      notRunning: source.notRunning?.() ?? null,
      isStateWritable: repository.isWritable,
    }, system);
    return await writeReport({
      store: repository.store,
      checks: source.select(config.checks),
      isWhole,
      public: report.public,
      facts,
      recordOf: (name) => repository.recordOf(name, facts.nowMs),
      clock: system.clock,
    });
  };
  return [{ what: "the HTML report", ...report, render }];
}

interface ReportPublisher {
  adopt(config: LoadedConfig): void;
  /** Renders the page again after relevant events. */
  happened(event: SchedulerEvent): void;
  /** Writes it for the last time, as that of a stopped service. */
  stopped(since: NotRunning): Promise<void>;
  end(): void;
}

interface ReportPublisherOptions extends PublishedPageSource {
  readonly system: Pick<System, "clock" | "files" | "hostName">;
  readonly log: Log;
  readonly config: LoadedConfig;
  onBug(error: unknown): void;
}

/** Keeps the config's page fresh: at its interval, and soon after a confirmed condition has changed. */
export function startReportPublisher(options: ReportPublisherOptions): ReportPublisher {
  let notRunning: NotRunning | null = null;
  const source = { ...options, notRunning: () => notRunning };
  const files = new FilePublisher(publishedReportOf(options.config, source), options);
  return {
    adopt: (config) => files.adopt(publishedReportOf(config, source)),
    happened: (event) => {
      if (event.event !== "result") return;
      const { confirmedSinceMs, observedAtMs } = event.entry.record.condition;
      if (confirmedSinceMs === observedAtMs) files.changed();
    },
    stopped: async (since) => {
      notRunning = since;
      await files.finish();
    },
    end: () => files.end(),
  };
}
