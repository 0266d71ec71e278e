import assert from "node:assert/strict";
import type { MemberEvent, MemberParts, MemberWork } from "../../src/members/member_parts.ts";
import { CheckShare } from "../../src/members/check_share.ts";
import { Member } from "../../src/members/member.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { AttributeIndex } from "../../src/state/record_cache.ts";
import { connectToMemory, createMemoryServer } from "../../testing/simulation/memory_shared_store.ts";
import { recordOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";

const FAIL_OPEN_AFTER_MS = 60_000;
const NAMES = Array.from({ length: 20 }, (_, index) => `check ${index}`);
const WORK: MemberWork = {
  configHash: "config",
  checks: NAMES.map((name) => testCheck("ok", { name })),
  channelKeys: ["console"],
  showsAll: false,
};
/** Nothing else of a process. */
const PARTS: MemberParts = {
  repository: {
    flush: () => Promise.resolve(),
    recordOf: (name) => recordOf(name),
    attributes: new AttributeIndex(),
    adopt: () => {},
    leaveOthers: () => {},
  },
  sender: {
    know: () => Promise.resolve(),
    forget: () => {},
    take: () => {},
    receive: () => {},
    release: () => Promise.resolve(),
    silence: () => {},
    failOpen: () => {},
    failClosed: () => Promise.resolve(true),
    attemptTimeoutMs: () => 10_000,
  },
  scheduler: null,
  located: null,
  reports: null,
};

async function startMember() {
  const clock = createFakeClock();
  const server = await createMemoryServer(clock);
  const opening = connectToMemory(
    { server, clock, random: Math.random, exchange: () => ({ requestMs: 1, replyMs: 1 }) },
    { access: "own" },
  );
  await clock.advance(1_000);
  const { store, openHeartbeats } = await opening;
  const lost = new Set<string>();
  const events: MemberEvent[] = [];
  const member = new Member({
    host: "one",
    id: "1",
    location: null,
    work: WORK,
    failOpenAfterMs: FAIL_OPEN_AFTER_MS,
    heartbeats: await openHeartbeats(),
    store: Object.assign(Object.create(store), { owns: (key: string) => !lost.has(key) && store.owns(key) }),
    clock,
    onEvent: (event) => void events.push(event),
    onSuperseded: () => assert.fail("superseded"),
    onBug: (error) => {
      throw error;
    },
  });
  const joining = member.join(PARTS);
  await clock.advance(10_000);
  await joining;
  return { clock, server, lost, events, member };
}

Deno.test("Member: claims a queue only while its token is that of the store", async () => {
  const { clock, lost, member } = await startMember();
  assert.equal(member.claims("console"), true);
  lost.add("console");
  assert.equal(member.claims("console"), false);
  const leaving = member.leave();
  await clock.advance(1_000);
  await leaving;
});

Deno.test("Member: sends without the shared state only after it was unreachable for so long", async () => {
  const { clock, server, events, member } = await startMember();
  server.kill();
  await clock.advance(FAIL_OPEN_AFTER_MS - 5_000);
  assert.deepEqual([member.isConnected, member.isOpen], [false, false]);
  await clock.advance(10_000);
  assert.equal(member.isOpen, true);
  assert.deepEqual(events.at(-1), { event: "fail_open", isOpen: true });
  const leaving = member.leave();
  await clock.advance(1_000);
  await leaving;
});

Deno.test("CheckShare: a check that was placed elsewhere while its record was read does not run here", async () => {
  const share = new CheckShare({
    host: "one",
    work: WORK,
    clock: createFakeClock(),
    store: {
      load: () => {
        share.hosts = ["one", "two"];
        return Promise.resolve([]);
      },
      readOthers: () => Promise.resolve([]),
      known: () => Promise.resolve([]),
    },
  });
  share.hosts = ["one"];
  await share.follow(PARTS);
  const here = NAMES.filter((name) => share.runs(name));
  assert.ok(here.length > 0 && here.length < NAMES.length, `${here.length} run here`);
});
