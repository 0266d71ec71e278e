import { type GatherOptions, gatherReport } from "./gather_report.ts";
import { renderReport } from "./render_report.ts";

/** So long it works before others have their turn. */
const TURN_MS = 5;

/** What the page is made of, and the time that it may take at once. */
interface PageOptions extends Omit<GatherOptions, "pause"> {
  readonly clock: { monotonicMs(): number; after(delayMs: number, callback: () => void): () => void };
}

/**
 * Makes the page's text, in turns.
 *
 * @throws {StoreError} If the state cannot be read.
 */
export async function writeReport({ clock, ...options }: PageOptions): Promise<string> {
  let beganMs = clock.monotonicMs();
  const pause = async (): Promise<void> => {
    if (clock.monotonicMs() - beganMs < TURN_MS) return;
    await new Promise<void>((resolve) => void clock.after(0, resolve));
    beganMs = clock.monotonicMs();
  };
  const snapshot = await gatherReport({ ...options, pause });
  let text = "";
  for (const piece of renderReport(snapshot)) {
    text += piece;
    await pause();
  }
  return text;
}
