import { checkOf, contextOf } from "../../testing/builders.ts";
import assert from "node:assert/strict";
import { jobKind } from "../../src/checks/job.ts";
import { createCronReader } from "../../src/config/cron_times.ts";
import type { CheckOf, CheckResult } from "../../src/domain/check.ts";
import type { CronTimes } from "../../src/domain/schedule.ts";
import type { JobParameters } from "../../src/domain/generated/config.ts";
import { type JobEnd, type JobLog, type Store, StoreError } from "../../src/domain/store.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";
import { timeText } from "../../src/shared/local_time.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { problemTexts } from "../support/observe_check.ts";
import { fieldsOf, type Rows, spanMs, testRows, testTable } from "../support/rows.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** One thing that happens to a job; times are counted from when the check was first seen. */
type Event =
  | { readonly atMs: number; readonly begins: string }
  | { readonly atMs: number; readonly ends: string; readonly end?: Partial<JobEnd> };

/** A run of 35 s that ended well. */
const ran = (atMs: number, id = "a", end: Partial<JobEnd> = {}): readonly Event[] => [
  { atMs: atMs - 35 * SECOND, begins: id },
  { atMs, ends: id, end: { durationMs: 35 * SECOND, ...end } },
];

/** `begins b at 2 h` or `ran a at 1 h` or `ends a at 3 h`, the latter with fields of the end. */
function eventsOf(text: string): readonly Event[] {
  if (text === "") return [];
  return text.split(", ").flatMap((part) => {
    const [, verb, id = "", at = "", fields = ""] =
      /^(\w+) (\w) at ((?:[\d.]+ (?:min|[dhs]) ?)+)(.*)$/.exec(part) ?? [];
    const end = fieldsOf<Partial<JobEnd>>(fields);
    if (verb === "ran") return ran(spanMs(at), id, end);
    return [{ atMs: spanMs(at), ...verb === "begins" ? { begins: id } : { ends: id, end } }];
  });
}

/** What happened, when it is observed, the parameters, and the result. */
const JOBS = String.raw`
  just written            | | 0 s | | unknown: no run yet, the first one is expected by {in 1 d}
  no run in time          | | 1 d 601 s | |     critical: overdue: no run has ended since the check began at {1 d 10 min 1 s ago}, expected every 1 d
  the first run           | begins a at 1 h | 2 h | | unknown: running since {1 h ago}, none has ended yet
  ended, and runs again   | ran a at 1 h, begins b at 2 h | 3 h | |     ok: ended at {2 h ago} with exit code 0 after 35 s; running since {1 h ago}
  overlapping runs        | ran a at 1 h, begins b at 2 h, begins c at 2.5 h | 3 h | |     ok: ended at {2 h ago} with exit code 0 after 35 s; 2 runs in progress, the longest since {1 h ago}
  the older one fails last | begins a at 1 h, ran b at 2 h, ends a at 3 h exitCode=2 durationMs=7200000 | 4 h | |     critical: failed at {1 h ago} with exit code 2 after 2 h: last line
  one died, one ended well | begins a at 1 h, ran b at 1 d | 25 h | durationMaxMs=3600000 |     ok: ended at {1 h ago} with exit code 0 after 35 s
  terminated by a signal  | ran a at 1 h how=signalled exitCode=137 reason=SIGKILL | 2 h | |     critical: failed at {1 h ago}, terminated by SIGKILL after 35 s: last line
  not started             | ran a at 1 h how=not_started exitCode=127 reason="no such file" output="" | 2 h | |     critical: failed at {1 h ago}, cannot start: no such file
  noted as a success      | ends a at 1 h how=noted durationMs=null output="" | 2 h | |     ok: recorded as successful at {1 h ago}
  noted as a failure      | ends a at 1 h how=noted durationMs=null output="" exitCode=1 | 2 h |     conditionOnFailure=warning | warning: failed at {1 h ago}, recorded as failed
  just in time            | ran a at 1 h | 1 d 1 h 10 min | | ok: ended at {1 d 10 min ago} with exit code 0 after 35 s
  overdue                 | ran a at 1 h | 27 h | |     critical: overdue: last ended at {1 d 2 h ago}, expected every 1 d
  overdue as a warning, after a long grace | ran a at 1 h | 2 d 1 h 1 s |     graceMs=86400000 conditionOnOverdue=warning | warning: overdue: last ended at {2 d 1 s ago}, expected every 1 d
  overdue, died or hangs  | ran a at 1 h, begins b at 1 d | 27 h | | critical: overdue:     last ended at {1 d 2 h ago}, expected every 1 d, one started at {3 h ago} and is still running or died
  failed and overdue      | ran a at 1 h exitCode=3 | 27 h | conditionOnFailure=warning |     critical: failed at {1 d 2 h ago} with exit code 3 after 35 s: last line;     overdue: last ended at {1 d 2 h ago}, expected every 1 d
  slightly too long       | begins a at 1 h | 3 h 1 s | durationMaxMs=7200000 conditionOnLongRun=warning |     warning: running since {2 h 1 s ago}, at most 2 h expected, unless it died
  as long as it may be    | begins a at 1 h | 3 h | durationMaxMs=7200000 |     unknown: running since {2 h ago}, none has ended yet
  took too long           | ran a at 5 h durationMs=10800000 | 6 h | durationMaxMs=7200000 |     critical: the run that ended at {1 h ago} took 3 h, at most 2 h expected
  ends a little later     | ran a at 65 min | 1 h | | ok: ended at {in 5 min} with exit code 0 after 35 s
  ends in the future      | ran a at 300 d | 1 h | | unknown: last ended at {in 299 d 23 h}, in the future,     so the clock was set back; wait for the next run
  and a run since         | ran a at 300 d, ran b at 2 h | 3 h | | ok: ended at {1 h ago} with exit code 0 after 35 s
  starts in the future    | begins a at 300 d | 1 h | durationMaxMs=3600000 |     unknown: running since {in 299 d 23 h}, none has ended yet`;

Deno.test("observeJob() distinguishes failed, overdue and overlong jobs", async (t) => {
  await testTable(t, JOBS, async (_, events, at, parameters, expected) => {
    const [store, startMs] = await storeWith(eventsOf(events));
    const { condition, output, awaits } = await look(store, spanMs(at), fieldsOf(parameters));
    assert.equal(`${condition}: ${output}`, withTimes(expected, startMs + spanMs(at)));
    assert.equal(awaits, /^unknown: (no run yet|running since)/.test(expected) ? "job" : undefined);
  });
});

async function storeWith(events: readonly Event[]): Promise<readonly [Store, startMs: number]> {
  const store = await openInMemoryStore();
  const startMs = createFakeClock().wallMs();
  await store.job("backup", startMs);
  for (const event of events) await happen(store, event, startMs);
  return [store, startMs];
}

/** Returns an expected output with the times of such as `{1 h ago}` and `{in 1 h}`. */
function withTimes(expected: string, nowMs: number): string {
  return expected.replaceAll(
    /\{(in )?([^}]*?)(?: ago)?\}/g,
    (_, isAhead, span: string) => timeText(nowMs + spanMs(span) * (isAhead === undefined ? -1 : 1)),
  );
}

/** The job starts 90 minutes after the check is first seen, and each day at that time. */
const CRON_JOBS = String.raw`
  before the first time   | | 1 h | | unknown: no run yet, the first one is expected by 2027-01-15 10:30:00 +01:00
  never in time           | | 100 min 1 s | |     critical: overdue: no run has ended since the check began at {100 min 1 s ago}, expected at 2027-01-15 10:30:00 +01:00 by "30 10 * * *"
  in time, until the grace of the next day | ran a at 91 min | 1 d 100 min | | ok: ended at {1 d 9 min ago} with exit code 0 after 35 s
  missed on the next day  | ran a at 4 h | 1 d 100 min 1 s | |     critical: overdue: last ended at {21 h 40 min 1 s ago}, expected at 2027-01-16 10:30:00 +01:00 by "30 10 * * *"
  missed, then made up    | ran a at 91 min, ran b at 30 h | 31 h | | ok: ended at {1 h ago} with exit code 0 after 35 s
  a minute early          | ran a at 89 min | 3 h | | ok: ended at {91 min ago} with exit code 0 after 35 s
  more than that          | ran a at 88 min | 3 h | |     critical: overdue: last ended at {92 min ago}, expected at 2027-01-15 10:30:00 +01:00 by "30 10 * * *"
  runs without a limit    | ran a at 0 s, begins b at 90 min | 3 h | | critical: overdue: last ended at {3 h ago},     expected at 2027-01-15 10:30:00 +01:00 by "30 10 * * *", one started at {90 min ago} and is still running or died
  runs within its limit   | ran a at 0 s, begins b at 90 min | 3 h | durationMaxMs=7200000 |     ok: ended at {3 h ago} with exit code 0 after 35 s; running since {90 min ago}
  never ends              | ran a at 0 s, begins b at 90 min | 4 h | durationMaxMs=7200000 |     critical: running since {150 min ago}, at most 2 h expected, unless it died
  never ends, and the next one is missed | ran a at 0 s, begins b at 90 min | 1 d 2 h | durationMaxMs=36000000 |     critical: overdue: last ended at {1 d 2 h ago}, expected at 2027-01-16 10:30:00 +01:00 by "30 10 * * *",     one started at {24 h 30 min ago} and is still running or died; running since {24 h 30 min ago},     at most 10 h expected, unless it died
  started in the future   | ran a at 0 s, begins b at 300 d | 3 h | durationMaxMs=7200000 | critical: overdue:     last ended at {3 h ago}, expected at 2027-01-15 10:30:00 +01:00 by "30 10 * * *",     one started at {in 299 d 21 h} and is still running or died`;

Deno.test("observeJob() expects a run at each time of a cron schedule", async (t) => {
  const jobTimes = createCronReader()("30 10 * * *", "Etc/GMT-1") ?? undefined;
  await testTable(t, CRON_JOBS, async (_, events, at, parameters, expected) => {
    const [store, startMs] = await storeWith(eventsOf(events));
    const withCron = { ...fieldsOf<Partial<JobParameters>>(parameters), cron: "30 10 * * *" };
    const { condition, output } = await look(store, spanMs(at), withCron, jobTimes);
    assert.equal(`${condition}: ${output}`, withTimes(expected, startMs + spanMs(at)));
  });
});

Deno.test("jobKind requires either a cron schedule or an interval", () => {
  const errors = (parameters: Partial<JobParameters>) =>
    problemTexts(jobKind.errors?.(check(parameters)) ?? []);
  assert.deepEqual(errors({}), []);
  const { expectedEveryMs: _, ...without } = check({}).parameters;
  assert.deepEqual(problemTexts(jobKind.errors?.({ ...check({}), parameters: without }) ?? []), [
    ': missing key "cron" or "expected_every": write when the job starts, such as "cron": "30 2 * * *"',
  ]);
  assert.deepEqual(errors({ timeZone: "Europe/Zurich" }), ['time_zone: has no effect without "cron"']);
  assert.deepEqual(errors({ cron: "@daily" }), [
    'expected_every: cannot be used with "cron": remove one of them',
  ]);
});

Deno.test("observeJob() has the last lines as detail, and measures", async () => {
  const [none] = await storeWith([]);
  assert.deepEqual((await look(none, 0)).metrics, {});
  const [store] = await storeWith(ran(HOUR));
  const { detail, metrics, performanceData } = await look(store, HOUR + 90 * SECOND);
  assert.deepEqual([detail, performanceData], ["first line\nlast line\n", ""]);
  assert.deepEqual(metrics, { exit_code: 0, duration_seconds: 35, age_seconds: 90 });
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
  const [long] = await storeWith(ran(HOUR, "a", { output: `${lines.join("\n")}\n` }));
  assert.equal((await look(long, HOUR)).detail, `${lines.slice(-10).join("\n")}\n`);
});

Deno.test("observeJob() shows the last line of a failed run once", async (t) => {
  const long = "x".repeat(301);
  const rows: Rows<[output: string, shown: string, detail: string]> = {
    "one line": ["last line\n", "last line", ""],
    "blank lines at the end": ["first line\nlast line\n\n \n", "last line", "first line\n"],
    "a line that is too long for the output": [
      `first line\n${long}\n`,
      `${long.slice(0, 299)}…`,
      `first line\n${long}\n`,
    ],
  };
  await testRows(t, rows, async ([output, shown, expected]) => {
    const [store, startMs] = await storeWith(ran(HOUR, "a", { exitCode: 1, output }));
    const { output: seen, detail } = await look(store, HOUR);
    assert.equal(seen, `failed at ${timeText(startMs + HOUR)} with exit code 1 after 35 s: ${shown}`);
    assert.equal(detail, expected);
  });
});

Deno.test("observeJob() counts from its own first run if the job never ran before", async () => {
  const store = await openInMemoryStore();
  assert.equal((await look(store, 5 * DAY)).awaits, "job");
  assert.equal((await look(store, 5 * DAY + DAY + 10 * MINUTE)).awaits, "job");
  assert.equal((await look(store, 5 * DAY + DAY + 10 * MINUTE + 1)).condition, "critical");
});

Deno.test("observeJob() returns unknown without a state or if it cannot be read", async () => {
  const failing = (error: Error): JobLog => ({ recall: () => Promise.reject(error) });
  const damaged = failing(new StoreError('cannot read state "x": the file is damaged', "damaged"));
  for (
    const [jobs, reason] of [[null, "no state is stored"], [
      damaged,
      'cannot read state "x": the file is damaged',
    ]] as const
  ) {
    const { condition, output } = await observe(jobs, 0);
    assert.equal(`${condition}: ${output}`, `unknown: no data: ${reason}`);
  }
  await assert.rejects(() => observe(failing(new TypeError("a bug")), 0), TypeError);
});

Deno.test("observeJob() throws the reason when it is aborted", async () => {
  const reason = new Error("stopped");
  await assert.rejects(
    () => jobKind.observe(check({}), contextOf({ signal: AbortSignal.abort(reason) })),
    reason,
  );
});

Deno.test("jobKind warns of settings that are weaker than they seem", () => {
  const warnings = (parameters: Partial<JobParameters>, regularIntervalMs = MINUTE) => {
    const schedule = { regularIntervalMs, attentiveIntervalMs: MINUTE };
    return problemTexts(jobKind.warnings?.({ ...check(parameters), schedule }));
  };
  assert.deepEqual(warnings({}), []);
  assert.deepEqual(warnings({ durationMaxMs: DAY + 10 * MINUTE }, DAY), []);
  assert.deepEqual(warnings({ durationMaxMs: 2 * DAY }), [
    "duration_max: duration_max is 2 d, expected_every 1 d and grace 10 min: a run that takes so long is overdue " +
    "before it is too long",
  ]);
  assert.deepEqual(warnings({ expectedEveryMs: MINUTE }, HOUR), [
    "expected_every: expected_every is 1 min and the check looks every 1 h: a run that fails is not seen when a good " +
    "one follows before the next look",
  ]);
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

function look(
  store: Store,
  atMs: number,
  parameters: Partial<JobParameters> = {},
  jobTimes?: CronTimes,
): Promise<CheckResult> {
  return observe({ recall: (name, nowMs) => store.job(name, nowMs) }, atMs, parameters, jobTimes);
}

async function observe(
  jobs: JobLog | null,
  atMs: number,
  parameters: Partial<JobParameters> = {},
  jobTimes?: CronTimes,
): Promise<CheckResult> {
  const clock = createFakeClock();
  await clock.advance(atMs);
  return await jobKind.observe(
    { ...check(parameters), ...jobTimes && { jobTimes } },
    contextOf({ system: { clock }, jobs }),
  );
}

function check(parameters: Partial<JobParameters>): CheckOf<"job"> {
  return checkOf("job", {
    expectedEveryMs: DAY,
    graceMs: 10 * MINUTE,
    conditionOnFailure: "critical",
    conditionOnOverdue: "critical",
    conditionOnLongRun: "critical",
    ...parameters,
  }, { name: "backup" });
}
