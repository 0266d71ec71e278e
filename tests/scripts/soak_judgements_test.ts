import assert from "node:assert/strict";
import { judgeHoldings } from "../../scripts/soak/mixed/judge_holdings.ts";
import { judgeNotifications } from "../../scripts/soak/mixed/judge_notifications.ts";
import { judgeRuns } from "../../scripts/soak/mixed/judge_runs.ts";
import { judgeWords } from "../../scripts/soak/mixed/judge_words.ts";
import type { Judgement } from "../../scripts/soak/mixed/judgement.ts";
import type {
  Deliveries,
  Presence,
  QuietPoint,
  Run,
  Sample,
  SoakRecord,
  Span,
} from "../../scripts/soak/mixed/record.ts";
import { tableText } from "../../scripts/soak/mixed/table.ts";
import type { Post, PostedNotification } from "../life/receivers.ts";

const MINUTE_MS = 60_000;
const LENGTH_MS = 30 * MINUTE_MS;
const CHECK_EVERY_MS = 10_000;

function third(number: number): Span {
  return { fromMs: number * LENGTH_MS / 3, untilMs: (number + 1) * LENGTH_MS / 3 };
}

function sampleAt(atMs: number): Sample {
  return {
    atMs,
    residentBytes: 100e6,
    anonymousBytes: 50e6,
    threads: 9,
    descriptors: 30,
    children: 2,
    orphans: 0,
    cpuMs: atMs / 10,
    childrenCpuMs: atMs / 20,
    stateBytes: 1e6,
    pendingNotifications: 0,
  };
}

function quietAt(atMs: number): QuietPoint {
  return { atMs, descriptors: { socket: 2, pipe: 4 }, children: 0, orphans: 0, residentBytes: 90e6 };
}

function runsOf(name: string): readonly Run[] {
  return Array.from(
    { length: LENGTH_MS / CHECK_EVERY_MS },
    (_, index) => ({ name, condition: "ok", startedMs: index * CHECK_EVERY_MS + 2_000, lateMs: 3 }),
  );
}

function presenceOf(name: string, isSilenced: boolean): Presence {
  return {
    facts: { name, intervalMs: CHECK_EVERY_MS, durationMaxMs: 5_000, isSilenced, isMailed: true },
    spans: [{ fromMs: 0, untilMs: LENGTH_MS }],
  };
}

function report(
  check: string,
  atMs: number,
  [previous, condition]: readonly [string, string],
): PostedNotification {
  return {
    id: `${check} ${atMs}`,
    check,
    event: condition === "ok" ? "recovery" : "problem",
    condition,
    previous,
    decided_at: new Date(atMs).toISOString(),
    missed_problem: null,
  };
}

const FIRST = report("web", 1_000, ["ok", "critical"]);
const SECOND = report("web", 2_000, ["critical", "ok"]);
const QUIET = report("silent", 3_000, ["ok", "critical"]);
const POSTS: readonly Post[] = [
  { key: "a", notifications: [FIRST, QUIET] },
  { key: "b", notifications: [SECOND] },
  { key: "b", notifications: [SECOND] },
];

const DELIVERIES: Deliveries = {
  posts: POSTS,
  mails: [["CRITICAL: web", "", "status is 500"], ["OK: web"]],
  differingMails: 0,
  mailTwins: 0,
  changes: new Map([
    ["web", [{ atMs: 1_000, from: "ok", to: "critical" }, { atMs: 2_000, from: "critical", to: "ok" }]],
    ["silent", [
      { atMs: 500, from: "ok", to: "warning" },
      { atMs: 3_000, from: "warning", to: "critical" },
    ]],
  ]),
  leftInOutbox: 0,
};

/** A soak in which all is well. */
const GOOD: SoakRecord = {
  fromMs: 0,
  untilMs: LENGTH_MS,
  thirds: [third(0), third(1), third(2)],
  samples: Array.from({ length: LENGTH_MS / 10_000 }, (_, index) => sampleAt(index * 10_000)),
  quietPoints: [0, 1, 2].map((number) => quietAt(third(number).untilMs - 1_000)),
  runs: [...runsOf("web"), ...runsOf("silent")],
  pauses: [{ reason: "stopped", fromMs: 15 * MINUTE_MS, untilMs: 15 * MINUTE_MS + 5_000 }],
  presences: [presenceOf("web", false), presenceOf("silent", true)],
  refusals: [{ word: /treshold/, said: "unknown key treshold", isAdopted: false }],
  adopted: 3,
  calls: [{ args: ["status"], code: 0, atMs: 1, trouble: "" }],
  deliveries: DELIVERIES,
  crashLines: [],
  files: [{ name: "page.html", trouble: null }],
  keptRuns: 2 * LENGTH_MS / CHECK_EVERY_MS,
  exitCode: 0,
  survivors: 0,
};

function judge(record: SoakRecord): readonly Judgement[] {
  return [judgeHoldings, judgeRuns, judgeNotifications, judgeWords].flatMap((judgeSome) => judgeSome(record));
}

function failed(record: SoakRecord): readonly string[] {
  return judge(record).filter(({ holds }) => !holds).map(({ what }) => what);
}

function inLastThird<T>(
  items: readonly T[],
  timeOf: (item: T) => number,
  change: (item: T) => T,
): readonly T[] {
  return items.map((item) => timeOf(item) >= third(2).fromMs ? change(item) : item);
}

function delivering(deliveries: Partial<Deliveries>): SoakRecord {
  return { ...GOOD, deliveries: { ...DELIVERIES, ...deliveries } };
}

Deno.test("a soak in which all is well passes every judgement, and its table has them all", () => {
  assert.deepEqual(failed(GOOD), []);
  const table = tableText(GOOD, judge(GOOD)).split("\n");
  assert.equal(table.length, 2 + 6 + 1 + 2 + judge(GOOD).length);
  assert.match(table[2] ?? "", /^\| 0–5 \| 100\.0 \| 50\.0 \| 30 \(most 30\) \|/);
});

Deno.test("what was pending is merged with what came later of its problem", () => {
  const changes = [
    { atMs: 1_000, from: "ok", to: "critical" },
    { atMs: 1_500, from: "critical", to: "unknown" },
    { atMs: 2_000, from: "unknown", to: "ok" },
  ];
  const recovery = { ...report("web", 2_000, ["unknown", "ok"]), missed_problem: FIRST };
  const told = {
    posts: [{ key: "a", notifications: [recovery, QUIET] }],
    mails: [["OK: web (was critical from 10:00 to 10:01 UTC)"]],
    changes: new Map([...DELIVERIES.changes, ["web", changes]]),
  };
  assert.deepEqual(failed(delivering(told)), []);
  const lost = { ...told, posts: [{ key: "a", notifications: [FIRST, QUIET] }] };
  assert.equal(failed(delivering(lost)).length, 1, "its end is to be told");
});

Deno.test("each judgement of a soak fails for what it is to find", async (t) => {
  const rows: readonly { readonly name: string; readonly record: SoakRecord; readonly what: RegExp }[] = [
    {
      name: "memory that grows by 6 % in the last third",
      record: {
        ...GOOD,
        samples: inLastThird(
          GOOD.samples,
          ({ atMs }) => atMs,
          (sample) => ({ ...sample, residentBytes: 106e6 }),
        ),
      },
      what: /^resident memory/,
    },
    { name: "no samples", record: { ...GOOD, samples: [] }, what: /^resident memory/ },
    {
      name: "a socket more at the last quiet point",
      record: {
        ...GOOD,
        quietPoints: GOOD.quietPoints.map((point, index) =>
          index === 2 ? { ...point, descriptors: { socket: 3, pipe: 3 } } : point
        ),
      },
      what: /^descriptors/,
    },
    {
      name: "a process at a quiet point",
      record: { ...GOOD, quietPoints: GOOD.quietPoints.map((point) => ({ ...point, orphans: 1 })) },
      what: /^no process/,
    },
    { name: "a process that outlives it", record: { ...GOOD, survivors: 1 }, what: /^no process/ },
    {
      name: "lateness that grows",
      record: {
        ...GOOD,
        runs: inLastThird(GOOD.runs, ({ startedMs }) => startedMs, (run) => ({ ...run, lateMs: 90 })),
      },
      what: /^lateness/,
    },
    {
      name: "lateness that is too much all the time",
      record: { ...GOOD, runs: GOOD.runs.map((run) => ({ ...run, lateMs: 900 })) },
      what: /^lateness/,
    },
    {
      name: "a check that runs half as often",
      record: {
        ...GOOD,
        runs: GOOD.runs.filter(({ name }, index) => name === "silent" || index % 2 === 0),
        keptRuns: 270,
      },
      what: /^every check ran/,
    },
    {
      name: "a check that starves for a minute",
      record: {
        ...GOOD,
        runs: GOOD.runs.filter(({ startedMs }) => startedMs < 20 * MINUTE_MS || startedMs > 21 * MINUTE_MS),
        keptRuns: 348,
      },
      what: /^no check went without/,
    },
    {
      name: "a run that is not counted",
      record: { ...GOOD, keptRuns: GOOD.keptRuns - 1 },
      what: /^the state/,
    },
    {
      name: "a lost report",
      record: delivering({ posts: POSTS.slice(0, 1) }),
      what: /^each change that is kept/,
    },
    {
      name: "an invented report",
      record: delivering({
        posts: [...POSTS, { key: "c", notifications: [report("web", 9_000, ["ok", "critical"])] }],
      }),
      what: /^each change that is kept/,
    },
    {
      name: "a gap in what a silenced check told",
      record: delivering({ changes: new Map([...DELIVERIES.changes, ["silent", []]]) }),
      what: /^checks that were silenced/,
    },
    {
      name: "a lost mail",
      record: delivering({ mails: DELIVERIES.mails.slice(1) }),
      what: /^each change of a check/,
    },
    {
      name: "mails of one id that differ",
      record: delivering({ differingMails: 1 }),
      what: /^each change of a check/,
    },
    { name: "a report that waits", record: delivering({ leftInOutbox: 1 }), what: /^nothing waits/ },
    {
      name: "a crash in the log",
      record: { ...GOOD, crashLines: ["    at x (y.ts:1:1)"] },
      what: /^its log/,
    },
    {
      name: "an invalid config that is adopted",
      record: { ...GOOD, refusals: [{ word: /x/, said: "x", isAdopted: true }] },
      what: /^each invalid config/,
    },
    {
      name: "a refusal without a word of why",
      record: { ...GOOD, refusals: [{ word: /treshold/, said: "no", isAdopted: false }] },
      what: /^each invalid config/,
    },
    {
      name: "a call that fails",
      record: { ...GOOD, calls: [{ args: ["status"], code: 74, atMs: 1, trouble: "busy" }] },
      what: /^status, silence/,
    },
    {
      name: "a page that is cut off",
      record: { ...GOOD, files: [{ name: "page", trouble: "is cut off" }] },
      what: /^its page/,
    },
    { name: "another exit code", record: { ...GOOD, exitCode: 70 }, what: /^asked to stop/ },
  ];
  for (const { name, record, what } of rows) {
    await t.step(name, () => {
      const found = failed(record);
      assert.ok(found.some((text) => what.test(text)), found.join("\n"));
      assert.ok(found.length <= 2, `it is told of nothing else: ${found.join("\n")}`);
    });
  }
});

Deno.test("lateness of what was planned while the program was stopped does not count, whatever it is", () => {
  const [stop] = GOOD.pauses;
  assert.ok(stop !== undefined);
  const record = {
    ...GOOD,
    runs: GOOD.runs.map((run) => {
      const isPlannedThen = run.startedMs >= stop.fromMs && run.startedMs < stop.untilMs;
      return isPlannedThen ? { ...run, startedMs: run.startedMs + 5_000, lateMs: 5_003 } : run;
    }),
  };
  assert.deepEqual(failed(record), []);
});
