import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import type { PageCheck, PageHistory } from "./snapshot.ts";

interface Kept {
  readonly status: PageCheck;
  readonly history: PageHistory;
  readonly readAtMs: number;
  readonly untilMs: number;
}

/**
 * The histories of checks without details: reading those of ten thousand takes seconds. One is read again after a change of
 * its check, after a run that failed, on another day, and within an hour, spread so that not all are due together.
 */
export class PageHistories {
  readonly #kept = new Map<string, Kept>();
  #reads = 0;

  /** Returns a history that still holds; `null`: it has to be read. */
  get(status: PageCheck, nowMs: number): PageHistory | null {
    const kept = this.#kept.get(status.check.name);
    if (kept === undefined || nowMs >= kept.untilMs || nowMs < kept.readAtMs) return null;
    if (Math.floor(nowMs / DAY_MS) !== Math.floor(kept.readAtMs / DAY_MS)) return null;
    return holds(status, kept.status) ? kept.history : null;
  }

  keep(status: PageCheck, history: PageHistory, nowMs: number): void {
    const spread = (this.#reads++ % SPREAD) / SPREAD;
    const untilMs = nowMs + HOUR_MS * (1 + spread) / 2;
    this.#kept.set(status.check.name, { status, history, readAtMs: nowMs, untilMs });
  }
}

const SPREAD = 360;

function holds({ record, condition, state }: PageCheck, before: PageCheck): boolean {
  if (condition !== before.condition || state !== before.state) return false;
  if (record === before.record) return true;
  return record?.last?.condition === "ok" && before.record?.last?.condition === "ok" &&
    record.condition.confirmedSinceMs === before.record.condition.confirmedSinceMs;
}
