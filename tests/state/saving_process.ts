import { fileURLToPath } from "node:url";
import { runArguments } from "../../testing/source.ts";
import { inTime } from "../life/in_time.ts";
import { startChild } from "../../testing/tools.ts";

/** A separate process that runs save_forever.ts. */
export interface SavingProcess {
  /** Waits for one more batch and returns its number. */
  nextBatch(): Promise<number>;
  /** Kills it with SIGKILL and returns the number of the last printed batch; 0 if none was printed. */
  kill(): Promise<number>;
}

/** Starts it, without a pause unless given, and waits until it is about to open the state. */
export async function startSaving(path: string, { pauseMs = 0 } = {}): Promise<SavingProcess> {
  const program = fileURLToPath(new URL("./save_forever.ts", import.meta.url));
  const child = startChild(Deno.execPath(), [...runArguments(), program, path, String(pauseMs)], {
    stdout: "piped",
  });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  let lastBatch = 0;

  /** `null` at the end. A line that was cut off by the kill was not printed. */
  const nextLine = async (): Promise<string | null> => {
    while (!pending.includes("\n")) {
      const { value, done } = await inTime("a line of the saving process", reader.read());
      if (done) return null;
      pending += value;
    }
    const end = pending.indexOf("\n");
    const line = pending.slice(0, end);
    pending = pending.slice(end + 1);
    lastBatch = Number(line) || lastBatch;
    return line;
  };

  if (await nextLine() !== "opening") throw new Error("the saving process did not start");
  return {
    nextBatch: async () => {
      if (await nextLine() === null) throw new Error("the saving process has ended by itself");
      return lastBatch;
    },
    kill: async () => {
      child.kill("SIGKILL");
      while (await nextLine() !== null);
      await inTime("the end of the saving process", child.status);
      return lastBatch;
    },
  };
}
