/** When a summary is due, and which time it covers. Pure. */
import type { SummarySettings } from "../../domain/channel.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";
import type { Period } from "./outages.ts";

type Times = SummarySettings["times"];

/** Times that come once in 28 years are found, 29 February on a certain weekday among them. */
const SEARCHED_MS = 2 ** 18 * HOUR_MS;

/** Returns the last time of an expression that is not later than another; `null`: none in many years. */
export function lastTime(times: Times, untilMs: number): number | null {
  for (let backMs = HOUR_MS; backMs <= SEARCHED_MS; backMs *= 2) {
    let last: number | null = null;
    for (let atMs = times.after(untilMs - backMs); atMs <= untilMs; atMs = times.after(atMs)) last = atMs;
    if (last !== null) return last;
  }
  return null;
}

/**
 * Returns the period of the summary of a scheduled time: the configured one, by default since the scheduled time before.
 * A week with a DST change counts as one week, so that no hour is left out or counted twice.
 */
export function periodOf({ times, periodMs }: SummarySettings, scheduledMs: number): Period {
  const beforeMs = lastTime(times, scheduledMs - 1);
  if (periodMs === undefined) return { sinceMs: beforeMs ?? scheduledMs - 7 * DAY_MS, untilMs: scheduledMs };
  const sinceMs = scheduledMs - periodMs;
  const isChange = beforeMs !== null && periodMs >= DAY_MS && Math.abs(beforeMs - sinceMs) <= HOUR_MS;
  return { sinceMs: isChange ? beforeMs : sinceMs, untilMs: scheduledMs };
}

/** Returns the period of a summary that is made at any time: as long as that of the last scheduled one. */
export function periodUntil(settings: SummarySettings, nowMs: number): Period {
  const { sinceMs, untilMs } = periodOf(settings, lastTime(settings.times, nowMs) ?? nowMs);
  return { sinceMs: nowMs - (untilMs - sinceMs), untilMs: nowMs };
}
