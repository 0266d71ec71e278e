import assert from "node:assert/strict";
import { EarlyLooks } from "../../src/members/location_share.ts";

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
