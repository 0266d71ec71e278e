/** The states that a page can show, each made from a store in memory. */
import type { Silence } from "../../src/domain/outbox.ts";
import type { Check } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { Page } from "../../src/domain/generated/config.ts";
import type { CheckUpdate, KeptResult, Store } from "../../src/domain/store.ts";
import type { PageFacts } from "../../src/outputs/html_report/snapshot.ts";
import { renderSignIn } from "../../src/outputs/http_endpoint/sign_in.ts";
import { writeReport } from "../../src/outputs/html_report/write_report.ts";
import { describeObjective } from "../../src/outputs/summary/objectives.ts";
import { summarize } from "../../src/outputs/summary/summarize.ts";
import { summaryHtml } from "../../src/outputs/summary/render_summary.ts";
import { DAY_MS, HOUR_MS } from "../../src/shared/time_units.ts";
import { historyOf, NO_TIME, objectiveOf, runSums } from "../outputs/summary/histories.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import {
  changeOf,
  entryOf,
  NOW_MS,
  queuedOf,
  recordOf,
  resultOf,
  silenceOf,
  updateOf,
} from "../state/records.ts";
import { testCheck } from "../support/checks.ts";
import { openInMemoryStore } from "../../src/state/sqlite/sqlite_store.ts";

/** A check with its past. */
interface Shown {
  readonly check: Check;
  /** `null`: it never ran; `pending`: it failed once. */
  readonly confirmed: Condition | "pending" | null;
  readonly last?: Partial<KeptResult>;
  readonly sinceMs?: number;
  readonly trace?: string;
  readonly isOverdue?: boolean;
}

/** A check with its past, of a line `name|title|tags|confirmed|minutes since|output`. */
export function shown(
  line: string,
  { maintenanceWindows = [], ...more }: Partial<Shown & Check> = {},
): Shown {
  const [name = "", title, tags = "", confirmed = "ok", minutes = "57600", output] = line.split("|");
  return {
    check: {
      ...testCheck("ok", { name, threshold: 3 }),
      ...title && { title },
      tags: tags.split(" ").filter((tag) => tag !== ""),
      maintenanceWindows,
    },
    confirmed: confirmed === "" ? null : confirmed as Condition,
    sinceMs: NOW_MS - Number(minutes) * 60_000,
    ...more,
    last: { ...output !== undefined && { output }, ...more.last },
  };
}

const TRACE = `     0.1 ms  request GET https://shop.example.org/
     4.2 ms  connected to 192.0.2.7:443
     9.0 ms  TLS 1.3, certificate of shop.example.org
    31.5 ms  status 503 Service Unavailable
             < retry-after: 120`;

const OK: readonly Shown[] = [
  shown("web|Website|website"),
  shown("api|API|website api"),
  shown("backup|Nightly backup|jobs"),
  shown("disk", {
    last: { metrics: { free_percent: 58, free_percent_critical_below: 5 }, output: "free 58%" },
  }),
];

const CRITICAL: Shown = shown("shop|Shop|website|critical|120|status is 503, expected 200", {
  last: { detail: "retry-after: 120\nserver: example" },
  trace: TRACE,
});

const FAILS = { last: { condition: "critical" } } as const;
const STARTING: Shown = shown("starting|Never succeeded||pending||connection refused", FAILS);

const ALWAYS = { fromMinute: 0, toMinute: 12 * 60, timeZone: "UTC" } as const;
const LONG = "a_name_without_any_space_that_goes_on_and_on_".repeat(4);

const EVERYTHING: readonly Shown[] = [
  CRITICAL,
  shown("mail|Mail queue|jobs|warning|20|120 messages are queued, warning above 100"),
  shown("database|Database||unknown|60|timeout after 30 s, terminated", { last: { durationMs: 30_000 } }),
  shown("overdue|Not run for a while", { isOverdue: true }),
  shown("new|Never ran||"),
  STARTING,
  shown("flapping|Flapping service|website|ok||connection refused", FAILS),
  shown(
    "silenced|A silenced problem||critical|4320|connecting to db.example.org:5432 failed: connection refused",
  ),
  shown("maintained|In its maintenance window||warning|10|restarting", { maintenanceWindows: [ALWAYS] }),
  shown(`${LONG}|${LONG.replaceAll("_", "")}|website|critical|1|${"x".repeat(400)}`, {
    last: { detail: "y".repeat(3000) },
  }),
  shown("rtl|متجر الطلبات (الصفحة الرئيسية)|إنتاج"),
  shown("emoji 🛒|🛒 Shop 👩‍👩‍👧‍👦 שלום||critical|1"),
  ...OK,
];

/** Nine problems of 40 checks. */
const BAD_DAY: readonly Shown[] = [
  CRITICAL,
  shown("redis|Redis|databases|critical|4|connecting to redis.example.org:6379 failed: connection refused"),
  shown("replica|PostgreSQL, replica|databases|critical|6|replication lag 312 s, critical above 60 s"),
  shown("checkout|Checkout|website|critical|3|timeout after 10 s"),
  shown("images|Product images|website|warning|30|took 2.4 s, warning above 2 s"),
  shown("mail|Mail queue|jobs|warning|20|120 messages are queued, warning above 100"),
  shown("search|Search|website|warning|12|status is 429, expected 200"),
  shown("settlement|Daily settlement|jobs|unknown|60|timeout after 30 s, terminated"),
  shown("dns|DNS of the office||critical|200|no answer from 192.0.2.53"),
  ...Array.from(
    { length: 31 },
    (_, index) =>
      shown(`host${index}|Host ${index + 1}|${["website", "databases", "jobs", "offices"][index % 4]}`),
  ),
];

const FIRST_RUN: readonly Shown[] = [
  shown("web|Website|website|"),
  shown("api|API|website|"),
  shown("backup|Nightly backup|jobs|"),
];

const TEXT: Page = {
  title: "Status of example.org",
  description: "Shop, API and jobs of example.org. Questions: status@example.org",
  announcements: [
    { date: "2026-01-30", text: "The database moves to a new server on Sunday.", until: "2026-02-01" },
    { date: "2026-01-31 09:30", text: "We are looking into slow responses of the shop." },
    { date: "2026-01-01", text: "This is over.", until: "2026-01-02" },
  ],
  groups: [],
};

const GROUPED: Page = {
  ...TEXT,
  groups: [
    { title: "Buying", description: "Orders and payments", tags: ["api"], checks: ["shop", "mail"] },
    { title: "The rest", tags: ["website"], checks: [] },
    { title: "Nothing", tags: ["jobs"], checks: [] },
  ],
};

const FORMS = { by: "Ada", formToken: () => "t0ken", messageFor: () => "" } as const;

const FACTS: PageFacts = {
  nowMs: NOW_MS,
  hostName: "host.example",
  timeZone: "Europe/Berlin",
  configLabel: "/etc/monitor/monitor.jsonc",
  text: null,
  intervalMs: 60_000,
  notRunning: null,
};

/** The content and the layout of a page. */
export interface PageState {
  readonly shown: readonly Shown[];
  readonly facts?: Partial<PageFacts>;
  readonly public?: readonly string[];
  /** @default one of a check */
  readonly silences?: readonly Silence[];
}

/** The states by name. */
export const PAGE_STATES: Readonly<Record<string, PageState>> = {
  everything: { shown: EVERYTHING, facts: { text: TEXT } },
  bad_day: { shown: BAD_DAY, facts: { isLive: true, text: TEXT } },
  ok: { shown: OK, facts: { isLive: true } },
  first_run: { shown: FIRST_RUN, facts: { isLive: true }, silences: [] },
  first_report: { shown: FIRST_RUN, facts: { intervalMs: null }, silences: [] },
  pending: {
    shown: [STARTING, { ...STARTING, check: shown("second|Neither").check }],
    facts: { isLive: true },
    silences: [],
  },
  public: { shown: EVERYTHING, facts: { text: TEXT }, public: ["website"] },
  public_groups: {
    shown: EVERYTHING,
    facts: { text: GROUPED, isLive: true, canSignIn: true },
    public: ["website"],
  },
  public_ok: { shown: OK, facts: { text: GROUPED }, public: ["website"] },
  public_stopped: {
    shown: [
      CRITICAL,
      shown("maintained|In its maintenance window|website|warning|10", { maintenanceWindows: [ALWAYS] }),
      ...OK,
    ],
    facts: { text: TEXT, notRunning: { state: "stopped", sinceMs: NOW_MS - 10_000 } },
    public: ["website"],
  },
  live: { shown: EVERYTHING, facts: { isLive: true } },
  one_check: {
    shown: [CRITICAL],
    facts: {
      isLive: true,
      isOfOneCheck: true,
      objective: describeObjective(objectiveOf(99.9, { downMs: HOUR_MS })),
      channels: [{ channel: "chat", text: "everything" }, { channel: "pager", text: "only critical" }],
    },
  },
  signed_in: { shown: [CRITICAL, ...OK], facts: { isLive: true, forms: FORMS } },
  act: { shown: [CRITICAL], facts: { isLive: true, isOfOneCheck: true, forms: FORMS } },
  act_suppressed: {
    shown: [CRITICAL],
    facts: { isLive: true, isOfOneCheck: true, forms: FORMS },
    silences: [
      silenceOf("own", { check: "shop", reason: "deploy", by: "Ada from 192.0.2.7" }),
      silenceOf("all", { check: null, kind: "maintenance", reason: "the next release" }),
    ],
  },
  stopped: {
    shown: [CRITICAL, ...OK],
    facts: { notRunning: { state: "stopped", sinceMs: NOW_MS - 60_000 } },
  },
  died: {
    shown: [CRITICAL, ...OK],
    facts: { isLive: true, notRunning: { state: "died", sinceMs: NOW_MS - 3 * HOUR_MS } },
  },
  live_unwritable: { shown: [CRITICAL, ...OK], facts: { isLive: true, isStateWritable: false } },
  unwritable: {
    shown: [CRITICAL, ...OK],
    facts: { isLive: true, notRunning: { state: "unwritable", sinceMs: NOW_MS - 3 * HOUR_MS } },
  },
  empty: { shown: [], facts: { isLive: true }, silences: [] },
};

const SIGN_IN = { title: "Status of example.org", check: "shop" } as const;

/** The pages that show no state of checks, or a past one. */
export const OTHER_PAGES: Readonly<Record<string, () => string>> = {
  sign_in: () => renderSignIn(SIGN_IN).toString(),
  sign_in_rejected: () => renderSignIn({ ...SIGN_IN, by: "Ada", problem: "The token is wrong." }).toString(),
  summary: () =>
    summaryHtml(summarize({
      ...{ sinceMs: NOW_MS - 7 * DAY_MS, untilMs: NOW_MS, timeZone: "Europe/Berlin" },
      ...{ hostName: "host.example", queued: [] },
      checks: ["Shop", "Website", "API"].map((title, index) => {
        const downMs = index * HOUR_MS;
        return historyOf(title, {
          title,
          objective: objectiveOf(99.9, { downMs }),
          changes: [
            changeOf(title, NOW_MS - DAY_MS, { from: "critical", to: "ok", output: "status is 200" }),
            changeOf(title, NOW_MS - DAY_MS - downMs, {
              from: "ok",
              to: "critical",
              output: "status is 503, expected 200",
            }),
          ].slice(index === 0 ? 2 : 0),
          sums: {
            ...runSums(10_080, 40),
            lastedMs: { ...NO_TIME, ok: 7 * DAY_MS - downMs, critical: downMs },
          },
        });
      }),
    })).toString(),
};

const written = new WeakMap<PageState, Promise<string>>();

/** Returns the page of a state, which is written once. */
export function writeState(state: PageState): Promise<string> {
  const page = written.get(state) ?? write(state);
  written.set(state, page);
  return page;
}

/** The stores of the same checks, which are filled once: no page changes its store. */
const stores = new WeakMap<readonly Shown[], Promise<Store>>();

function storeOf({ shown: states, silences }: PageState): Promise<Store> {
  if (silences !== undefined) return fill(states, silences);
  const store = stores.get(states) ?? fill(states, [silenceOf("a", { check: "silenced" })]);
  stores.set(states, store);
  return store;
}

async function fill(states: readonly Shown[], silences: readonly Silence[]): Promise<Store> {
  const store = await openInMemoryStore();
  await store.save(states.flatMap((one, index) => updatesOf(one, index)));
  await store.addSilences(silences);
  return store;
}

async function write(state: PageState): Promise<string> {
  const { shown: states, facts, public: tags } = state;
  const store = await storeOf(state);
  return await writeReport({
    store,
    checks: [
      ...states.map(({ check }) => check),
      ...states.length > OK.length ? [{ ...testCheck("ok", { name: "old" }), active: false }] : [],
    ],
    isWhole: facts?.isOfOneCheck !== true,
    public: tags,
    facts: { ...FACTS, ...facts },
    clock: createFakeClock(),
  });
}

/** 90 days, with a few problems; the last hour has a run each minute. */
function updatesOf(state: Shown, index: number): readonly CheckUpdate[] {
  const { check, confirmed, last, sinceMs = NOW_MS - 40 * DAY_MS, trace = "", isOverdue = false } = state;
  if (confirmed === null) return [];
  if (confirmed === "pending") return [pendingUpdateOf(state)];
  const condition = last?.condition ?? confirmed;
  const startedAtMs = NOW_MS - (isOverdue ? 3 * HOUR_MS : 30_000);
  const record = recordOf(check.name, {
    condition: {
      ...recordOf("").condition,
      confirmed,
      confirmedSinceMs: sinceMs,
      atLeast: { ok: 9, unknown: 1, warning: 1, critical: 1 },
      observed: condition,
      observedAtMs: startedAtMs,
      notified: check.name === "silenced" ? "ok" : confirmed,
    },
    last: resultOf({ output: "status is 200", detail: "", metrics: {}, ...last, condition, startedAtMs }),
    nextRunAtMs: startedAtMs + 60_000,
  });
  const seenAt = (atMs: number, lastedMs: number): CheckUpdate => {
    const isDown = atMs >= sinceMs;
    const wasDown = (Math.floor(atMs / DAY_MS) + index * 7) % 31 === 0;
    const lasted = isDown ? confirmed : wasDown ? "critical" : "ok";
    const isTransient = Math.floor(atMs / HOUR_MS + index) % 17 === 0;
    return updateOf(check.name, {
      record,
      rollup: entryOf(atMs, {
        lasted,
        lastedMs,
        failedStreak: isTransient ? 1 : lasted === "ok" ? 0 : 5,
        condition: atMs > NOW_MS - 60_000 ? condition : isTransient ? "critical" : lasted,
        durationMs: 40 + index * 10 + (Math.floor(atMs / DAY_MS) * 13) % 37,
      }),
    });
  };
  return [
    ...Array.from({ length: 89 }, (_, day) => seenAt(NOW_MS - (90 - day) * DAY_MS, DAY_MS)),
    ...Array.from({ length: 24 }, (_, hour) => seenAt(NOW_MS - (25 - hour) * HOUR_MS, HOUR_MS)),
    ...Array.from({ length: 61 }, (_, minute) => seenAt(NOW_MS - (60 - minute) * 60_000, 60_000)),
    updateOf(check.name, { record, change: changeOf(check.name, NOW_MS - 35 * DAY_MS) }),
    updateOf(check.name, {
      record,
      change: changeOf(check.name, sinceMs, {
        to: confirmed,
        from: confirmed === "ok" ? "critical" : "ok",
        trace,
      }),
    }),
    ...check.name === "mail" ? [updateOf(check.name, { record, queued: [queuedOf("a", 1)] })] : [],
  ];
}

/** One run, which failed. */
function pendingUpdateOf({ check, last }: Shown): CheckUpdate {
  const record = recordOf(check.name);
  const endedAtMs = NOW_MS - 30_000;
  return updateOf(check.name, {
    record: {
      ...record,
      condition: {
        ...record.condition,
        confirmed: null,
        confirmedSinceMs: null,
        leftAtMs: { ...record.condition.leftAtMs, pending: null, ok: null },
        atLeast: { ok: 1, unknown: 1, warning: 1, critical: 1 },
        observed: "critical",
        observedAtMs: endedAtMs,
      },
      last: resultOf({ detail: "", metrics: {}, ...last, startedAtMs: endedAtMs }),
      nextRunAtMs: endedAtMs + 60_000,
    },
    rollup: entryOf(endedAtMs, { condition: "critical", lastedMs: 0, failedStreak: 1 }),
  });
}
