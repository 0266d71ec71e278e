import type { LoadedConfig } from "../../config/load.ts";
import { StoreError } from "../../domain/store.ts";
import type { Log } from "../../domain/system.ts";
import { MINUTE_MS } from "../../shared/time_units.ts";
import type { QueueSummaryOptions } from "./gather_summary.ts";

type SummaryConfig = Pick<LoadedConfig, "summary" | "checks">;

interface ScheduleOptions extends Omit<QueueSummaryOptions, "settings" | "checks"> {
  readonly config: SummaryConfig;
  readonly log: Log;
  /** Returns whether this process queues the summary: of several members one does. */
  isHere(): boolean;
  /** Called with errors that must not happen. */
  onBug(error: unknown): void;
}

/** The longest time between two searches: another member may have died, a failure ended, or the clock been set. */
const SEARCH_EVERY_MS = MINUTE_MS;

export class SummarySchedule {
  readonly #options: ScheduleOptions;
  #config: SummaryConfig;
  #cancel = (): void => {};
  #searching: Promise<void> = Promise.resolve();
  #isFailing = false;
  #hasEnded = false;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#plan(0);
  }

  adopt(config: SummaryConfig): void {
    this.#config = config;
    this.#plan(0);
  }

  /** Resolves when nothing of it reads or writes the state any more. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    this.#cancel();
    await this.#searching;
  }

  #plan(waitMs: number): void {
    this.#cancel();
    if (this.#config.summary === null || this.#hasEnded) return;
    const { clock } = this.#options.system;
    this.#cancel = clock.after(waitMs, () => {
      this.#searching = this.#searching.then(() => this.#search()).catch(this.#options.onBug);
    });
  }

  async #search(): Promise<void> {
    const { system: { clock }, log, isHere } = this.#options;
    const { summary: settings, checks } = this.#config;
    if (settings === null || this.#hasEnded) return;
    if (isHere()) {
      try {
        const { queueDueSummary } = await import("./gather_summary.ts");
        await queueDueSummary({ ...this.#options, settings, checks });
        this.#isFailing = false;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (!this.#isFailing) log.warning(`the summary is pending: ${error.message}`);
        this.#isFailing = true;
      }
    }
    const nowMs = clock.wallMs();
    this.#plan(Math.min(SEARCH_EVERY_MS, settings.times.after(nowMs) - nowMs));
  }
}
