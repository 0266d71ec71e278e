import assert from "node:assert/strict";
import { campaign } from "../../testing/seed.ts";
import fc from "../support/property.ts";
import { CONDITIONS } from "../../src/domain/condition.ts";
import type { OutboxChange } from "../../src/domain/outbox.ts";
import { joinChanges } from "../../src/engine/outcome_writer.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { countOf, deliveryOf, markerOf, queuedOf } from "../state/records.ts";

const NAMES = ["a", "b", "c"] as const;

const name = fc.constantFrom(...NAMES);
const change: fc.Arbitrary<OutboxChange> = fc.record({
  changed: fc.array(fc.tuple(name, fc.nat(9)).map(([id, attempts]) => queuedOf(id, 1, { attempts }))),
  removed: fc.array(name),
  markers: fc.array(
    fc.tuple(name, name, fc.constantFrom(...CONDITIONS))
      .map(([check, channelKey, condition]) => markerOf(check, { channelKey, condition })),
  ),
  cleared: fc.array(fc.record({ check: name, channelKey: name })),
  counted: fc.array(fc.tuple(name, fc.nat(9)).map(([key, sent]) => countOf(key, { sent }))),
  logged: fc.array(fc.tuple(name, fc.nat(9)).map(([check, atMs]) => deliveryOf(check, { atMs }))),
}, { requiredKeys: ["changed", "removed", "markers", "cleared"] });

Deno.test("joinChanges() joins several changes into an equivalent one", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 6 }), async (changes) => {
      const [apart, together] = [await openInMemoryStore(), await openInMemoryStore()];
      for (const one of changes) await apart.changeOutbox(one);
      await together.changeOutbox(joinChanges(changes));
      const sorted = async (store: typeof apart): Promise<unknown> => {
        const { notifications: rows, markers: notified, counts } = await store.outbox();
        const texts = (some: readonly unknown[]): readonly string[] =>
          some.map((one) => JSON.stringify(one)).sort();
        const deliveries = await store.deliveries({ sinceMs: -Infinity, untilMs: Infinity });
        return [texts(rows), texts(notified), texts(counts), texts(deliveries)];
      };
      assert.deepEqual(await sorted(together), await sorted(apart));
    }),
    { numRuns: campaign(300, 12) },
  );
});
