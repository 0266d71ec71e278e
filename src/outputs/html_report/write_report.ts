import type { Clock } from "../../domain/clock.ts";
import { createYield } from "../../shared/yielding.ts";
import { type GatherOptions, gatherReport } from "./gather_report.ts";
import { publicChecks, publicReport } from "./public_report.ts";
import { renderReport } from "./render_report.ts";

interface PageOptions extends Omit<GatherOptions, "pause"> {
  /** Tags of the checks that a page for everybody shows; absent: it is none. */
  readonly public?: readonly string[] | undefined;
  readonly clock: Pick<Clock, "monotonicMs" | "after">;
}

/**
 * Makes the page's text, in turns.
 *
 * @throws {StoreError} If the state cannot be read.
 */
export async function writeReport(
  { clock, public: tags, checks, isWhole, ...options }: PageOptions,
): Promise<string> {
  const pause = createYield(clock);
  const shown = tags === undefined ? checks : publicChecks(checks, tags);
  const gathered = await gatherReport({
    ...options,
    checks: shown,
    isWhole: isWhole && tags === undefined,
    pause,
  });
  let text = "";
  for (const piece of renderReport(tags === undefined ? gathered : publicReport(gathered))) {
    text += piece.toString();
    await pause();
  }
  return text;
}
