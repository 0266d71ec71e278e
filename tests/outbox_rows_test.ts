import assert from "node:assert/strict";
import type { Channel } from "../src/domain/channel.ts";
import type { ReportEvent } from "../src/domain/condition_state.ts";
import type { Report } from "../src/domain/report.ts";
import { freshRow, type RowOptions, rowsFor } from "../src/outbox_rows.ts";

const NOW = 1_800_000_000_000;

function report(event: ReportEvent = "problem"): Report {
  return {
    id: "r1",
    check: "web",
    title: null,
    event,
    condition: event === "recovery" ? "ok" : "critical",
    previous: event === "recovery" ? "critical" : "ok",
    output: "down",
    detail: "",
    problemBeganAtMs: NOW - 1000,
    decidedAtMs: NOW - 10,
    occurrences: 3,
    nextRunAtMs: NOW + 1000,
    hostName: "host",
  };
}

function channel(key: string): Channel {
  return { kind: "file_touch", key, parameters: { path: `/run/${key}` } };
}

const OPTIONS: RowOptions = {
  channels: [channel("one"), channel("two")],
  nameOf: (channel) => `${channel.kind} ${channel.key}`,
  knowsProblem: () => true,
  lastOf: () => null,
  sequence: 7,
  nowMs: NOW,
};

Deno.test("rowsFor() makes a row for each channel, in the document's order", () => {
  assert.deepEqual(rowsFor(report(), OPTIONS), [
    {
      id: "r1-one",
      report: report(),
      channelKey: "one",
      channelName: "file_touch one",
      sequence: 7,
      state: "waiting",
      attempts: 0,
      nextAttemptAtMs: NOW,
      lastFailure: null,
      firstFailedAtMs: null,
      messageId: null,
    },
    {
      id: "r1-two",
      report: report(),
      channelKey: "two",
      channelName: "file_touch two",
      sequence: 8,
      state: "waiting",
      attempts: 0,
      nextAttemptAtMs: NOW,
      lastFailure: null,
      firstFailedAtMs: null,
      messageId: null,
    },
  ]);
});

Deno.test("rowsFor() makes one row for channels that are the same", () => {
  const rows = rowsFor(report(), { ...OPTIONS, channels: [channel("one"), channel("two"), channel("one")] });
  assert.deepEqual(rows.map(({ id, sequence }) => [id, sequence]), [["r1-one", 7], ["r1-two", 8]]);
});

Deno.test("rowsFor() makes nothing without channels", () => {
  assert.deepEqual(rowsFor(report(), { ...OPTIONS, channels: [] }), []);
});

Deno.test("rowsFor() sends a recovery only where its problem went, and all else everywhere", async (t) => {
  const rows: Readonly<Record<ReportEvent, readonly string[]>> = {
    problem: ["one", "two"],
    change: ["one", "two"],
    reminder: ["one", "two"],
    recovery: ["two"],
  };
  for (const [event, expected] of Object.entries(rows)) {
    await t.step(event, () => {
      const made = rowsFor(report(event as ReportEvent), {
        ...OPTIONS,
        knowsProblem: (channel) => channel.key === "two",
      });
      assert.deepEqual(made.map((row) => row.channelKey), expected);
      // No number is left out for a row that is not made.
      assert.deepEqual(made.map((row) => row.sequence), expected.map((_, index) => 7 + index));
    });
  }
});

Deno.test("rowsFor() sends a reminder only where nothing waits that says the same", async (t) => {
  const problem = report("problem");
  const rows: Readonly<Record<string, readonly [waits: Report | null, count: number]>> = {
    "nothing": [null, 2],
    "its problem": [problem, 1],
    "a reminder": [report("reminder"), 1],
    "another condition": [{ ...problem, condition: "warning" }, 2],
    "what was before": [report("recovery"), 2],
  };
  for (const [name, [waits, count]] of Object.entries(rows)) {
    await t.step(name, () => {
      const last = waits === null
        ? null
        : freshRow(waits, { channelKey: "one", channelName: "one", sequence: 1, nowMs: NOW });
      const made = rowsFor(report("reminder"), {
        ...OPTIONS,
        lastOf: (channel) => channel.key === "one" ? last : null,
      });
      assert.deepEqual(made.map((row) => row.channelKey), ["one", "two"].slice(-count));
    });
  }
});
