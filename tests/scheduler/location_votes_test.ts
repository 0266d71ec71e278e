import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { StoredLocationResult } from "../../src/domain/membership.ts";
import { LocationVotes } from "../../src/scheduler/agreed_runs.ts";

/** Runs every minute with a timeout of 10 seconds, so that an `ok` counts for 100 seconds; each 10 seconds after a failure. */
const CHECK = {
  name: "web",
  schedule: { regularIntervalMs: 60_000, attentiveIntervalMs: 10_000 },
  timeoutMs: 10_000,
  locations: { from: ["fra", "nyc"], agree: 1 },
} as unknown as Check;

function row(
  location: string,
  runs: number,
  ageMs: number,
  condition: Condition = "ok",
): StoredLocationResult {
  const vote = { location, condition, output: "", durationMs: 0 };
  const result = {
    condition,
    output: "",
    detail: "",
    performanceData: "",
    metrics: {},
    startedAtMs: 0,
    durationMs: 0,
    lateMs: null,
    locations: [vote],
  };
  return { check: "web", location, runs, ageMs, result, trace: "" };
}

/** Returns the votes at a time, such as `fra ok, nyc no live member`. */
function count(
  votes: LocationVotes,
  nowMs: number,
  rows: readonly StoredLocationResult[],
  live = ["fra", "nyc"],
): string {
  const counted = votes.count(CHECK, rows, { isLive: (location) => live.includes(location), nowMs });
  return counted.votes.map(({ location, condition, output }) => `${location} ${condition ?? output}`).join(
    ", ",
  );
}

Deno.test("LocationVotes: a result counts for one and a half intervals and the timeout", () => {
  const votes = new LocationVotes();
  const rows = [row("fra", 7, 0, "critical"), row("nyc", 3, 40_000)];
  assert.equal(count(votes, 0, rows), "fra critical, nyc ok");
  assert.equal(count(votes, 25_000, rows), "fra critical, nyc ok");
  assert.equal(count(votes, 26_000, rows), "fra has not reported for 26 s, nyc ok");
  assert.equal(count(votes, 60_000, rows, ["nyc"]), "fra no live member, has not reported for 1 min, nyc ok");
  assert.equal(count(votes, 60_001, [row("fra", 8, 0)], ["fra"]), "fra ok, nyc no live member");
  assert.equal(count(new LocationVotes(), 0, [row("fra", 8, 0)]), "fra ok, nyc no result yet");
});

Deno.test("LocationVotes: a step of the database's clock neither expires nor extends a result", () => {
  const HOUR_MS = 3_600_000;
  const expired = "fra ok, nyc has not reported for 1 min 41 s";
  const forward = new LocationVotes();
  assert.equal(count(forward, 0, [row("fra", 7, 0), row("nyc", 3, 1000)]), "fra ok, nyc ok");
  const after = [row("fra", 8, HOUR_MS), row("nyc", 3, HOUR_MS)];
  assert.equal(count(forward, 60_000, after), "fra ok, nyc ok");
  assert.equal(count(forward, 100_000, after), expired);
  const back = new LocationVotes();
  assert.equal(count(back, 0, [row("fra", 7, 0), row("nyc", 3, 1000)]), "fra ok, nyc ok");
  assert.equal(count(back, 100_000, [row("fra", 8, 0), row("nyc", 3, 0)]), expired);
});

Deno.test("LocationVotes: waits for the first result of a location until it is overdue", () => {
  const votes = new LocationVotes();
  const isIncomplete = (nowMs: number, live: boolean): boolean =>
    votes.count(CHECK, [row("fra", 7, 0)], { isLive: () => live, nowMs }).isIncomplete;
  assert.equal(isIncomplete(0, true), true);
  assert.equal(isIncomplete(0, false), false);
  assert.equal(isIncomplete(180_000, true), true);
  assert.equal(isIncomplete(180_001, true), false);
});
