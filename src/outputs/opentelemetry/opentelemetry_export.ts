import type { LoadedConfig } from "../../config/load.ts";
import type { Opentelemetry } from "../../domain/generated/config.ts";
import type { Log } from "../../domain/system.ts";
import { endsWithin } from "../../shared/deadline.ts";
import { createTrouble } from "../../shared/trouble.ts";
import type { MetricValues } from "../metrics/render_metrics.ts";
import { exportMetrics, type ExportOptions } from "./export_metrics.ts";

export interface ExportConfig extends Pick<LoadedConfig, "redact"> {
  readonly opentelemetry: Opentelemetry;
}

export interface ExportSources extends Pick<ExportOptions, "system" | "version" | "instance"> {
  readonly log: Pick<Log, "warning" | "info">;
  /** Gathers the present values. */
  values(): Promise<MetricValues>;
  onBug(error: unknown): void;
}

/** How long the last values may take when the service stops. */
const STOP_MS = 5_000;

/**
 * Sends the metrics at once and at the interval, one export at a time. What could not be sent is not repeated: the next
 * values are newer. A failure is logged once, and so is its end.
 */
export class OpenTelemetryExport {
  readonly #sources: ExportSources;
  readonly #trouble;
  #config: ExportConfig;
  #abort = new AbortController();
  #cancel = (): void => {};

  constructor(config: ExportConfig, sources: ExportSources) {
    this.#config = config;
    this.#sources = sources;
    this.#trouble = createTrouble<string>((failure) => {
      if (failure === null) return sources.log.info("exporting to OpenTelemetry succeeds again");
      sources.log.warning(this.#config.redact(failure));
    });
    this.#plan(0);
  }

  adopt(config: ExportConfig): void {
    this.end();
    this.#abort = new AbortController();
    this.#config = config;
    this.#plan(0);
  }

  /** Sends the values of a stopped service. */
  async stopped(): Promise<void> {
    this.end();
    this.#abort = new AbortController();
    await endsWithin(this.#sources.system.clock, STOP_MS, this.#export(this.#abort.signal));
    this.end();
  }

  end(): void {
    this.#cancel();
    this.#abort.abort(new Error("Stopped"));
  }

  #plan(delayMs: number): void {
    const { system: { clock }, onBug } = this.#sources;
    const abort = this.#abort.signal;
    this.#cancel = clock.after(delayMs, () => {
      const beganMs = clock.monotonicMs();
      this.#export(abort).then((waitMs) => {
        if (abort.aborted) return;
        const { intervalMs } = this.#config.opentelemetry;
        this.#plan(Math.max(waitMs, intervalMs - (clock.monotonicMs() - beganMs), 0));
      }).catch(onBug);
    });
  }

  /** Returns how long the collector asks to wait. */
  async #export(abort: AbortSignal): Promise<number> {
    const { opentelemetry: settings } = this.#config;
    if (!settings.metrics) return 0;
    try {
      const values = await this.#sources.values();
      const { failure, waitMs } = await exportMetrics(values, { ...this.#sources, settings, abort });
      this.#trouble.set(failure);
      return waitMs;
    } catch (error) {
      if (abort.aborted) return 0;
      throw error;
    }
  }
}
