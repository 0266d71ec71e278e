import type { MaintenanceWindow } from "../domain/maintenance_window.ts";
import { isOneOff, nextWindow } from "../engine/maintenance_windows.ts";
import { type TimeContext, timeText } from "../shared/local_time.ts";

export function describeNextWindow(window: MaintenanceWindow, { nowMs, timeZone }: TimeContext): string {
  if (isOneOff(window) && Number.isNaN(window.fromMs)) return "unknown without secrets";
  const times = nextWindow(window, nowMs);
  if (times === null) return "never";
  const { fromMs, untilMs } = times;
  const end = untilMs === null ? "without end" : `until ${timeText(untilMs, timeZone)}`;
  return fromMs === null ? `open ${end}` : `from ${timeText(fromMs, timeZone)} ${end}`;
}
