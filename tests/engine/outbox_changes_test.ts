import assert from "node:assert/strict";
import { campaign } from "../../testing/seed.ts";
import fc from "../support/property.ts";
import { CONDITIONS } from "../../src/domain/condition.ts";
import type { Notification, OutboxChange } from "../../src/domain/outbox.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { countOf, deliveryOf, markerOf, notificationOf, queuedOf } from "../state/records.ts";
import type { Channel } from "../../src/domain/channel.ts";
import { type LastNotified, lastNotified, queueFor } from "../../src/engine/queued_notifications.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { joinChanges, markerKey, markersAfter, markersOfDropped } from "../../src/engine/outbox_changes.ts";
import type { Check } from "../../src/domain/check.ts";
import { findRekeyed, moveMarkers } from "../../src/engine/rekey.ts";
import { testCheck } from "../support/checks.ts";
import { ConfiguredChannels } from "../../src/engine/configured_channels.ts";
import type { MessageLimit } from "../../src/domain/limits.ts";

const NAMES = ["a", "b", "c"] as const;

const name = fc.constantFrom(...NAMES);
const change: fc.Arbitrary<OutboxChange> = fc.record({
  changed: fc.array(fc.tuple(name, fc.nat(9)).map(([id, attempts]) => queuedOf(id, 1, { attempts }))),
  removed: fc.array(name),
  markers: fc.array(
    fc.tuple(name, name, fc.constantFrom(...CONDITIONS))
      .map(([check, channelKey, condition]) => markerOf(check, { channelKey, condition })),
  ),
  cleared: fc.array(fc.record({ check: name, channelKey: name })),
  counted: fc.array(fc.tuple(name, fc.nat(9)).map(([key, sent]) => countOf(key, { sent }))),
  logged: fc.array(fc.tuple(name, fc.nat(9)).map(([check, atMs]) => deliveryOf(check, { atMs }))),
}, { requiredKeys: ["changed", "removed", "markers", "cleared"] });

Deno.test("joinChanges() joins several changes into an equivalent one", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 6 }), async (changes) => {
      const [apart, together] = [await openInMemoryStore(), await openInMemoryStore()];
      for (const one of changes) await apart.changeOutbox(one);
      await together.changeOutbox(joinChanges(changes));
      const sorted = async (store: typeof apart): Promise<unknown> => {
        const { notifications: rows, markers: notified, counts } = await store.outbox();
        const texts = (some: readonly unknown[]): readonly string[] =>
          some.map((one) => JSON.stringify(one)).sort();
        const deliveries = await store.deliveries({ sinceMs: -Infinity, untilMs: Infinity });
        return [texts(rows), texts(notified), texts(counts), texts(deliveries)];
      };
      assert.deepEqual(await sorted(together), await sorted(apart));
    }),
    { numRuns: campaign(300, 12) },
  );
});

const CHANNEL: Channel = { kind: "file_touch", key: "one", parameters: { path: "/run/one" } };

/** Queues for two channels, which get short and long texts, and were last notified of critical. */
function queueForBoth(
  notification: Notification,
  channel = CHANNEL,
  isPending = false,
): readonly (readonly [string, Notification])[] {
  return queueFor(notification, {
    channels: [channel, { ...channel, key: "two" }, channel],
    nameOf: ({ key }) => key,
    before: "ok",
    lastNotifiedOf: () => ({ conditions: ["critical"], isPending }),
    isLeftOut: () => false,
    textMaxOf: ({ key }) => key === "one" ? { output: 3, detail: 0 } : { output: 2000, detail: 10 },
    sequence: 7,
    nowMs: 1_800_000_000_000,
  }).map((row) => [`${row.channelName} ${row.sequence}`, row.notification]);
}

Deno.test("queueFor() keeps no more of texts than a channel sends, once for identical channels", () => {
  const long = { output: "o".repeat(1000), detail: "d".repeat(1000) };
  const rows = queueForBoth(notificationOf("web", { event: "change", condition: "warning", ...long }));
  assert.deepEqual(rows.map(([name, { output, detail }]) => [name, output, detail]), [
    ["one 7", "oo…", ""],
    ["two 8", long.output, "ddddddddd…"],
  ]);
});

Deno.test("queueFor() queues a reminder unless one is pending, and a recovery whatever the hours are", () => {
  const reminder = notificationOf("web", { event: "reminder", condition: "critical" });
  assert.equal(queueForBoth(reminder).length, 2);
  assert.equal(queueForBoth(reminder, CHANNEL, true).length, 0);
  const closed = { ...CHANNEL, hours: [{ fromMinute: 0, toMinute: 60, timeZone: "UTC" }] };
  assert.equal(queueForBoth(reminder, closed).length, 0);
  assert.equal(queueForBoth(notificationOf("web", { event: "recovery", condition: "ok" }), closed).length, 2);
});

Deno.test("queueFor() names no dependents in a recovery, even if the check is not ok", () => {
  const change = notificationOf("web", { event: "change", condition: "warning", dependents: 14 });
  const [[, recovery] = []] = queueForBoth(change, { ...CHANNEL, conditions: ["critical"] });
  assert.deepEqual([recovery?.event, recovery?.dependents], ["recovery", 0]);
});

Deno.test("lastNotified() returns the pending notification, else the delivered one, else ok", async (t) => {
  const pending = queuedOf("a", 1, { notification: notificationOf("web", { condition: "warning" }) });
  const critical = markerOf("web", { condition: "critical" });
  type Row = readonly [...Parameters<typeof lastNotified>, LastNotified["conditions"]];
  const table: Readonly<Record<string, Row>> = {
    "nothing": [null, null, ["ok"]],
    "a delivered notification": [null, critical, ["critical"]],
    "one that may have arrived": [null, { ...critical, certain: false }, ["critical", "ok"]],
    "a pending one after a delivered one": [pending, critical, ["warning"]],
  };
  await testRows(t, table, ([queued, marker, conditions]) => {
    assert.deepEqual(lastNotified(queued, marker), { conditions, isPending: queued !== null });
  });
});

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

/** `f…` touches a file, `c…` is a console; the key is the text, and a text in quotes is a name. */
function channel(text: string): Channel {
  const name = /^"(.*)"$/.exec(text)?.[1];
  if (name !== undefined) return { kind: "file_touch", key: text, name, parameters: { path: `/${name}` } };
  return text.startsWith("c")
    ? { kind: "console", key: text, parameters: {} }
    : { kind: "file_touch", key: text, parameters: { path: `/${text}` } };
}

/** Checks from `web: f1 f2, db: f1`. */
function checks(text: string): readonly Check[] {
  return text.split(", ").map((one) => {
    const [name = "", keys = ""] = one.split(":");
    const notifications = keys.trim().split(" ").filter((key) => key !== "").map(channel);
    return { ...testCheck("ok", { name }), notifications };
  });
}

Deno.test("findRekeyed() returns edited channels", async (t) => {
  const table: Rows<[before: string, after: string, expected?: Readonly<Record<string, string>>]> = {
    "nothing changed": ["web: f1 f2", "web: f1 f2"],
    "one edited for all checks": ["web: c1 f1, db: f1", "web: c1 f2, db: f2", {
      "f1 web": "f2",
      "f1 db": "f2",
    }],
    "two edited at once": ["web: f1 f2", "web: f3 f4", { "f1 web": "f3", "f2 web": "f4" }],
    "another kind": ["web: f1", "web: c1"],
    "at another index": ["web: c1 f1", "web: f2 c1"],
    "still used by another check": ["web: f1, db: f1", "web: f2, db: f1"],
    "removed": ["web: f1 f2", "web: f1"],
    "in the place of a removed one": ["web: f1 f2", "web: f2"],
    "both edited to the same": ["web: f1 f2", "web: f3 f3", { "f1 web": "f3" }],
    "a named channel": ['web: "a"', 'web: "b"'],
    "a channel that was named": ["web: f1", 'web: "a"'],
    "a channel that lost its name": ['web: "a"', "web: f1"],
    "an unnamed one behind a named one": ['web: "a" f1', 'web: "b" f2', { "f1 web": "f2" }],
    "a new check": ["web: f1", "web: f1, db: f2"],
  };
  await testRows(t, table, ([before, after, expected = {}]) => {
    const rekeyed = findRekeyed(checks(before), checks(after), { nameOf: ({ key }) => `channel ${key}` });
    assert.deepEqual(
      Object.fromEntries([...rekeyed].map(([key, { channelKey }]) => [key, channelKey])),
      expected,
    );
    for (const { channelKey, channelName } of rekeyed.values()) {
      assert.equal(channelName, `channel ${channelKey}`);
    }
  });
});

Deno.test("moveMarkers() makes markers uncertain of which the check has lost the channel, or clears them", () => {
  const [kept, lost, old] = ["kept", "lost", "old"].map((check) => markerOf(check, { certain: true }));
  assert.ok(kept !== undefined && lost !== undefined && old !== undefined);
  const moved = moveMarkers([kept, lost, old], new Map(), {
    isUnwanted: ({ check }) => check !== "kept",
    isObsolete: ({ check }) => check === "old",
  });
  assert.deepEqual(moved, { markers: [{ ...lost, certain: false }], cleared: [old] });
});

const HOUR = 3_600_000;
const PER_HOUR: MessageLimit = { count: 20, windowMs: HOUR };
const PER_DAY: MessageLimit = { count: 100, windowMs: 24 * HOUR };

Deno.test("targetOf() has the strictest limit of a channel that several checks list", () => {
  const cases: readonly (readonly [readonly (MessageLimit | undefined)[], MessageLimit | undefined])[] = [
    [[undefined, undefined], undefined],
    [[undefined, PER_HOUR], PER_HOUR],
    [[PER_HOUR, undefined], PER_HOUR],
    [[PER_HOUR, PER_DAY], PER_DAY],
    [[PER_DAY, PER_HOUR, undefined], PER_DAY],
  ];
  for (const [limits, expected] of cases) {
    const users = limits.map((atMost, index) => {
      const channel: Channel = { kind: "console", parameters: {}, key: "one", ...atMost && { atMost } };
      return { name: `check ${index}`, notifications: [channel] };
    });
    const channels = new ConfiguredChannels({ users, named: [], redact: (text) => text });
    assert.deepEqual(channels.targetOf("one")?.channel.atMost, expected);
  }
});

Deno.test("targetOf() drops nothing that is late because of a limit", () => {
  const desktop: Channel = { kind: "desktop_notification", parameters: {}, key: "one" };
  const staleOf = (channel: Channel) =>
    new ConfiguredChannels({
      users: [{ name: "check", notifications: [channel] }],
      named: [],
      redact: (text) => text,
    }).targetOf("one")?.staleAfterMs;
  assert.equal(typeof staleOf(desktop), "number");
  assert.equal(staleOf({ ...desktop, atMost: PER_HOUR }), null);
});
