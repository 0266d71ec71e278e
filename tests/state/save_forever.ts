/**
 * Saves batches into the state at the given path, until it is killed, with a pause between two of them if it is given
 * one (milliseconds), and prints the number of each once it is stored, with the outcome of sending its notifications.
 * It continues from the stored number.
 */
import { HOUR_MS } from "../../src/shared/time_units.ts";
import { openState } from "./state_directory.ts";
import { type Store, StoreError } from "../../src/domain/store.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import {
  changeOf,
  entryOf,
  markerOf,
  notificationOf,
  outboxChangeOf,
  queuedOf,
  recordOf,
} from "./records.ts";

/** The checks in each batch. */
export const NAMES: readonly string[] = ["a", "b", "c", "d", "e"];

/** Each check has the rows of so many batches; those before are done. */
export const ROWS_KEPT = 3;

/** So much that the journal is written back into the file every now and then. */
const PADDING = "x".repeat(3000);

if (import.meta.main) {
  const pauseMs = Number(Deno.args[1] ?? 0);
  say("opening");
  const { store } = await openState(Deno.args[0] ?? "");
  let batch = (await store.records())[0]?.missedRuns ?? 0;
  // The process before may have been killed in between.
  if (batch > 0) await persist(() => send(store, batch));
  for (;;) {
    batch++;
    const updates = NAMES.map((name) => ({
      record: recordOf(name, { missedRuns: batch }),
      rollup: entryOf(batch * HOUR_MS / 10),
      change: changeOf(name, batch, { output: `batch ${batch} ${PADDING}` }),
      queued: [rowOf(name, batch)],
    }));
    await persist(() => store.save(updates));
    await persist(() => send(store, batch));
    say(String(batch));
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** The row of a check that a batch makes; it is tried once before the next batch. */
function rowOf(name: string, batch: number): QueuedNotification {
  const notification = notificationOf(name, { output: `batch ${batch} ${PADDING}` });
  const sequence = batch * NAMES.length + NAMES.indexOf(name);
  return queuedOf(`${name} ${batch}`, sequence, { notification, attempts: 0 });
}

/** Returns the outcome of the first attempt of a batch's rows; the same for every retry. */
async function send(store: Store, batch: number): Promise<void> {
  await store.changeOutbox(outboxChangeOf({
    changed: NAMES.map((name) => ({ ...rowOf(name, batch), attempts: 1 })),
    removed: NAMES.map((name) => rowOf(name, batch - ROWS_KEPT).id),
    markers: NAMES.map((name) => markerOf(name, { messageId: String(batch) })),
  }));
}

/** On a busy machine another process may write for long; then nothing is stored, and the same write is retried. */
async function persist(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof StoreError && error.failure === "busy")) throw error;
    }
  }
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
