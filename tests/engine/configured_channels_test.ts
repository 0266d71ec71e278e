import assert from "node:assert/strict";
import { ConfiguredChannels } from "../../src/engine/configured_channels.ts";
import type { Channel } from "../../src/domain/channel.ts";
import type { MessageLimit } from "../../src/domain/limits.ts";

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
