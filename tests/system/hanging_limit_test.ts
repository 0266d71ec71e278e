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

Deno.test("createHangingLimit() forgets what nothing tells of when its time has come, without a timer", () => {
  let nowMs = 0;
  const limit = createHangingLimit(() => nowMs);
  for (nowMs = 0; nowMs < 4; nowMs++) limit.addLost(SERVER);
  nowMs = 3_599_999;
  assert.equal(limit.isReached(SERVER), true);
  nowMs = 3_600_000;
  assert.equal(limit.isReached(SERVER), false);
  limit.addLost(SERVER);
  assert.equal(limit.isReached(SERVER), true);
  nowMs = 3_600_001;
  assert.equal(limit.isReached(SERVER), false);
});
