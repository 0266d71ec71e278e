/** The decisions of a member about a check that others have decided about meanwhile. */
import assert from "node:assert/strict";
import type { ChannelFilters } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { KnownNotification } from "../../src/domain/membership.ts";
import { openPostgresStore } from "../../src/state/postgres/postgres_store.ts";
import { testCheck } from "../support/checks.ts";
import { SharedSender } from "../../src/members/shared_sender.ts";
import { type Desk, openDesk, START } from "../engine/desk.ts";
import { POSTGRES, sharedPostgres, storeOptions } from "../support/postgres.ts";
import { testRows } from "../support/rows.ts";

const postgres = sharedPostgres();

const CHECK: Check = {
  ...testCheck("ok", { name: "web" }),
  notifications: [{ kind: "console", key: "console", parameters: {} }],
};
const PROBLEM: KnownNotification = {
  check: "web",
  channelKey: "console",
  condition: "critical",
  certain: true,
};

/** Opens the desk of a member, and returns the events of a check's notifications as `observe()` records results. */
async function startMember(check = CHECK) {
  const sharing = {
    claims: () => true,
    hasActiveConfig: true,
    isOpen: false,
    runs: () => true,
    poke: () => {},
    readsRelated: false,
    readRelated: () => Promise.resolve(),
  };
  const desk = await openDesk([check], { member: sharing });
  const record = (condition: Condition) => desk.record(check, condition);
  const observe = (condition: Condition) => record(condition).map(({ notification: { event } }) => event);
  assert.ok(desk.sender instanceof SharedSender);
  return { ...desk, sender: desk.sender, sharing, record, observe };
}

/** Makes a member adopt a record of another one, in which the problem was sent. */
async function overtake(
  { sender, repository }: Pick<Desk, "repository"> & { readonly sender: SharedSender },
  check = CHECK,
): Promise<void> {
  const other = await startMember(check);
  other.observe("critical");
  repository.adopt([other.repository.recordOf("web", START)]);
  sender.forget(["web"]);
}

Deno.test("a member does not notify again of a problem that another one has sent", async () => {
  const member = await startMember();
  await member.sender.know(["web"], () => Promise.resolve([]));
  await overtake(member);
  assert.deepEqual(member.observe("critical"), []);
  assert.deepEqual(member.observe("ok"), ["recovery"]);
});

Deno.test("a member decides for channels that filter once it has read the deliveries of another one", async (t) => {
  const late = { kind: "console", key: "late", parameters: {} } as const;
  const filters: Readonly<Record<string, ChannelFilters>> = {
    after: { afterMs: 3_600_000 },
    hours: { hours: [{ fromMs: START - 2, untilMs: START - 1 }] },
  };
  await testRows(t, filters, async (filter) => {
    const check: Check = { ...CHECK, notifications: [...CHECK.notifications, { ...late, ...filter }] };
    const member = await startMember(check);
    await member.sender.know(["web"], () => Promise.resolve([]));
    assert.equal(member.record("critical").length, 1, "dropped before it is stored");
    await overtake(member, check);
    assert.deepEqual(member.record("ok"), [], "unread");
    await member.sender.know(["web"], () => Promise.resolve([PROBLEM]));
    assert.deepEqual(member.record("ok").map(({ channelKey }) => channelKey), ["console"]);
  });
});

Deno.test("a member keeps its own decisions while it reads those of others", async () => {
  const member = await startMember();
  await overtake(member);
  const read = Promise.withResolvers<readonly KnownNotification[]>();
  const known = member.sender.know(["web"], () => read.promise);
  assert.deepEqual(member.observe("ok"), ["recovery"]);
  read.resolve([PROBLEM]);
  await known;
  assert.deepEqual(member.observe("ok"), []);
  assert.deepEqual(member.observe("critical"), ["problem"]);
});

Deno.test("a member keeps decisions that it could not store when it reads those of others", async () => {
  const { store, sender, repository, record, observe } = await startMember();
  observe("critical");
  await repository.flush();
  const queued = record("ok");
  store.failure = "other";
  await repository.flush();
  sender.send(queued);
  await sender.know(["web"], () => Promise.resolve([PROBLEM]));
  assert.deepEqual(observe("critical"), ["problem"]);
});

Deno.test("a member uses the delivery markers of channels once it has read them", async () => {
  const member = await startMember();
  await overtake(member);
  await member.sender.know(["web"], () => Promise.resolve([]));
  assert.deepEqual(member.observe("critical"), ["problem"]);
});

Deno.test(
  "a member uses only its own deliveries, whatever others have sent meanwhile",
  POSTGRES,
  async (t) => {
    const marker = { check: "web", channelKey: "console", messageId: "m" } as const;
    const nothing = { changed: [], removed: [], markers: [], cleared: [] };
    // The member sent a problem while it was cut off; the other one had one, too, and its recovery.
    for (const [next, event] of [["critical", "problem"], ["ok", "recovery"]] as const) {
      await t.step(`followed by ${event}`, async () => {
        const place = postgres().place();
        const cutOff = await openPostgresStore(place, storeOptions());
        const other = await openPostgresStore(place, storeOptions());
        try {
          await other.takeQueue({ channelKey: "console", owner: null, token: 0 }, "other");
          await other.changeOutbox({
            ...nothing,
            markers: [{ ...marker, condition: "critical", certain: true }],
          });
          await other.changeOutbox({ ...nothing, cleared: [marker] });
          await cutOff.changeOutbox({ ...nothing, sentOpen: [{ ...marker, condition: "critical" }] });
          const member = await startMember();
          member.observe("ok");
          member.sender.forget(["web"]);
          await member.sender.know(["web"], cutOff.known);
          assert.deepEqual(member.observe(next), [event]);
        } finally {
          await Promise.all([cutOff.close(), other.close()]);
        }
      });
    }
  },
);

Deno.test("a member that fails open sends unstored notifications, and none stored since", async (t) => {
  for (const isStored of [false, true]) {
    await t.step(isStored ? "stored since" : "not stored", async () => {
      const { sharing, store, clock, lines, sender, repository, record } = await startMember();
      const queued = record("critical");
      store.failure = "other";
      await repository.flush();
      sender.send(queued);
      if (isStored) {
        store.failure = null;
        await repository.flush();
        await sender.persistPending();
        store.failure = "other";
      }
      sharing.isOpen = true;
      sender.failOpen();
      await clock.advance(5_000);
      assert.equal(lines.length, isStored ? 0 : 1, lines.join("\n"));
      await sender.stop();
    });
  }
});

Deno.test("a member sends nothing while the state cannot be written, since another one may own the queue", async () => {
  const { store, clock, lines, sender, repository, record } = await startMember();
  const queued = record("critical");
  await repository.flush();
  store.failure = "full";
  sender.receive({ notifications: queued, markers: [] });
  await clock.advance(60_000);
  assert.deepEqual(lines, []);
  store.failure = null;
  sender.receive({ notifications: [], markers: [] });
  await clock.advance(60_000);
  assert.equal(lines.length, 1);
  await sender.stop();
});
