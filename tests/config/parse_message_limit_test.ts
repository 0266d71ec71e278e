import assert from "node:assert/strict";
import { parseMessageLimit } from "../../src/config/parse_message_limit.ts";

const MINUTE = 60_000;

Deno.test("parseMessageLimit() accepts 1 to 1000 per minute, hour or day", () => {
  const cases = [
    ["1 per minute", { count: 1, windowMs: MINUTE }],
    ["20 per hour", { count: 20, windowMs: 60 * MINUTE }],
    [" 20  Per  Hour ", { count: 20, windowMs: 60 * MINUTE }],
    ["1000 a day", { count: 1000, windowMs: 24 * 60 * MINUTE }],
    ...[
      "20",
      "0 per hour",
      "1001 per hour",
      "20 per fortnight",
      "20 per hours",
      "-1 per day",
      "1.5 per day",
      "",
    ]
      .map((text) => [text, null] as const),
  ] as const;
  for (const [text, expected] of cases) assert.deepEqual(parseMessageLimit(text), expected, text);
});
