import assert from "node:assert/strict";
import type { Channel, ChannelKind } from "../src/domain/channel.ts";
import type { ChannelLists } from "../src/channel_lists.ts";
import { toldKey } from "../src/outbox_message.ts";
import { findSuccessors } from "../src/successors.ts";
import { testCheck } from "./support/checks.ts";

const KINDS: Readonly<Record<string, ChannelKind>> = { m: "email", w: "webhook", c: "command" };

/** A channel whose key begins with the letter of its kind. */
function channel(key: string): Channel {
  return { kind: KINDS[key[0] ?? ""] ?? "console", key, parameters: {} } as unknown as Channel;
}

interface Case {
  /** What the check had; `null`: nobody knows. */
  readonly had: readonly string[] | null;
  /** What knows something of its problem. */
  readonly known: readonly string[];
  readonly has: readonly string[];
  /** What takes the place of each that is gone; `?` before those that were there before. */
  readonly expected: Readonly<Record<string, string>>;
}

const CASES: Readonly<Record<string, Case>> = {
  "a channel that was changed": { had: ["m1"], known: ["m1"], has: ["m2"], expected: { m1: "m2" } },
  "one that stays, and knows nothing": {
    had: ["d1", "m1"],
    known: ["m1"],
    has: ["d1", "m2"],
    expected: { m1: "m2" },
  },
  "two of a kind, in the order of the document and not of what they know": {
    had: ["m1", "m2"],
    known: ["m2", "m1"],
    has: ["m3", "m4"],
    expected: { m1: "m3", m2: "m4" },
  },
  "one that knows nothing keeps the place of its own": {
    had: ["m1", "m2"],
    known: ["m2"],
    has: ["m3", "m4"],
    expected: { m1: "m3", m2: "m4" },
  },
  "kinds first": {
    had: ["m1", "w1"],
    known: ["m1", "w1"],
    has: ["w2", "m2"],
    expected: { m1: "m2", w1: "w2" },
  },
  "another kind, where there is none of its own": {
    had: ["m1"],
    known: ["m1"],
    has: ["w2"],
    expected: { m1: "w2" },
  },
  "a new one of another kind beside it": {
    had: ["m1"],
    known: ["m1"],
    has: ["w2", "m2"],
    expected: { m1: "m2" },
  },
  "two new ones of its kind: nobody knows which": {
    had: ["m1"],
    known: ["m1"],
    has: ["m2", "m3"],
    expected: { m1: "m2 m3" },
  },
  "two in the place of one, of which one is of its kind": {
    had: ["m1", "w1"],
    known: ["m1", "w1"],
    has: ["m2"],
    expected: { m1: "m2", w1: "m2" },
  },
  "nothing new: whatever is there": {
    had: ["m1", "w1"],
    known: ["m1", "w1"],
    has: ["w1"],
    expected: { m1: "?w1" },
  },
  "the same document again": { had: ["m2"], known: ["m1", "m2"], has: ["m2"], expected: { m1: "?m2" } },
  "nothing left": { had: ["m1"], known: ["m1"], has: [], expected: { m1: "?" } },
  "what it had no more before": {
    had: ["w1"],
    known: ["m1", "w1"],
    has: ["w1", "m2"],
    expected: { m1: "?w1 m2" },
  },
  "nothing known": { had: ["m1"], known: [], has: ["m2"], expected: {} },
  "a state of before: what knows nothing is new": {
    had: null,
    known: ["m1", "w1"],
    has: ["w1", "m2"],
    expected: { m1: "m2" },
  },
};

Deno.test("findSuccessors() answers what takes the place of channels that a check has no more", async (t) => {
  for (const [name, { had, known, has, expected }] of Object.entries(CASES)) {
    await t.step(name, () => {
      const check = { ...testCheck("ok", { name: "web" }), notifications: has.map(channel) };
      const former: ChannelLists = new Map(
        had === null ? [] : [["web", had.map(channel).map(({ key, kind }) => ({ key, kind }))]],
      );
      const found = findSuccessors([check], {
        known: known.map((channelKey) => ({ check: "web", channelKey })),
        former,
        nameOf: ({ key }) => `the channel ${key}`,
      });
      const told = Object.fromEntries(
        [...found].map(([key, { channels, areNew }]) => [
          key,
          `${areNew ? "" : "?"}${channels.map((one) => one.channelKey).join(" ")}`,
        ]),
      );
      const wanted = Object.entries(expected).map(([key, text]) => [toldKey("web", key), text]);
      assert.deepEqual(told, Object.fromEntries(wanted));
    });
  }
});
