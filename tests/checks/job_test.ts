import { checkOf, contextOf } from "../../testing/builders.ts";
import assert from "node:assert/strict";
import { jobKind } from "../../src/checks/job.ts";
import type { JobCheck } from "../../src/domain/check.ts";
import type { JobParameters } from "../../src/domain/generated/config.ts";
import type { JobEnd, JobLog } from "../../src/domain/job_runs.ts";
import type { CheckResult } from "../../src/domain/result.ts";
import { type Store, StoreError } from "../../src/domain/store.ts";
import { openInMemoryStore } from "../../src/state/sqlite/in_memory_store.ts";
import { timeText } from "../../src/shared/local_time.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { testRows } from "../support/rows.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** One thing that happens to a job; times are counted from when the check was first seen. */
type Event =
  | { readonly atMs: number; readonly begins: string }
  | { readonly atMs: number; readonly ends: string; readonly end?: Partial<JobEnd> };

type Row = readonly [lookAtMs: number, events: readonly Event[], expected: string, Partial<JobParameters>?];

/** A run of 35 s that ended well. */
const ran = (atMs: number, id = "a", end: Partial<JobEnd> = {}): readonly Event[] => [
  { atMs: atMs - 35 * SECOND, begins: id },
  { atMs, ends: id, end: { durationMs: 35 * SECOND, ...end } },
];

const ROWS: Readonly<Record<string, Row>> = {
  "a check that was just written": [0, [], "unknown: no run yet, the first one is expected by {in 1 d}"],
  "no run in time": [
    DAY + 10 * MINUTE + 1,
    [],
    "critical: overdue: no run has ended since the check began at {1 d 10 min ago}, expected every 1 d",
  ],
  "the first run is under way": [
    2 * HOUR,
    [{ atMs: HOUR, begins: "a" }],
    "unknown: running since {1 h ago}, none has ended yet",
  ],
  "a run that ended well, and the next one is under way": [3 * HOUR, [...ran(HOUR), {
    atMs: 2 * HOUR,
    begins: "b",
  }], "ok: ended at {2 h ago} with exit code 0 after 35 s; running since {1 h ago}"],
  "runs that overlap": [3 * HOUR, [...ran(HOUR), { atMs: 2 * HOUR, begins: "b" }, {
    atMs: 2.5 * HOUR,
    begins: "c",
  }], "ok: ended at {2 h ago} with exit code 0 after 35 s; 2 runs in progress, the longest since {1 h ago}"],
  "the older of two that overlap fails last": [4 * HOUR, [
    { atMs: HOUR, begins: "a" },
    ...ran(2 * HOUR, "b"),
    { atMs: 3 * HOUR, ends: "a", end: { exitCode: 2, durationMs: 2 * HOUR } },
  ], "critical: failed at {1 h ago} with exit code 2 after 2 h: last line"],
  "a run that died without a word, and a later one that ended well": [
    DAY + HOUR,
    [{ atMs: HOUR, begins: "a" }, ...ran(DAY, "b")],
    "ok: ended at {1 h ago} with exit code 0 after 35 s",
    { durationMaxMs: HOUR },
  ],
  "a run that failed with a very long line": [
    2 * HOUR,
    ran(HOUR, "a", { exitCode: 3, output: "x".repeat(5000) }),
    `critical: failed at {1 h ago} with exit code 3 after 35 s: ${"x".repeat(299)}…`,
  ],
  "a run that a signal ended": [
    2 * HOUR,
    ran(HOUR, "a", { how: "signalled", exitCode: 137, reason: "SIGKILL" }),
    "critical: failed at {1 h ago}, terminated by SIGKILL after 35 s: last line",
  ],
  "a command that could not be started": [
    2 * HOUR,
    ran(HOUR, "a", { how: "not_started", exitCode: 127, reason: "no such file", output: "" }),
    "critical: failed at {1 h ago}, cannot start: no such file",
  ],
  "a success that was noted by hand": [2 * HOUR, [{
    atMs: HOUR,
    ends: "a",
    end: { how: "noted", durationMs: null, output: "" },
  }], "ok: recorded as successful at {1 h ago}"],
  "a failure that was noted by hand": [
    2 * HOUR,
    [{ atMs: HOUR, ends: "a", end: { how: "noted", exitCode: 1, durationMs: null, output: "" } }],
    "warning: failed at {1 h ago}, recorded as failed",
    { conditionOnFailure: "warning" },
  ],
  "in time to the millisecond": [
    HOUR + DAY + 10 * MINUTE,
    ran(HOUR),
    "ok: ended at {1 d 10 min ago} with exit code 0 after 35 s",
  ],
  "overdue": [27 * HOUR, ran(HOUR), "critical: overdue: last ended at {1 d 2 h ago}, expected every 1 d"],
  "overdue as a warning, after a long grace": [
    HOUR + 2 * DAY + 1,
    ran(HOUR),
    "warning: overdue: last ended at {2 d ago}, expected every 1 d",
    { graceMs: DAY, conditionOnOverdue: "warning" },
  ],
  "overdue, since a run died or hangs": [
    27 * HOUR,
    [...ran(HOUR), { atMs: DAY, begins: "b" }],
    "critical: overdue: last ended at {1 d 2 h ago}, expected every 1 d, one started at {3 h ago} and is still running or died",
  ],
  "failed and overdue": [
    27 * HOUR,
    ran(HOUR, "a", { exitCode: 3 }),
    "critical: failed at {1 d 2 h ago} with exit code 3 after 35 s: last line; " +
    "overdue: last ended at {1 d 2 h ago}, expected every 1 d",
    { conditionOnFailure: "warning" },
  ],
  "slightly too long a run": [
    3 * HOUR + 1,
    [{ atMs: HOUR, begins: "a" }],
    "warning: running since {2 h ago}, at most 2 h expected, unless it died",
    { durationMaxMs: 2 * HOUR, conditionOnLongRun: "warning" },
  ],
  "a run of the maximum duration": [
    3 * HOUR,
    [{ atMs: HOUR, begins: "a" }],
    "unknown: running since {2 h ago}, none has ended yet",
    { durationMaxMs: 2 * HOUR },
  ],
  "a run that took too long": [
    6 * HOUR,
    ran(5 * HOUR, "a", { durationMs: 3 * HOUR }),
    "critical: the run that ended at {1 h ago} took 3 h, at most 2 h expected",
    { durationMaxMs: 2 * HOUR },
  ],
  "an end that is a little in the future": [
    HOUR,
    ran(HOUR + MINUTE),
    "ok: ended at {in 1 min} with exit code 0 after 35 s",
  ],
  "an end in the future, since the clock was set back": [
    HOUR,
    ran(300 * DAY),
    "unknown: last ended at {in 299 d 23 h}, in the future, so the clock was set back; wait for the next run",
  ],
  "an end in the future, and a run since": [
    3 * HOUR,
    [...ran(300 * DAY), ...ran(2 * HOUR, "b")],
    "ok: ended at {1 h ago} with exit code 0 after 35 s",
  ],
  "a start in the future": [
    HOUR,
    [{ atMs: 300 * DAY, begins: "a" }],
    "unknown: running since {in 299 d 23 h}, none has ended yet",
    { durationMaxMs: HOUR },
  ],
};

Deno.test("observeJob() distinguishes failed, overdue and overlong jobs", async (t) => {
  await testRows(t, ROWS, async ([lookAtMs, events, expected, parameters]) => {
    const store = await openInMemoryStore();
    const startMs = createFakeClock().wallMs();
    await store.job("backup", startMs);
    for (const event of events) await happen(store, event, startMs);
    const { condition, output, awaits } = await look(store, lookAtMs, parameters);
    assert.equal(`${condition}: ${output}`, withTimes(expected, startMs + lookAtMs));
    assert.equal(awaits, /^unknown: (no run yet|running since)/.test(expected) ? "job" : undefined);
  });
});

const UNITS_MS: Readonly<Record<string, number>> = { d: 24 * HOUR, h: HOUR, min: MINUTE, s: SECOND };

/** Returns an expected output with the times of such as `{1 h ago}` and `{in 1 h}`. */
function withTimes(expected: string, nowMs: number): string {
  return expected.replaceAll(/\{(in )?([^}]*?)(?: ago)?\}/g, (_, isAhead, span: string) => {
    const ms = [...span.matchAll(/(\d+) (\w+)/g)].reduce(
      (sum, [, count, unit = ""]) => sum + Number(count) * (UNITS_MS[unit] ?? NaN),
      0,
    );
    return timeText(isAhead === undefined ? nowMs - ms : nowMs + ms);
  });
}

Deno.test("observeJob() has the last lines as detail, and measures", async () => {
  const store = await openInMemoryStore();
  const startMs = createFakeClock().wallMs();
  await store.job("backup", startMs);
  assert.deepEqual((await look(store, 0)).metrics, {});
  for (const event of ran(HOUR)) await happen(store, event, startMs);
  const { detail, metrics, performanceData } = await look(store, HOUR + 90 * SECOND);
  assert.equal(detail, "first line\nlast line\n");
  assert.deepEqual(metrics, { exit_code: 0, duration_seconds: 35, age_seconds: 90 });
  assert.equal(performanceData, "");
});

Deno.test("observeJob() shows the last line of a failed run once", async (t) => {
  const long = "x".repeat(301);
  const rows: Readonly<Record<string, readonly [output: string, shown: string, detail: string]>> = {
    "one line": ["last line\n", "last line", ""],
    "blank lines at the end": ["first line\nlast line\n\n \n", "last line", "first line\n"],

    "a line that is too long for the output": [
      `first line\n${long}\n`,
      `${long.slice(0, 299)}…`,
      `first line\n${long}\n`,
    ],
  };
  await testRows(t, rows, async ([output, shown, detail]) => {
    const store = await openInMemoryStore();
    const startMs = createFakeClock().wallMs();
    await store.job("backup", startMs);
    for (const event of ran(HOUR, "a", { exitCode: 1, output })) await happen(store, event, startMs);
    const seen = await look(store, HOUR);
    assert.equal(seen.output, `failed at ${timeText(startMs + HOUR)} with exit code 1 after 35 s: ${shown}`);
    assert.equal(seen.detail, detail);
  });
});

Deno.test("observeJob() shows the end of a long output as detail, as a terminal shows only a detail's beginning", async () => {
  const store = await openInMemoryStore();
  const startMs = createFakeClock().wallMs();
  await store.job("backup", startMs);
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
  const output = `${lines.join("\n")}\n`;
  for (const event of ran(HOUR, "a", { output })) await happen(store, event, startMs);
  assert.equal((await look(store, HOUR)).detail, `${lines.slice(-10).join("\n")}\n`);
});

Deno.test("observeJob() counts from its own first run if the job never ran before", async () => {
  const store = await openInMemoryStore();
  assert.equal((await look(store, 5 * DAY)).awaits, "job");
  assert.equal((await look(store, 5 * DAY + DAY + 10 * MINUTE)).awaits, "job");
  assert.equal((await look(store, 5 * DAY + DAY + 10 * MINUTE + 1)).condition, "critical");
});

Deno.test("observeJob() returns unknown without a state or if it cannot be read", async (t) => {
  await t.step("no state", async () => {
    const { condition, output } = await observe(null, 0);
    assert.equal(condition, "unknown");
    assert.equal(output, "no data: no state is stored");
  });
  await t.step("a state that cannot be read", async () => {
    const failing: JobLog = {
      recall: () => Promise.reject(new StoreError('cannot read state "x": the file is damaged', "damaged")),
    };
    const { condition, output } = await observe(failing, 0);
    assert.equal(condition, "unknown");
    assert.equal(output, 'no data: cannot read state "x": the file is damaged');
  });
  await t.step("a bug is none of it", async () => {
    await assert.rejects(
      () => observe({ recall: () => Promise.reject(new TypeError("a bug")) }, 0),
      TypeError,
    );
  });
});

Deno.test("observeJob() throws the reason when it is aborted", async () => {
  const reason = new Error("stopped");
  await assert.rejects(
    () => jobKind.observe(check({}), contextOf({ signal: AbortSignal.abort(reason) })),
    reason,
  );
});

Deno.test("jobKind warns of settings that are weaker than they seem", () => {
  const warnings = (parameters: Partial<JobParameters>, regularIntervalMs = MINUTE): readonly unknown[] =>
    jobKind.warnings({ ...check(parameters), schedule: { regularIntervalMs, attentiveIntervalMs: MINUTE } });
  assert.deepEqual(warnings({}), []);
  assert.deepEqual(warnings({ durationMaxMs: DAY + 10 * MINUTE }, DAY), []);
  assert.deepEqual(warnings({ durationMaxMs: 2 * DAY }), [{
    path: ["duration_max"],
    message:
      "duration_max is 2 d, expected_every 1 d and grace 10 min: a run that takes so long is overdue " +
      "before it is too long",
  }]);
  assert.deepEqual(warnings({ expectedEveryMs: MINUTE }, HOUR), [{
    path: ["expected_every"],
    message:
      "expected_every is 1 min and the check looks every 1 h: a run that fails is not seen when a good " +
      "one follows before the next look",
  }]);
});

async function happen(store: Store, event: Event, startMs: number): Promise<void> {
  const atMs = startMs + event.atMs;
  if ("begins" in event) {
    return await store.keepJobRun("backup", { id: event.begins, startedAtMs: atMs, end: null }, startMs);
  }
  const end: JobEnd = {
    atMs,
    durationMs: 0,
    how: "exited",
    exitCode: 0,
    reason: "",
    output: "first line\nlast line\n",
    ...event.end,
  };
  await store.keepJobRun("backup", { id: event.ends, startedAtMs: atMs, end }, startMs);
}

function look(store: Store, atMs: number, parameters: Partial<JobParameters> = {}): Promise<CheckResult> {
  return observe({ recall: (name, nowMs) => store.job(name, nowMs) }, atMs, parameters);
}

async function observe(
  jobs: JobLog | null,
  atMs: number,
  parameters: Partial<JobParameters> = {},
): Promise<CheckResult> {
  const clock = createFakeClock();
  await clock.advance(atMs);
  return await jobKind.observe(check(parameters), contextOf({ system: { clock }, jobs }));
}

function check(parameters: Partial<JobParameters>): JobCheck {
  return checkOf("job", {
    expectedEveryMs: DAY,
    graceMs: 10 * MINUTE,
    conditionOnFailure: "critical",
    conditionOnOverdue: "critical",
    conditionOnLongRun: "critical",
    ...parameters,
  }, { name: "backup" });
}
