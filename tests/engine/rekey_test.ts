import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";
import { findRekeyed, moveMarkers } from "../../src/engine/rekey.ts";
import { markerOf } from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { type Rows, testRows } from "../support/rows.ts";

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
