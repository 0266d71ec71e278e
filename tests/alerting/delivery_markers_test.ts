import assert from "node:assert/strict";
import { markersOfDropped } from "../../src/alerting/delivery_markers.ts";
import type { Notification } from "../../src/domain/notification.ts";
import { notificationOf, queuedOf } from "../state/records.ts";

Deno.test("markersOfDropped() marks dropped notifications that may have arrived, but recoveries", () => {
  const conditionsOf = (event: Notification["event"], messageId: string | null): readonly string[] => {
    const condition = event === "recovery" ? "ok" : "critical";
    const queued = queuedOf("id", 1, {
      notification: notificationOf("web", { event, condition }),
      messageId,
    });
    return markersOfDropped([queued]).map((marker) => `${marker.condition} ${marker.certain}`);
  };
  for (const event of ["problem", "change", "reminder"] as const) {
    assert.deepEqual(conditionsOf(event, "id"), ["critical false"], event);
    assert.deepEqual(conditionsOf(event, null), [], `${event}, not attempted`);
  }
  assert.deepEqual(conditionsOf("recovery", "id"), []);
});
