import assert from "node:assert/strict";
import { RECEIVED_READ_MAX } from "../../src/domain/membership.ts";
import type { ReportBatch } from "../../src/domain/reports.ts";
import type { AgentVote } from "../../src/scheduler/agent_reports.ts";
import { SharedReports } from "../../src/scheduler/shared_reports.ts";
import { resultOf } from "../state/records.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { connectToMemory, createMemoryServer } from "../../testing/simulation/memory_shared_store.ts";

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
