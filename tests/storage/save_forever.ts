/**
 * Saves batches into the state at the path it is given, as fast as it can and until it is killed, and says the
 * number of each once it is kept. It goes on from the number that is there.
 */
import { openState } from "./state_folder.ts";
import { changeOf, entryOf, HOUR_MS, recordOf } from "./records.ts";

/** The checks in each batch. */
export const NAMES: readonly string[] = ["a", "b", "c", "d", "e"];

/** So much that the journal is written back into the file every now and then. */
const PADDING = "x".repeat(3000);

if (import.meta.main) {
  say("opening");
  const { store } = await openState(Deno.args[0] ?? "");
  let batch = (await store.records())[0]?.missedRuns ?? 0;
  for (;;) {
    batch++;
    await store.save(NAMES.map((name) => ({
      record: recordOf(name, { missedRuns: batch }),
      rollup: entryOf(batch * HOUR_MS / 10),
      change: changeOf(name, batch, { output: `batch ${batch} ${PADDING}` }),
    })));
    say(String(batch));
  }
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
