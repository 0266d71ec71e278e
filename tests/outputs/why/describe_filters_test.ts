import assert from "node:assert/strict";
import { describeFilters } from "../../../src/outputs/why/describe_why.ts";
import { type Rows, testRows } from "../../support/rows.ts";

const DAY = { fromMinute: 8 * 60, toMinute: 18 * 60 + 30, timeZone: "Europe/Berlin" };
const CRON = { expression: "0 22 * * *", timeZone: "UTC", after: (afterMs: number) => afterMs };

Deno.test("describeFilters() names each filter of a channel", async (t) => {
  const rows: Rows<[filters: Parameters<typeof describeFilters>[0], text: string]> = {
    "none": [{}, "everything"],
    "conditions": [{ conditions: ["critical", "unknown"] }, "only critical, unknown"],
    "events": [{ events: ["problem", "recovery"] }, "only problems, recoveries"],
    "after": [{ afterMs: 1_800_000 }, "problems after 30 min"],
    "hours": [
      { hours: [{ ...DAY, days: ["mon", "tue"] }] },
      "08:00 to 18:30 mon tue Europe/Berlin, else later",
    ],
    "hours of the year, or never": [
      {
        hours: [{ ...DAY, daysOfMonth: [{ from: 1, to: 5 }, { from: -1, to: -1 }], months: ["jan"] }],
        outsideHours: "never",
      },
      "08:00 to 18:30 day 1 to 5, -1 of the month jan Europe/Berlin, else never",
    ],
    "hours by cron, or once": [
      { hours: [{ times: CRON, durationMs: 7_200_000 }, { fromMs: 0, untilMs: 60_000 }] },
      "for 2 h from 0 22 * * * or from 1970-01-01T00:00:00.000Z until 1970-01-01T00:01:00.000Z, else later",
    ],
    "a limit and a fallback": [
      { atMost: { count: 1, windowMs: 3_600_000 }, fallback: "mail" },
      "at most 1 message in 1 h; mail if it fails",
    ],
    "a group": [{ group: { by: "tag", waitMs: 30_000 } }, "one message for each first tag after 30 s"],
    "several": [{ conditions: ["critical"], afterMs: 60_000 }, "only critical; problems after 1 min"],
  };
  await testRows(t, rows, ([filters, text]) => assert.equal(describeFilters(filters), text));
});
