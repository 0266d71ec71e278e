import type { Clock } from "../../domain/clock.ts";
import { createYield } from "../../shared/yielding.ts";
import { type GatherOptions, gatherReport } from "./gather_report.ts";
import { renderReport } from "./render_report.ts";
import type { ReportSnapshot } from "./snapshot.ts";

interface PageOptions extends Omit<GatherOptions, "pause"> {
  /** Changes what was gathered, before it is rendered. @default nothing */
  filter?(snapshot: ReportSnapshot): ReportSnapshot;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
}

/**
 * Makes the page's text, in turns.
 *
 * @throws {StoreError} If the state cannot be read.
 */
export async function writeReport({ clock, filter, ...options }: PageOptions): Promise<string> {
  const pause = createYield(clock);
  const snapshot = await gatherReport({ ...options, pause });
  let text = "";
  for (const piece of renderReport(filter?.(snapshot) ?? snapshot)) {
    text += piece;
    await pause();
  }
  return text;
}
