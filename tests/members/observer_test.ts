import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { DEAD_AFTER_MS, type MemberHeartbeat } from "../../src/domain/membership.ts";
import {
  liveOthers,
  observe,
  type Observed,
  type SentHeartbeat,
  UNOBSERVED,
} from "../../src/members/observer.ts";

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
