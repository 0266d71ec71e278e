import assert from "node:assert/strict";
import { OutcomeWriter } from "../../src/alerting/outcome_writer.ts";
import { StoreError } from "../../src/domain/store.ts";
import { outboxChangeOf, queuedOf } from "../state/records.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";

Deno.test("write() keeps an outcome that cannot be written, and writes it with the next one", async () => {
  const inner = await openInMemoryStore();
  let isFull = true;
  const writer = new OutcomeWriter({
    repository: {
      store: {
        ...inner,
        changeOutbox: async (change) => {
          if (isFull) throw new StoreError("cannot write state: the disk is full", "full");
          await inner.changeOutbox(change);
        },
      },
      isWritable: true,
      flush: () => Promise.resolve(),
      amend: () => {},
    },
    counts: [],
    snapshot: () => ({ notifications: [], markers: [] }),
    onBug: assert.ifError,
  });
  const idsOf = async () => (await inner.outbox()).notifications.map(({ id }) => id);
  await writer.write(outboxChangeOf({ changed: [queuedOf("a", 1)] }));
  assert.deepEqual([await idsOf(), writer.isWritable], [[], false]);
  isFull = false;
  await writer.write(outboxChangeOf({ changed: [queuedOf("b", 2)] }));
  assert.deepEqual([await idsOf(), writer.isWritable], [["a", "b"], true]);
});
