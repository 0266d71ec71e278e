import assert from "node:assert/strict";
import { markerKey, markersAfter, markersOfDropped } from "../../src/engine/delivery_markers.ts";
import type { Notification } from "../../src/domain/outbox.ts";
import { markerOf, notificationOf, queuedOf } from "../state/records.ts";

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

Deno.test("markersAfter() keeps a change in the thread of its problem, and clears the marker with the recovery", () => {
  const known = markerOf("web", { messageId: "first", condition: "warning" });
  const markers = new Map([[markerKey("web", known.channelKey), known]]);
  const change = queuedOf("id", 1, { notification: notificationOf("web") });
  const { markers: [marker] } = markersAfter([change], "second", markers);
  assert.deepEqual([marker?.messageId, marker?.condition], ["first", "critical"]);
  const recovery = queuedOf("id", 2, {
    notification: notificationOf("web", { event: "recovery", condition: "ok" }),
  });
  const { markers: left, cleared } = markersAfter([change, recovery], "third", markers);
  assert.deepEqual([left, cleared], [[], [{ check: "web", channelKey: known.channelKey }]]);
});
