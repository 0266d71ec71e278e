import assert from "node:assert/strict";
import { createHangingLimit } from "../../src/system/hanging_limit.ts";

const SERVER = { host: "example.org", port: 443 };

Deno.test("createHangingLimit() counts four for each server, and forgets those that are over", async () => {
  const limit = createHangingLimit(() => 0);
  const { promise, resolve } = Promise.withResolvers<void>();
  for (let count = 0; count < 3; count++) limit.add(SERVER, new Promise(() => {}));
  assert.equal(limit.isReached(SERVER), false);
  limit.add(SERVER, promise);
  assert.equal(limit.isReached(SERVER), true);
  assert.equal(limit.isReached({ ...SERVER, port: 444 }), false);
  resolve();
  await promise;
  assert.equal(limit.isReached(SERVER), false);
});

Deno.test("createHangingLimit() counts up to another limit where it is given one", () => {
  const limit = createHangingLimit(() => 0, 2);
  limit.addFor(SERVER, 1000);
  assert.equal(limit.isReached(SERVER), false);
  limit.addFor(SERVER, 1000);
  assert.equal(limit.isReached(SERVER), true);
});

Deno.test("createHangingLimit() forgets what nothing tells of when its time has come, without a timer", () => {
  let nowMs = 0;
  const limit = createHangingLimit(() => nowMs);
  for (let count = 0; count < 4; count++) limit.addFor(SERVER, 1000 + count);
  nowMs = 999;
  assert.equal(limit.isReached(SERVER), true);
  nowMs = 1000;
  assert.equal(limit.isReached(SERVER), false);
  limit.addFor(SERVER, 10);
  assert.equal(limit.isReached(SERVER), true);
  nowMs = 2000;
  assert.equal(limit.isReached(SERVER), false);
});
