import type { LoadedConfig } from "../../config/load.ts";
import type { Opentelemetry } from "../../domain/generated/config.ts";
import type { Log, System } from "../../domain/system.ts";
import { endsWithin } from "../../shared/deadline.ts";
import { counted } from "../../shared/text.ts";
import type { MetricValues } from "../metrics/render_metrics.ts";
import { exportMetrics, exportSpans, SPANS_AT_A_TIME } from "./export_otlp.ts";
import type { ExportOptions } from "./otlp.ts";
import type { SpanQueue } from "./span_queue.ts";

interface ExportConfig extends Pick<LoadedConfig, "redact"> {
  readonly opentelemetry: Opentelemetry;
}

export interface ExportSources extends Pick<ExportOptions, "version" | "instance"> {
  readonly system: ExportOptions["system"] & Pick<System, "random">;
  readonly log: Pick<Log, "warning" | "info">;
  /** The runs whose spans are sent. */
  readonly spans: SpanQueue;
  values(): Promise<MetricValues>;
  onBug(error: unknown): void;
}

/** How long the last exports may take when the service stops. */
const STOP_MS = 5_000;
/** Spans are sent this long after the first one, or as soon as a request is full. */
const SPANS_EVERY_MS = 5_000;
/** The delay after a failure, which doubles each time. */
const BACKOFF_MS = 5_000;
const BACKOFF_MS_MAX = 300_000;

/**
 * Sends the metrics at once and at the interval, and spans soon after their runs, one request of each at a time. Metrics
 * that could not be sent are not repeated, since the next ones are newer. Each reason of a failure is logged once until
 * both succeed again, and so is that.
 */
export class OpenTelemetryExport {
  readonly #sources: ExportSources;
  /** Of both together, since they have one collector. */
  readonly #failing = new Set<"metrics" | "spans">();
  /** The reasons that were logged since both succeeded. */
  readonly #logged = new Set<string>();
  /** What was lost since then, and what was before. */
  #lost = { exports: 0, spansBefore: 0 };
  #config: ExportConfig;
  #abort = new AbortController();
  #cancelMetrics = (): void => {};
  #spansTimer: { readonly atMs: number; cancel(): void } | null = null;
  #isSending = false;
  #failures = 0;
  #notBeforeMs = -Infinity;

  constructor(config: ExportConfig, sources: ExportSources) {
    this.#config = config;
    this.#sources = sources;
    sources.spans.onAdded = () => this.#planSpans();
    this.#start();
  }

  adopt(config: ExportConfig): void {
    this.end();
    this.#abort = new AbortController();
    this.#config = config;
    this.#start();
  }

  /** Sends the values of a stopped service, and the spans of its last runs. */
  async stopped(): Promise<void> {
    this.end();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const all = Promise.all([this.#exportMetrics(signal), this.#exportSpans(signal)]);
    await endsWithin(this.#sources.system.clock, STOP_MS, all);
    this.end();
  }

  end(): void {
    const { spans } = this.#sources;
    this.#cancelMetrics();
    this.#spansTimer?.cancel();
    this.#spansTimer = null;
    spans.isOn = false;
    this.#abort.abort(new Error("Stopped"));
    this.#isSending = false;
  }

  #start(): void {
    const { spans } = this.#sources;
    const { traces, propagate } = this.#config.opentelemetry;
    spans.isOn = traces;
    spans.propagates = traces && propagate;
    if (!traces) spans.clear();
    this.#failures = 0;
    this.#notBeforeMs = -Infinity;
    this.#failing.clear();
    this.#planMetrics(0);
    this.#planSpans();
  }

  #planMetrics(delayMs: number): void {
    const { system: { clock }, onBug } = this.#sources;
    const abort = this.#abort.signal;
    this.#cancelMetrics = clock.after(delayMs, () => {
      const beganMs = clock.monotonicMs();
      this.#exportMetrics(abort).then((waitMs) => {
        if (abort.aborted) return;
        const { intervalMs } = this.#config.opentelemetry;
        this.#planMetrics(Math.max(waitMs, intervalMs - (clock.monotonicMs() - beganMs), 0));
      }).catch(onBug);
    });
  }

  /** Returns how long the collector asks to wait. */
  async #exportMetrics(abort: AbortSignal): Promise<number> {
    if (!this.#config.opentelemetry.metrics) return 0;
    try {
      const values = await this.#sources.values();
      const { failure, waitMs } = await exportMetrics(values, this.#options(abort));
      this.#note("metrics", failure);
      return waitMs;
    } catch (error) {
      if (abort.aborted) return 0;
      throw error;
    }
  }

  #planSpans(): void {
    const { spans, system: { clock }, onBug } = this.#sources;
    const abort = this.#abort.signal;
    if (spans.spans === 0 || this.#isSending || abort.aborted) return;
    const nowMs = clock.monotonicMs();
    const isFull = spans.spans >= SPANS_AT_A_TIME;
    const atMs = Math.max(nowMs + (isFull ? 0 : SPANS_EVERY_MS), this.#notBeforeMs);
    if (this.#spansTimer !== null && this.#spansTimer.atMs <= atMs) return;
    this.#spansTimer?.cancel();
    const cancel = clock.after(atMs - nowMs, () => {
      this.#spansTimer = null;
      this.#exportSpans(abort).then(() => this.#planSpans()).catch(onBug);
    });
    this.#spansTimer = { atMs, cancel };
  }

  /** Sends requests until no span is left, or one fails. */
  async #exportSpans(abort: AbortSignal): Promise<void> {
    const { spans, system: { clock, random } } = this.#sources;
    this.#isSending = true;
    try {
      while (spans.spans > 0) {
        const runs = spans.first(SPANS_AT_A_TIME);
        const { failure, lost, waitMs } = await exportSpans(runs, this.#options(abort));
        this.#note("spans", failure);
        if (lost === null) {
          const backoffMs = Math.min(BACKOFF_MS * 2 ** this.#failures++, BACKOFF_MS_MAX);
          this.#notBeforeMs = clock.monotonicMs() + Math.max(waitMs, backoffMs * (0.5 + random()));
          return;
        }
        this.#failures = 0;
        spans.dropped += lost;
        spans.sent(runs);
      }
    } catch (error) {
      if (!abort.aborted) throw error;
    } finally {
      if (!abort.aborted) this.#isSending = false;
    }
  }

  #note(what: "metrics" | "spans", failure: string | null): void {
    const { log, spans } = this.#sources;
    if (failure !== null) {
      if (this.#logged.size === 0) this.#lost = { exports: 0, spansBefore: spans.dropped };
      if (what === "metrics") this.#lost.exports++;
      this.#failing.add(what);
      const reason = `${what} ${reasonOf(failure)}`;
      if (!this.#logged.has(reason)) log.warning(this.#config.redact(failure));
      this.#logged.add(reason);
      return;
    }
    this.#failing.delete(what);
    if (this.#failing.size > 0 || this.#logged.size === 0) return;
    this.#logged.clear();
    const { exports, spansBefore } = this.#lost;
    const lost = [
      ...exports === 0 ? [] : [`${counted(exports, "export")} of metrics failed`],
      ...spans.dropped === spansBefore ? [] : [`${counted(spans.dropped - spansBefore, "span")} dropped`],
    ];
    log.info(
      ["exporting to OpenTelemetry succeeds again", lost.join(", ")].filter((part) => part !== "").join("; "),
    );
  }

  #options(abort: AbortSignal): ExportOptions {
    return { ...this.#sources, settings: this.#config.opentelemetry, abort };
  }
}

/** Without what differs each time, such as counts and the words of a collector. */
function reasonOf(failure: string): string {
  return /returned status \d+|rejected/.exec(failure)?.[0] ?? failure;
}
