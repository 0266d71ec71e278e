import assert from "node:assert/strict";
import { newRound, nextBatch } from "../../src/alerting/batching.ts";
import type { QueuedNotification } from "../../src/domain/outbox.ts";
import { notificationOf, NOW_MS, queuedOf } from "../state/records.ts";

function queued(
  check: string,
  sequence: number,
  options: Partial<QueuedNotification> = {},
): QueuedNotification {
  return queuedOf(`${check} ${sequence}`, sequence, {
    notification: notificationOf(check),
    messageId: null,
    ...options,
  });
}

function next(notifications: readonly QueuedNotification[], tried: readonly string[] = []): unknown {
  const options = { batches: true, isDigest: false, nowMs: NOW_MS, isExcluded: () => false };
  return nextBatch(notifications, { ...newRound(0), tried: new Set(tried) }, options)?.map(({ id }) => id) ??
    null;
}

Deno.test("nextBatch() leaves out what follows a notification of the same check that was just attempted", () => {
  const web = [queued("web", 1), queued("web", 3)];
  assert.deepEqual(next([...web, queued("mail", 2)], ["web 1"]), ["mail 2"]);
  assert.equal(next(web, ["web 1"]), null);
});

Deno.test("nextBatch() sends new notifications before those that were rejected", () => {
  const rejected = queued("web", 1, { state: "rejected", nextAttemptAtMs: NOW_MS });
  assert.deepEqual(next([rejected, queued("mail", 2)]), ["mail 2"]);
  assert.deepEqual(next([rejected]), ["web 1"]);
});
