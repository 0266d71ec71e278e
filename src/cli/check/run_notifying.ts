/** The notifications of a single run. A run without a state calls no channel, and does not load this. */
import { toNotifyingConfig } from "../../engine/configured_channels.ts";
import { Engine } from "../../engine/engine.ts";
import { BATCHING_DELAY_MS, type Sender, type SenderOptions, startSender } from "../../engine/sender.ts";
import type { Check } from "../../domain/check.ts";
import { StoreError } from "../../domain/store.ts";
import { publishFile } from "../../outputs/file_publisher.ts";
import { ReportSender } from "../../outputs/report_sender.ts";
import { EXIT } from "../command_definition.ts";
import type { DeliveryEvent } from "../../engine/queue_state.ts";
import { timeText } from "../../shared/local_time.ts";
import { VERSION } from "../answer_at_once.ts";
import { describeOutboxEvent, describePending, describeUnfinished } from "./service_log.ts";
import { type ChosenOptions, runChosen } from "./run_chosen.ts";
import { hintOf } from "../failure.ts";
import { warn } from "../terminal.ts";

/** How long a run sends notifications at its end; the others are sent by the next run. */
const DRAIN_MS = 60_000;

const AT_NEXT_RUN = "retrying at the next run";

type WithNotifying = ChosenOptions & { readonly engine: Engine; readonly sender: Sender };

/**
 * Runs the checks and sends their notifications. In the end, each pending notification is tried once more, and each
 * rejected one that is due.
 */
export async function runNotifying(checks: readonly Check[], options: ChosenOptions): Promise<number> {
  const { system, config, settings, repository, shared, printer, onBug } = options;
  const sendingConfig = toNotifyingConfig(config, options.selected);
  const sending: SenderOptions = {
    system,
    repository,
    kept: await repository.store.outbox(),
    notifies: settings.notifies,
    // Calls by cron would repeat a login with a wrong password each minute.
    retriesAtStart: false,
    left: options.left,
    batchingMs: BATCHING_DELAY_MS,
    writeLine: (line) => printer.line(line),
    onEvent: (event) => {
      const text = describeOutboxEvent(event, whatNext(event));
      if (text !== null && text.level !== "info") printer.message(text.message);
    },
    onBug,
  };
  const asGuest = shared === null
    ? null
    : await (await import("./take_part.ts")).startGuest(sendingConfig, { ...sending, shared, config });
  const sender = asGuest?.sender ?? startSender(sendingConfig, sending);
  if (asGuest === null) await sender.refresh();
  const message = (text: string): void => printer.message(text);
  const log = { info: () => {}, warning: message, error: message };
  const reporter = shared === null ? new ReportSender({ ...options, log, onBug }) : null;
  const engine = new Engine(options.selected, {
    repository,
    sender,
    newId: shared?.newId ?? system.randomId,
    hostName: system.hostName(),
    reporter,
  });
  const notifying = { ...options, engine, sender };
  const code = await runChosen(checks, { ...notifying, sharedSender: asGuest?.sender ?? null });
  if (settings.due && settings.notifies) await queueSummary(notifying);
  const deadlineMs = system.clock.wallMs() + DRAIN_MS;
  if (settings.notifies) await (asGuest?.drain(deadlineMs) ?? sender.drain(deadlineMs));
  await sender.stop();
  await asGuest?.leave();
  const failure = await reporter?.sendAll() ?? null;
  if (failure !== null) printer.message(config.redact(`${failure}; ${AT_NEXT_RUN}`));
  await publishMetrics(notifying);
  const pending = !settings.notifies ? [] : sender.pending.filter(({ channelKey, lastFailure }) =>
    // A limit is no failure.
    lastFailure !== null || sender.limitedUntilMs(channelKey) === null
  );
  // A failed attempt was printed when it failed.
  const unfinished = pending.filter(({ attempts, lastFailure }) => attempts > 0 && lastFailure === null);
  for (const rows of Map.groupBy(unfinished, (row) => row.channelKey).values()) {
    printer.message(describeUnfinished(rows, AT_NEXT_RUN));
  }
  if (code !== EXIT.ok || pending.length === 0 && failure === null) return code;
  // cron would send an email at each call.
  if (!settings.due && pending.length > 0) {
    printer.message(hintOf(options.invocation, `${describePending(pending)}, see: monitor status`));
  }
  return EXIT.undelivered;
}

function whatNext(event: DeliveryEvent): string {
  if (event.event !== "failed" || !event.isRejected) return AT_NEXT_RUN;
  const atMs = Math.min(...event.notifications.map(({ nextAttemptAtMs }) => nextAttemptAtMs));
  return `retrying at the first run after ${timeText(atMs)}`;
}

async function queueSummary({ config, printer, ...options }: WithNotifying): Promise<void> {
  const { summary: settings, checks } = config;
  if (settings === null) return;
  const { queueDueSummary } = await import("../../outputs/summary/gather_summary.ts");
  try {
    await queueDueSummary({ ...options, settings, checks });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    printer.message(`the summary is pending: ${error.message}`);
  }
}

/** Publishes the metrics as the config asks for. A failure is printed and doesn't fail the run. */
async function publishMetrics({ system, config, settings, repository, engine, sender }: WithNotifying) {
  const { metrics, opentelemetry } = config;
  if (metrics === null && opentelemetry === null) return;
  const { gatherMetrics } = await import("../../outputs/metrics/publish_metrics.ts");
  const nowMs = system.clock.wallMs();
  const run = await repository.store.monitorRun();
  // Without pauses: nothing else is in progress.
  const pause = (): Promise<void> => Promise.resolve();
  const values = await gatherMetrics({
    ...{ config, version: VERSION, repository, engine, sender, sharing: null, nowMs },
    notRunning: run?.ended ?? null,
    ...{ lastLoopAtMs: nowMs, schedulerLagMs: null, configLoadedAtMs: nowMs },
    ...{ isReloadSuccessful: null, isRunning: null, spansDropped: null, pause },
  });
  if (metrics !== null) {
    const { renderMetrics } = await import("../../outputs/metrics/render_metrics.ts");
    const render = (): Promise<string> => renderMetrics(values, pause);
    const failure = await publishFile({ what: "the metrics", ...metrics, render }, system.files);
    if (failure !== null) warn(failure, system);
  }
  if (opentelemetry?.metrics === true) {
    const { exportMetrics } = await import("../../outputs/opentelemetry/export_otlp.ts");
    const { failure } = await exportMetrics(values, {
      ...{ settings: opentelemetry, system, version: VERSION, instance: settings.member },
      abort: new AbortController().signal,
    });
    if (failure !== null) warn(config.redact(failure), system);
  }
}
