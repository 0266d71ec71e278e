import assert from "node:assert/strict";
import fc from "../support/property.ts";
import type { QueueRow } from "../../src/domain/membership.ts";
import { maySend, QueueShare, queueSteps } from "../../src/members/queue_share.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";

const OWN = { host: "fra-1", id: "own" };
const ALONE = { own: OWN, hosts: ["fra-1"], liveIds: new Set(["own"]), channelKeys: ["mail"] };

function row(channelKey: string, owner: string | null, token = 3): QueueRow {
  return { channelKey, owner, token };
}

Deno.test("queueSteps() leaves a queue to its live owner until that one releases it", () => {
  const rows = [row("mail", "other")];
  const steps = queueSteps({ ...ALONE, liveIds: new Set(["own", "other"]), rows });
  assert.deepEqual(steps, { take: [], giveBack: [], owned: [] });
});

Deno.test("queueSteps() claims nothing without participating", () => {
  const rows = [row("mail", "dead"), row("pager", "own")];
  const steps = queueSteps({ ...ALONE, hosts: ["nyc-1"], rows });
  assert.deepEqual(steps, { take: [], giveBack: [row("pager", "own")], owned: [] });
});

Deno.test("queueSteps() releases a queue of a channel that left the config", () => {
  const rows = [row("mail", "own"), row("pager", "own")];
  assert.deepEqual(queueSteps({ ...ALONE, rows }), {
    take: [],
    giveBack: [row("pager", "own")],
    owned: [row("mail", "own")],
  });
});

Deno.test("queueSteps() assigns each queue to one of the members that see each other", () => {
  const hosts = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 5 });
  const keys = fc.uniqueArray(fc.string(), { maxLength: 10 });
  fc.assert(
    fc.property(hosts, keys, fc.func(fc.option(fc.nat(8))), (names, channelKeys, ownerOf) => {
      const live = names.map((host) => ({ host, id: `process of ${host}` }));
      let rows = channelKeys.map((key): QueueRow => {
        const index = ownerOf(key);
        return row(key, index === null ? null : live[index]?.id ?? "dead");
      });
      const liveIds = new Set(live.map(({ id }) => id));
      const apply = (): void => {
        for (const own of live) {
          const { take, giveBack } = queueSteps({ own, hosts: names, liveIds, channelKeys, rows });
          const given = new Set(giveBack.map(({ channelKey }) => channelKey));
          const taken = new Set(take.map(({ channelKey }) => channelKey));
          rows = rows.map((one) =>
            taken.has(one.channelKey)
              ? { ...one, owner: own.id, token: one.token + 1 }
              : given.has(one.channelKey)
              ? { ...one, owner: null }
              : one
          );
        }
      };
      apply();
      apply();
      const expected = rows;
      apply();
      assert.deepEqual(rows, expected);
      const owned = live.flatMap((own) =>
        queueSteps({ own, hosts: names, liveIds, channelKeys, rows }).owned
      );
      assert.deepEqual(owned.map(({ channelKey }) => channelKey).sort(), [...channelKeys].sort());
    }),
  );
});

Deno.test("QueueShare: releases a queue that another member has claimed", async () => {
  const share = new QueueShare({
    ...OWN,
    clock: createFakeClock(),
    store: {
      load: () => Promise.resolve([]),
      readOthers: () => Promise.resolve([]),
      known: () => Promise.resolve([]),
      pendingChannels: () => Promise.resolve([]),
      takeQueue: (queue, owner) =>
        Promise.resolve({
          queue: { ...queue, owner, token: queue.token + 1 },
          markers: [],
          limitUse: null,
          isSending: false,
        }),
      giveBackQueue: () => Promise.resolve(),
      receive: () => Promise.resolve({ notifications: [], markers: [] }),
      owns: () => true,
    },
    onBug: (error) => {
      throw error;
    },
  });
  const released: string[] = [];
  const sender = {
    take: () => {},
    receive: () => {},
    release: (channelKey: string) => Promise.resolve(void released.push(channelKey)),
    attemptTimeoutMs: () => 10_000,
  };
  const view = { hosts: [OWN.host], channelKeys: ["mail"] };
  await share.follow({ ...view, liveIds: [], rows: [] }, sender);
  assert.deepEqual([share.holds("mail"), released], [true, []]);
  await share.follow({ ...view, liveIds: ["other"], rows: [row("mail", "other", 2)] }, sender);
  assert.deepEqual([share.holds("mail"), released], [false, ["mail"]]);
});

const CLOCKS: Readonly<Record<string, readonly [monotonicMs: number, wallMs: number, maySend: boolean]>> = {
  "soon after": [1_000, 1_000, true],
  "just in time": [3_499, 3_499, true],
  "too late": [3_500, 3_500, false],
  "after a suspend, which stops the monotonic clock": [100, 60_000, false],
  "after the wall clock was set back": [100, -60_000, false],
};

Deno.test("maySend() returns true for a short time after a successful heartbeat", async (t) => {
  const lastSent = { monotonicMs: 5_000, wallMs: 1_700_000_000_000 };
  for (const [name, [monotonicMs, wallMs, expected]] of Object.entries(CLOCKS)) {
    const now = { monotonicMs: lastSent.monotonicMs + monotonicMs, wallMs: lastSent.wallMs + wallMs };
    await t.step(name, () => assert.equal(maySend(lastSent, now), expected));
  }
  await t.step("never before the first one", () => assert.equal(maySend(null, lastSent), false));
});
