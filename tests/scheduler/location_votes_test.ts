import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import { RECEIVED_READ_MAX, type StoredLocationResult } from "../../src/domain/membership.ts";
import { LocationVotes } from "../../src/scheduler/located_runs.ts";
import type { ReportBatch } from "../../src/domain/reports.ts";
import type { AgentVote } from "../../src/scheduler/agent_reports.ts";
import { SharedReports } from "../../src/scheduler/shared_reports.ts";
import { resultOf } from "../state/records.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { connectToMemory, createMemoryServer } from "../../testing/simulation/memory_shared_store.ts";

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

const RESULT: ReportBatch["results"][number] = {
  sequence: 1,
  check: "web",
  condition: "ok",
  output: "",
  detail: "",
  performanceData: "",
  metrics: {},
  durationMs: 1,
  lateMs: null,
  ageMs: 0,
  nextRunInMs: 60_000,
  overdueInMs: 180_000,
};
const BATCH: ReportBatch = {
  version: 1,
  stream: "s",
  process: "1",
  waiting: 0,
  dropped: 0,
  results: [RESULT],
};

/** A member and its heartbeats, on a database that other members use, too. */
async function createMember() {
  const clock = createFakeClock();
  const server = await createMemoryServer(clock);
  const { store } = await connectToMemory({ server, clock, random: () => 0, exchange: () => null }, {
    access: "own",
  });
  const state = { runs: new Set(["agent nas", "web"]), receives: true, isPersisted: true };
  const events: string[] = [];
  const votes: AgentVote[] = [];
  const reports = new SharedReports({
    clock,
    store,
    repository: { flush: () => Promise.resolve(), isWritable: true },
    member: {
      runs: (check) => state.runs.has(check),
      get receives() {
        return state.receives;
      },
    },
    reports: {
      isRecording: true,
      checksOf: (_agent, { results }) => ({
        recorded: results.flatMap(({ check }) => check === "web" ? [check] : []),
        rejected: results.flatMap(({ check }) => check === "other" ? [check] : []),
      }),
      record: (_agent, { stream }, agoMs) => {
        events.push(`record ${stream} ${agoMs} of ${server.database.received("nas").length}`);
        return { accepted: new Set(["web"]), rejected: [], votes: votes.splice(0) };
      },
      voted: ({ check }) => void events.push(`voted ${check}`),
      hasRecorded: () => state.isPersisted,
      note: (_agent, _batch, { isLast }) => void events.push(`note ${isLast}`),
      hear: (agents) => void events.push(...[...agents].map((agent) => `hear ${agent}`)),
      forget: () => {},
      rejected: () => "",
    },
    onBug: (error) => assert.fail(String(error)),
  });
  const { database } = server;
  return {
    ...{ clock, database, state, reports, votes },
    /** Returns what happens after the next heartbeat. */
    heartbeat: async (): Promise<readonly string[]> => {
      const own = { host: "a", id: "1", config: "c", active: "c", location: null, looks: [] };
      reports.heard(database.beat(own, true, []).received);
      await clock.advance(1_000);
      return events.splice(0);
    },
    [Symbol.dispose]: () => database.close(),
  };
}

const keep = (stream: string): ReportBatch => ({ ...BATCH, stream });

Deno.test("SharedReports: a batch is deleted once it is persisted and another one follows, before that is recorded", async () => {
  using member = await createMember();
  const { database, state, heartbeat } = member;
  assert.deepEqual(await heartbeat(), []);
  state.isPersisted = false;
  database.keepReceived("nas", keep("one"));
  assert.deepEqual(await heartbeat(), ["hear nas", "record one 0 of 1"]);
  state.isPersisted = true;
  assert.deepEqual(await heartbeat(), ["record one 1000 of 1", "note true"]);
  assert.deepEqual(await heartbeat(), []);
  database.keepReceived("nas", keep("two"));
  database.keepReceived("nas", keep("three"));
  const recorded = ["record two 0 of 2", "note false", "record three 0 of 1", "note true"];
  assert.deepEqual(await heartbeat(), ["hear nas", ...recorded]);
  assert.equal(database.received("nas").length, 1);
});

Deno.test("SharedReports: what arrived before the start is recorded, and no sign of the agent", async () => {
  using member = await createMember();
  member.database.keepReceived("nas", BATCH);
  assert.deepEqual(await member.heartbeat(), ["record s 0 of 1", "note true"]);
  assert.deepEqual(await member.heartbeat(), []);
});

Deno.test("SharedReports: a member hears of an agent whose checks it does not run, and records nothing", async () => {
  using member = await createMember();
  const { database, state, heartbeat } = member;
  await heartbeat();
  for (const runs of [["web"], ["agent nas"]]) {
    state.runs = new Set(runs);
    database.keepReceived("nas", BATCH);
    assert.deepEqual(await heartbeat(), ["hear nas"], `${runs}`);
  }
  state.runs = new Set(["agent nas", "web"]);
  assert.equal((await heartbeat()).filter((event) => event.startsWith("record")).length, 2);
});

Deno.test("SharedReports: the age of a batch is not more than the time since all before it were recorded", async () => {
  using member = await createMember();
  const { clock, database, heartbeat } = member;
  database.keepReceived("nas", BATCH);
  await heartbeat();
  await clock.advance(30_000);
  database.keepReceived("nas", BATCH);
  database.step(3_600_000);
  assert.match((await heartbeat()).join(), /record s 31000 of/);
});

Deno.test("SharedReports: a member receives only while it shares the work, and records many batches at once", async () => {
  using member = await createMember();
  const { clock, database, state, reports, heartbeat } = member;
  const batch = { ...BATCH, results: [RESULT, { ...RESULT, sequence: 2, check: "other" }] };
  state.receives = false;
  assert.equal(await reports.receive("nas", batch), null);
  state.receives = true;
  assert.deepEqual(await reports.receive("nas", batch), { received: 2, rejected: ["other"] });
  await clock.advance(0);
  for (let count = 0; count < 2 * RECEIVED_READ_MAX; count++) database.keepReceived("nas", BATCH);
  const events = await heartbeat();
  assert.equal(events.filter((event) => event.startsWith("record")).length, 2 * RECEIVED_READ_MAX + 1);
  assert.equal(events.at(-1), "note true");
  assert.equal(database.received("nas").length, 1);
});

Deno.test("SharedReports: the last vote of an agent is saved once, however often it is read", async () => {
  using member = await createMember();
  const { database, votes, heartbeat } = member;
  const vote = (sequence: number): AgentVote => ({
    check: "site",
    location: "nas",
    result: resultOf({ condition: sequence === 1 ? "ok" : "critical", report: { stream: "s", sequence } }),
    trace: "",
    ageMs: 0,
  });
  const runs = () => database.locationResults(["site"]).map((row) => [row.runs, row.result.report?.sequence]);
  await heartbeat();
  const rounds = [
    { sequences: [1, 2], isNews: true, saved: [1, 2] },
    { sequences: [1, 2], isNews: false, saved: [1, 2] },
    { sequences: [2, 3], isNews: false, saved: [2, 3] },
  ];
  for (const { sequences, isNews, saved } of rounds) {
    votes.push(...sequences.map(vote));
    database.keepReceived("nas", BATCH);
    assert.equal((await heartbeat()).includes("voted site"), isNews, `${sequences}`);
    assert.deepEqual(runs(), [saved]);
  }
});
