import { describeDuration } from "../domain/duration.ts";
import type { System } from "../domain/system.ts";
import { sleep } from "../shared/deadline.ts";
import { timeText } from "../shared/local_time.ts";
import { abortOnStop, createColors, sinkLike } from "./terminal.ts";
import { EXIT } from "./command_definition.ts";
import { describeFailure } from "./failure.ts";

// Control sequences (ECMA-48, and the private modes of xterm).
const ENTER_SCREEN = "\u001b[?1049h\u001b[?25l";
const LEAVE_SCREEN = "\u001b[?25h\u001b[?1049l";
const TO_START = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

interface WatchOptions {
  readonly system: System;
  readonly intervalMs: number;
  readonly color: boolean;
  print(system: System): Promise<unknown>;
}

/**
 * Refreshes the output of a command on a terminal until a stop signal. Of a longer text, the end stays visible. Errors
 * after the first output are shown until the next refresh. The last text stays on the terminal.
 */
export async function watch({ system, intervalMs, color, print }: WatchOptions): Promise<number> {
  const { stdout, clock } = system;
  const stop = abortOnStop(system);
  const { dim } = createColors(color);
  const printed = async (): Promise<string> => {
    let text = "";
    const sink = sinkLike(stdout, (piece) => void (text += piece));
    await print({ ...system, stdout: sink, stderr: sink });
    return text;
  };
  const shown = async (): Promise<string> => {
    try {
      return await printed();
    } catch (error) {
      const { text, exitCode } = describeFailure(error, { color });
      if (exitCode === EXIT.bug) throw error;
      return text;
    }
  };
  let text = await printed();
  stdout.write(ENTER_SCREEN);
  try {
    while (!stop.signal.aborted && !stdout.closed) {
      const now = timeText(clock.wallMs(), system.timeZone());
      const footer = dim(`${now}, every ${describeDuration(intervalMs)}, end with Ctrl-C`);
      const lines = `${text}\n${footer}`.split("\n").map((line) => `${line}${CLEAR_LINE}`);
      stdout.write(`${TO_START}${lines.join("\n")}${CLEAR_BELOW}`);
      await sleep(clock, intervalMs, stop.signal).catch(() => {});
      if (!stop.signal.aborted) text = await shown();
    }
  } finally {
    stop.end();
    stdout.write(`${LEAVE_SCREEN}${text}`);
  }
  return EXIT.ok;
}
