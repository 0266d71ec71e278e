import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { DEAD_AFTER_MS, type MemberHeartbeat } from "../../src/domain/membership.ts";
import {
  activeConfig,
  liveOthers,
  observe,
  type Observed,
  type SentHeartbeat,
  UNOBSERVED,
} from "../../src/members/observer.ts";
import { EarlyLooks } from "../../src/members/location_share.ts";

function heartbeat(host: string, count: number, id = `${host} 1`): MemberHeartbeat {
  return { host, id, count, config: "a", active: "a", location: null, looks: [] };
}

function sent(sentAtMs: number, ...members: readonly MemberHeartbeat[]): SentHeartbeat {
  return { sentAtMs, members };
}

function after(...outcomes: readonly (SentHeartbeat | null)[]): Observed {
  return outcomes.reduce((before, outcome) => observe(before, outcome, "own"), UNOBSERVED);
}

function hosts(observed: Observed): readonly string[] {
  return liveOthers(observed).map(({ host }) => host);
}

/** Another member whose count stays, as read by heartbeats of the observer at these times. */
function unmoved(...timesMs: readonly number[]): readonly (SentHeartbeat | null)[] {
  return timesMs.map((ms) => sent(ms, heartbeat("own", ms), heartbeat("other", 7)));
}

const FAILED = null;

const CASES: Readonly<
  Record<string, { readonly live: boolean; readonly outcomes: readonly (SentHeartbeat | null)[] }>
> = {
  "before its time": { live: true, outcomes: unmoved(0, 1000, 2000, 3000, 3499) },
  "after its time": { live: false, outcomes: unmoved(0, 1000, 2000, 3000, 3500) },
  "when it is back": {
    live: true,
    outcomes: [...unmoved(0, 1000, 2000, 3000, 4000), sent(5000, heartbeat("other", 8))],
  },
  "when another process of its host is there": {
    live: true,
    outcomes: [...unmoved(0, 1000, 2000, 3000, 4000), sent(5000, heartbeat("other", 7, "other 2"))],
  },
  "when an own heartbeat failed": {
    live: true,
    outcomes: [...unmoved(0, 1000, 2000), FAILED, ...unmoved(4000)],
  },
  "when this process stalled": { live: true, outcomes: unmoved(0, 1000, 11_000, 12_000) },
  "when it was dead before this process stalled": {
    live: false,
    outcomes: unmoved(0, 1000, 2000, 3000, 4000, 60_000),
  },
  "when its clean leaving removed it": { live: false, outcomes: [...unmoved(0, 1000), sent(2000)] },
};

Deno.test("observe() classifies another member as live or dead", async (t) => {
  for (const [name, { live, outcomes }] of Object.entries(CASES)) {
    await t.step(name, () => assert.deepEqual(hosts(after(...outcomes)), live ? ["other"] : []));
  }
});

Deno.test("observe() participates from the second heartbeat on", () => {
  assert.equal(UNOBSERVED.status, "joining");
  assert.equal(after(FAILED).status, "joining");
  assert.equal(after(sent(0)).status, "joining");
  assert.equal(after(sent(0), FAILED).status, "joining");
  assert.equal(after(sent(0), sent(1000)).status, "member");
  assert.equal(after(sent(0), sent(1000), FAILED).status, "uncertain");
  assert.equal(after(sent(0), sent(1000), FAILED, sent(3000)).status, "member");
});

Deno.test("observe() never classifies a member as dead that sent a heartbeat within the time", () => {
  const steps = fc.array(
    fc.record({ waitMs: fc.integer({ min: 200, max: 20_000 }), fails: fc.boolean(), moves: fc.boolean() }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(steps, (all) => {
      let observed = UNOBSERVED;
      let [nowMs, count, movedAtMs] = [0, 0, 0];
      for (const { waitMs, fails, moves } of all) {
        nowMs += waitMs;
        if (moves) {
          count++;
          movedAtMs = nowMs;
        }
        observed = observe(observed, fails ? FAILED : sent(nowMs, heartbeat("other", count)), "own");
        if (!fails && nowMs - movedAtMs < DEAD_AFTER_MS && moves) {
          assert.deepEqual(hosts(observed), ["other"]);
        }
      }
    }),
  );
});

/** Members as `config/active`. */
function members(text: string) {
  return text.split(" ").filter((word) => word !== "").map((word) => {
    const [config = "", active = ""] = word.split("/");
    return { config, active };
  });
}

const ACTIVE_CASES: Readonly<Record<string, readonly [live: string, active: string | null]>> = {
  "one member": ["a/a", "a"],
  "a roll-out at the first of three": ["b/a a/a a/a", "a"],
  "a roll-out at the second of three": ["b/a b/a a/a", "b"],
  "a member that has just joined another": ["a/ b/b", "b"],
  "a member that has just joined a tie": ["b/ b/a a/a a/a c/", "a"],
  "two that have just joined": ["b/ a/", "a"],
  "two that joined before they saw each other": ["b/b a/a", "a"],
  "a tie": ["b/b b/b a/b a/b", "b"],
  "a present one that no member has": ["b/a c/a", "b"],
  "an old config that returns": ["old/old a/a a/a", "a"],
};

Deno.test("activeConfig() returns the config of most members", async (t) => {
  for (const [name, [live, active]] of Object.entries(ACTIVE_CASES)) {
    await t.step(name, () => assert.equal(activeConfig(members(live)), active));
  }
});

Deno.test("activeConfig() returns the config of a majority, whatever was active before", () => {
  const hash = fc.constantFrom("a", "b", "c");
  const member = fc.record({ config: hash, active: hash });
  fc.assert(
    fc.property(fc.array(member), (some) => {
      const live = [
        ...some,
        ...Array.from({ length: some.length + 1 }, () => ({ config: "d", active: "a" })),
      ];
      assert.equal(activeConfig(live), "d");
    }),
  );
});

/** Returns the checks that one member runs after it read the requests of another. */
function received(reader: EarlyLooks, caller: EarlyLooks, nowMs: number, id = "1"): readonly string[] {
  return reader.receive([{ id, looks: caller.published(nowMs) }]).map(({ check, why }) => `${check} ${why}`);
}

Deno.test("EarlyLooks: each call is received once", () => {
  const [caller, reader] = [new EarlyLooks(), new EarlyLooks()];
  assert.deepEqual(received(reader, caller, 0), []);
  caller.call("web", "failing", 0);
  assert.deepEqual(received(reader, caller, 100), ["web failing"]);
  caller.call("web", "changed", 200);
  caller.call("mail", "requested", 300);
  assert.deepEqual(received(reader, caller, 1000), ["web changed", "mail requested"]);
  assert.deepEqual(received(reader, caller, 2000), []);
});

Deno.test("EarlyLooks: a request is published for a few seconds, so that a late heartbeat reads it", () => {
  const [caller, reader] = [new EarlyLooks(), new EarlyLooks()];
  caller.call("web", "failing", 0);
  assert.deepEqual(received(new EarlyLooks(), caller, 4000), ["web failing"]);
  assert.deepEqual(received(reader, caller, 5000), []);
  assert.deepEqual(caller.published(5000), []);
});

Deno.test("EarlyLooks: a restarted process requests early runs again", () => {
  const reader = new EarlyLooks();
  const [before, after] = [new EarlyLooks(), new EarlyLooks()];
  before.call("web", "failing", 0);
  before.call("mail", "failing", 0);
  assert.equal(received(reader, before, 0, "1").length, 2);
  after.call("dns", "failing", 100);
  assert.deepEqual(received(reader, after, 100, "2"), ["dns failing"]);
});

Deno.test("EarlyLooks: a heartbeat stays small when many checks fail at the same time", () => {
  const caller = new EarlyLooks();
  for (let index = 0; index < 10_000; index++) caller.call(`check ${index}`, "failing", 0);
  assert.equal(caller.published(0).length, 200);
});
