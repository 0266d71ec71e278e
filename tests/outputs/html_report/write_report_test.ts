import assert from "node:assert/strict";
import {
  DAYS_SHOWN,
  HOURS_SHOWN,
  type PageCheck,
  type PageFacts,
  type PageSlot,
  type ReportSnapshot,
} from "../../../src/outputs/html_report/snapshot.ts";
import { writeReport } from "../../../src/outputs/html_report/write_report.ts";
import type { NotRunning } from "../../../src/domain/monitor_run.ts";
import type { Check } from "../../../src/domain/check.ts";
import type { Store } from "../../../src/domain/store.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/sqlite_store.ts";
import { DAY_MS, HOUR_MS } from "../../../src/shared/time_units.ts";
import {
  changeOf,
  entryOf,
  notificationOf,
  NOW_MS,
  queuedOf,
  recordOf,
  resultOf,
  silenceOf,
  updateOf,
} from "../../state/records.ts";
import { testCheck } from "../../support/checks.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { PAGE_STATES, writeState } from "../../page/states.ts";
import { isFound, readFilter } from "../../../src/outputs/html_report/page_filter.ts";
import { testRows } from "../../support/rows.ts";
import { type Condition, CONDITIONS, countedAs } from "../../../src/domain/condition.ts";
import { statusOf } from "../../../src/engine/check_status.ts";
import { availabilityOf } from "../../../src/state/availability.ts";
import { mostDetailed, renderReport } from "../../../src/outputs/html_report/render_report.ts";
import { createRandom } from "../../../testing/random.ts";

const FACTS = {
  nowMs: NOW_MS,
  hostName: "host.example",
  timeZone: "Europe/Berlin",
  configLabel: "monitor.jsonc",
  intervalMs: 60_000,
  text: null,
  notRunning: null,
};

function write(checks: readonly Check[], store: Store | null, facts: PageFacts = FACTS): Promise<string> {
  return writeReport({ store, checks, isWhole: true, facts, clock: createFakeClock() });
}

function readText(html: string): string {
  return html.slice(html.indexOf("<header ")).replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
}

Deno.test("writeReport() shows the share of a public service once there is a day of data", async () => {
  const shareAfter = async (hours: number): Promise<string | undefined> => {
    const store = await openInMemoryStore();
    const rollups = Array.from(
      { length: hours },
      (_, hour) => updateOf("web", { rollup: entryOf(NOW_MS - (1 + hour) * HOUR_MS, { lastedMs: HOUR_MS }) }),
    );
    await store.save([updateOf("web", { record: recordOf("web") }), ...rollups]);
    const checks = [{ ...testCheck("ok", { name: "web" }), tags: ["shop"] }];
    const options = { store, checks, isWhole: true, facts: FACTS, public: ["shop"] };
    const html = await writeReport({ ...options, clock: createFakeClock() });
    return /<span>([\d.]+%)<\/span>/.exec(html)?.[1];
  };
  assert.deepEqual([await shareAfter(23), await shareAfter(24)], [undefined, "100%"]);
});

Deno.test("writeReport() shows problems first, with their begin, availability and the last changes", async () => {
  const store = await openInMemoryStore();
  const record = recordOf("web");
  const failed = { condition: "critical", lastedMs: HOUR_MS, lasted: "critical", failedStreak: 3 } as const;
  await store.save([
    updateOf("calm", {
      record: recordOf("calm", { condition: { ...record.condition, confirmed: "ok", notified: "ok" } }),
    }),
    updateOf("web", { rollup: entryOf(NOW_MS - 30 * DAY_MS, failed) }),
    updateOf("web", { rollup: entryOf(NOW_MS - 3 * DAY_MS, { lastedMs: HOUR_MS }) }),
    updateOf("web", { rollup: entryOf(NOW_MS, { lastedMs: HOUR_MS / 3, lasted: "warning" }) }),
    updateOf("web", { rollup: entryOf(NOW_MS, { lastedMs: 2 * HOUR_MS / 3 }) }),
    updateOf("web", { change: changeOf("web", NOW_MS - HOUR_MS) }),
  ]);
  const website = { ...testCheck("ok", { name: "web" }), title: "Website" };
  const checks = [testCheck("ok", { name: "calm" }), website];
  const html = await write(checks, store);
  const text = readText(html);
  assert.match(
    text,
    /^ 1 of 2 checks is not ok 1 warning 1 ok 1 not confirmed incidents True at 2026-01-31 11:00 , valid until 2026-01-31 11:02 \. After that, monitor is not running or cannot write this page: run monitor status to see which\. .* monitor\.jsonc on host\.example\. Generated 2026-01-31 11:00 \. Updated every 1 min while monitor runs\. Time zone: Europe\/Berlin \(UTC\+1\)\./,
  );
  assert.ok(html.indexOf("<h3>Website</h3>") < html.indexOf("<h3>calm</h3>"));
  assert.match(
    text,
    / Warning Website status is 500, expected 200 \[not notified\] \u00b7 1 min .{50,}? web Warning since 2026-01-31 10:59 , for 1 min status is 500/,
  );
  assert.match(
    text,
    /24 h 66\.66% ok 1 h observed 7 d 83\.33% ok 2 h observed 90 d 55\.55% ok 3 h observed 24 h 33\.34% warning; 7 d 16\.67% warning; 90 d 11\.12% warning, 33\.34% critical, 1 of 4 runs not ok, 3 in a row at most/,
  );
  assert.match(text, /2026-01-31 10:00 ok to critical : connection refused/);
  assert.match(html, /<time>2026-01-31 10:59<\/time>/);
  assert.match(html, /first line\nsecond line/);
});

Deno.test("writeReport() shows pending and dropped notifications, silences and overdue checks", async () => {
  const store = await openInMemoryStore();
  await store.save([
    updateOf("web", {
      record: recordOf("web", {
        nextRunAtMs: NOW_MS - 10 * 60_000,
        last: resultOf({ startedAtMs: NOW_MS - 11 * 60_000 }),
      }),
      queued: [
        queuedOf("a", 1),
        queuedOf("b", 2, { notification: notificationOf("left the config") }),
        queuedOf("c", 3, { state: "dropped" }),
      ],
    }),
  ]);
  await store.addSilences([silenceOf("a"), silenceOf("b", { check: null, reason: "" })]);
  const text = readText(await write([testCheck("ok", { name: "web" })], store));
  assert.match(
    text,
    /Unknown web not run for 11 min, was warning: .* Unknown , last run 2026-01-31 10:49 silenced not run for 11 min, was warning: /,
  );
  assert.match(
    text,
    /Pending notifications \(2\) pending: critical of &quot;web&quot; to mail to operators, decided 0 s ago, tried 2 times: connection refused/,
  );
  assert.match(text, / 2 pending notifications 1 dropped /);
  assert.match(text, /Dropped notifications \(1\) dropped: critical of &quot;web&quot;/);
  assert.match(
    text,
    /Silences \(2\) &quot;web&quot; for 59 min more \(maintenance\) all checks for 59 min more/,
  );
});

Deno.test("writeReport() shows a check whose last run lies in the future as unknown, and counts no future time", async () => {
  const store = await openInMemoryStore();
  const aheadMs = NOW_MS + 450 * DAY_MS;
  const base = recordOf("web");
  await store.save([
    updateOf("web", { rollup: entryOf(NOW_MS - HOUR_MS + 60_000, { lasted: "warning", lastedMs: 60_000 }) }),
    updateOf("web", {
      record: recordOf("web", {
        condition: { ...base.condition, confirmed: "ok", notified: "ok", observedAtMs: aheadMs },
        last: resultOf({ condition: "ok", startedAtMs: aheadMs }),
        nextRunAtMs: aheadMs + 60_000,
      }),
      rollup: entryOf(aheadMs, { lastedMs: HOUR_MS }),
    }),
  ]);
  const text = readText(await write([testCheck("ok", { name: "web" })], store));
  assert.match(
    text,
    /Unknown web last run is 450 d in the future, was ok: .* Unknown , last run 2027-04-26 12:00 last run/,
  );
  assert.match(
    text,
    /24 h 0\.00% ok 1 min observed 7 d 0\.00% ok 1 min observed 90 d 0\.00% ok 1 min observed 24 h 100% warning/,
  );
});

Deno.test("writeReport() shows at the top and in its title why no check runs", async () => {
  const rows: Readonly<Record<Exclude<NotRunning["state"], "unwritable">, string>> = {
    stopped:
      "was stopped at 2026-01-31 10:59 . No check runs until you start it. Under systemd: systemctl start monitor .",
    died:
      "terminated unexpectedly and was last seen at 2026-01-31 10:59 . No check runs until you start it. " +
      "Under systemd: systemctl start monitor . Its log has the reason: journalctl --unit monitor .",
    hangs: "hangs and was last seen at 2026-01-31 10:59 . No check runs until you restart it. " +
      "Under systemd: systemctl restart monitor . Its log has the reason: journalctl --unit monitor .",
  };
  for (const [state, reason] of Object.entries(rows)) {
    const notRunning = { state: state as NotRunning["state"], sinceMs: NOW_MS - 60_000 };
    const html = await write([testCheck("ok")], null, { ...FACTS, notRunning });
    const start = ` Unknown: monitor is not running monitor is not running: it ${reason} `;
    assert.equal(readText(html).slice(0, start.length), start);
    assert.doesNotMatch(readText(html), /Valid until|Updated every/);
    assert.match(html, /<title>\? not running: 1 not ok: monitor on host\.example<\/title>/);
    assert.match(
      html,
      /<nav aria-label=Sections><span class=u><a href="\?q=condition%3Aunknown" data-q="condition:unknown">1 unknown<\/a>/,
    );
  }
});

Deno.test("writeReport() renders an empty state, and a config without checks", async () => {
  assert.match(
    readText(await write([testCheck("ok")], null)),
    /^ No result yet .*No data: no check has run yet\. Run each once with monitor check --once -c monitor\.jsonc , or .*Unknown web never ran/,
  );
  assert.match(
    readText(await write([testCheck("ok")], null, { ...FACTS, isLive: true })),
    /^ No result yet .* The first results come within seconds of the start, .*monitor run NAME/,
  );
  const none = await write([], await openInMemoryStore());
  assert.match(
    readText(none),
    /^ No active checks .*Add a check with monitor add https:\/\/example\.org\/ , or/,
  );
  assert.match(none, /<link rel=icon href="[^"]*%239a6ee0/, "the icon of unknown");
  assert.match(readText(await write([], null, { ...FACTS, timeZone: "UTC" })), /Time zone: UTC\./);
});

Deno.test("writeReport() shows the trace of an ongoing problem", async () => {
  const store = await openInMemoryStore();
  const trace = "     0.1 ms  request GET http://web/\n             < x: <b>";
  await store.save(["fails", "recovered"].map((name) => {
    const record = recordOf(name);
    const condition = name === "fails" ? record.condition : { ...record.condition, confirmed: "ok" as const };
    return updateOf(name, { record: { ...record, condition }, change: changeOf(name, NOW_MS, { trace }) });
  }));
  const html = await write(["fails", "recovered"].map((name) => testCheck("ok", { name })), store);
  assert.equal(html.split("Trace of the run that confirmed the problem").length - 1, 1);
  assert.match(html, /<pre> {5}0\.1 ms {2}request GET http:\/\/web\/\n +&lt; x: &lt;b&gt;<\/pre>/);
});

Deno.test("writeReport() limits the size of a page with many checks and long outputs", async () => {
  const store = await openInMemoryStore();
  const names = Array.from({ length: 300 }, (_, index) => `check ${index}`);
  const long = "<".repeat(16_384);
  await store.save(names.map((name) =>
    updateOf(name, {
      record: recordOf(name, { last: resultOf({ output: long, detail: long }) }),
      change: changeOf(name, NOW_MS - HOUR_MS, { output: long, trace: long }),
    })
  ));
  const html = await write(names.map((name) => testCheck("ok", { name })), store);
  assert.ok(html.length < 1_500_000, String(html.length));
  assert.equal(html.split("<summary>Last change").length - 1, 100);
  assert.equal(html.split("<summary>Trace of").length - 1, 5);
});

// The parts of the page beyond the checks themselves.

function pageOf(name: string): Promise<string> {
  return writeState(PAGE_STATES[name] ?? assert.fail(name));
}

async function textOf(name: string): Promise<string> {
  const html = await pageOf(name);
  return html.slice(html.indexOf("<header ")).replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
}

Deno.test("writeReport() shows title, description and announcements of the config, the latest first", async () => {
  const html = await pageOf("everything");
  assert.match(html, /<title>10 not ok: Status of example\.org<\/title>/);
  const text = await textOf("everything");
  assert.match(text, /^ Status of example\.org 10 of 16 checks are not ok 4 critical .* Shop, API and jobs/);
  assert.match(
    text,
    / Announcements 2026-01-31 09:30 We are looking into slow responses of the shop\. 2026-01-30 The database moves to a new server on Sunday\. Problems/,
  );
  assert.doesNotMatch(text, /This is over/);
  assert.doesNotMatch(await textOf("ok"), /Announcements/);
});

Deno.test("writeReport() shows problems first, then failures that are not confirmed, then groups by the first tag", async () => {
  const text = await textOf("everything");
  const headings = [
    "Problems (9)",
    "Pending (1)",
    "Failing, not confirmed (1)",
    " إنتاج (1)",
    " website (2)",
    " jobs (1)",
    "Other checks (1)",
    "Pending notifications (1)",
    "Silences (1)",
    "Latest incidents",
    "Inactive (1)",
  ];
  assert.deepEqual(headings.toSorted((one, other) => text.indexOf(one) - text.indexOf(other)), headings);
  assert.match(
    text,
    /Ok Flapping service last critical, 1 of 3: connection refused 90 d.*? flapping \u00b7 website Ok since .{16} critical, not confirmed /,
  );
  assert.match(
    text,
    /Pending Never succeeded critical, 1 of 3: connection refused \u00b7 2 min .*? starting Pending since /,
  );
  assert.match(
    text,
    /Critical A silenced problem [^\u00b7]* \u00b7 3 d \u00b7 silenced .*? silenced Critical since .{16} , for 3 d silenced /,
  );
  assert.match(
    text,
    /Warning In its maintenance window restarting .*?\u00b7 10 min \u00b7 maintenance .*? maintenance until 2026-01-31 13:00 /,
  );
});

Deno.test("writeReport() lists the latest incidents by day, each with a link to its check", async () => {
  const html = await pageOf("ok");
  assert.match(
    html,
    /<h2 id=incidents>Latest incidents<\/h2>[^]*<h3>\d{4}-\d\d-\d\d<\/h3><ul[^]*<a href="#check-web">Website<\/a> <b>critical<\/b>, its end was not observed: /,
  );
});

Deno.test("writeReport() shows checks without a confirmed condition as pending, and nothing as ok", async () => {
  const html = await pageOf("pending");
  assert.match(html, /<title>2 pending: monitor on host\.example<\/title>/);
  assert.match(html, /<link rel=icon href="data:image\/svg\+xml,[^"]*%232f9ab5/);
  assert.match(html, /<h1>2 of 2 checks are pending<\/h1>/);
  assert.match(
    html,
    /<nav aria-label=Sections><span class=p><a [^>]*data-q="condition:pending">2 pending<\/a><\/span><\/nav>/,
  );
  assert.equal(html.match(/<li class=p /g)?.length, 2);
  assert.match(html, /<path class=p /);
  const text = html.slice(html.indexOf("<main>"), html.indexOf("<footer>")).replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ");
  assert.doesNotMatch(text, /(?<!not )\bok\b/i);
  const one = await writeState({ shown: (PAGE_STATES["pending"]?.shown ?? []).slice(0, 1) });
  assert.match(one, /<h1>The check is pending<\/h1>/);
  const ok = PAGE_STATES["ok"]?.shown ?? [];
  const mixed = await writeState({ shown: [...ok, ...PAGE_STATES["pending"]?.shown ?? []] });
  assert.match(mixed, /<h1>2 of 6 checks are pending<\/h1>/);
});

Deno.test("writeReport() reloads a file at its interval, and a live page only without JavaScript", async () => {
  const [file, live] = [await pageOf("everything"), await pageOf("live")];
  assert.match(
    file,
    /<\/style>\n<meta http-equiv=refresh content=60>\n<p id=live role=status><\/p>\n<header /,
  );
  assert.match(live, /<noscript><meta http-equiv=refresh content=60><\/noscript>/);
  const once = await writeState({ ...PAGE_STATES["ok"] ?? assert.fail(), facts: { intervalMs: null } });
  assert.doesNotMatch(once, /refresh/);
});

Deno.test("writeReport() links each check of a live page to its own page", async () => {
  const live = await pageOf("live");
  assert.match(live, /<h3>🛒 Shop.*?<a href="checks\/emoji%20%F0%9F%9B%92">/);
  const one = await pageOf("one_check");
  assert.match(one, /<title>critical: Shop: monitor on host\.example<\/title>/);
  assert.match(one, /<nav aria-label=Sections><a href=\.\.\/>All checks<\/a><\/nav>/);
  assert.match(
    one,
    /<summary>Last 50 runs<\/summary><ul class=e><li><time>2026-01-31 11:00<\/time> <b>critical<\/b> /,
  );
});

Deno.test("readFilter() reads words, fields and the order of a query", async (t) => {
  const rows = {
    "nothing": ["", "", "urgent"],
    "words": ["?q=shop+redis", "shop redis", "urgent"],
    "a field": ["?tag=My+Shop&q=web&condition=ok", "web tag:my_shop condition:ok", "urgent"],
    "an order": ["?sort=slowest", "", "slowest"],
    "an unknown order": ["?sort=up", "", "urgent"],
    "words that are too long": [`?q=${"x".repeat(300)}`, "x".repeat(200), "urgent"],
  } as const;
  await testRows(t, rows, ([query, words, sort]) => {
    assert.deepEqual(readFilter(new URLSearchParams(query)), { words, sort });
  });
});

Deno.test("isFound() finds all words anywhere, and fields exactly", async (t) => {
  const [fields, text] = [
    "condition:critical kind:http_request tag:shop",
    "Redis redis-1 Connection refused",
  ];
  const rows = {
    "": true,
    " refused  REDIS ": true,
    "redis mysql": false,
    "tag:shop": true,
    "tag:sho": false,
    "http": true,
    "condition:critical refused": true,
    "condition:ok": false,
  } as const;
  await testRows(t, rows, (found, words) => assert.equal(isFound(words, fields, text), found));
});

Deno.test("writeReport() hides checks that the filter does not match, also without a script, and sorts", async () => {
  const shownOf = async (query: string): Promise<readonly string[]> => {
    const filter = readFilter(new URLSearchParams(query));
    const html = await writeState({
      ...PAGE_STATES["live"] ?? assert.fail(),
      facts: { isLive: true, filter },
    });
    return [...html.matchAll(/<li class=\w id="check-([^"]*)"[^>]*? data-share=\S+( hidden)?>/g)]
      .flatMap(([, name = "", hidden]) => hidden === undefined ? [name.slice(0, 10)] : []);
  };
  assert.deepEqual(await shownOf("?q=refused+condition:critical"), ["silenced"]);
  assert.deepEqual((await shownOf("?sort=slowest")).slice(0, 1), ["database"]);
});

// How large a page gets.

const CHECKS = 1000;
const BYTES_MAX = 1_000_000;

/**
 * A bad day of a large installation: 5 % of the checks are down, 10 % flap, and each of the others had one to three bad days in 90.
 * Durations vary each day, names and outputs are long, and all changes have long traces.
 */
function snapshotOf(count: number): ReportSnapshot {
  const random = createRandom(7, "page").next;
  const checks = Array.from({ length: count }, (_, index) => checkAt(index, random));
  const detailed = new Set(mostDetailed(checks).slice(0, 100));
  return {
    nowMs: NOW_MS,
    hostName: "monitor1.production.example.org",
    timeZone: "Europe/Berlin",
    configLabel: "/etc/monitor/monitor.jsonc",
    text: null,
    intervalMs: 60_000,
    notRunning: null,
    failedReload: null,
    checks: checks.map((check) => ({ ...check, isDetailed: detailed.has(check) })),
    inactive: [],
    rows: [],
    silences: [],
    members: null,
  };
}

function checkAt(index: number, random: () => number): PageCheck {
  const isDown = index % 20 === 0;
  const isFlapping = index % 10 === 1;
  const condition: Condition = isDown ? CONDITIONS[1 + (index / 20) % 3] ?? "critical" : "ok";
  const isFaulty = (share: number): boolean => random() < (isFlapping ? 0.2 : share);
  const slots = (length: number, share: number) =>
    Array.from({ length }, (): PageSlot => ({
      highest: isFaulty(share) ? CONDITIONS[1 + Math.floor(random() * 3)] ?? "critical" : "ok",
      failedRuns: isFaulty(share) ? 2 : 0,
    }));
  const name = `shop-frontend-${String(index).padStart(4, "0")}`;
  const title = `Shop ${index} of the frontend, order page`;
  const check = { ...testCheck("ok", { name }), title, tags: [`region-${index % 12}`, "production"] };
  const output = isDown
    ? "connecting to shop.example.org:443 failed: connection refused"
    : "status is 200, 84 ms";
  const record = recordOf(name, {
    condition: {
      ...recordOf(name).condition,
      confirmed: condition,
      notified: condition,
      observed: condition,
    },
    last: resultOf({ condition, output, detail: isDown ? "x".repeat(2000) : "", metrics: {} }),
  });
  const trace = "     0.1 ms  request GET https://shop.example.org/\n".repeat(100);
  return {
    ...statusOf(check, { recordOf: () => record, nowMs: NOW_MS }),
    spans: (["24 h", "7 d", "90 d"] as const).map((label, place) => {
      const isBad = place === 2 || isFlapping || isDown;
      const faultyMs = isBad ? DAY_MS / 20 : 0;
      const lastedMs = { ok: DAY_MS - 2 * faultyMs, unknown: 0, warning: faultyMs, critical: faultyMs };
      const failedRuns = isBad ? 21 : 0;
      return { label, ms: DAY_MS, ...availabilityOf(lastedMs), runs: 1440, failedRuns, failedStreakMax: 4 };
    }),
    isDetailed: true,
    hours: slots(HOURS_SHOWN, 0.005),
    days: slots(DAYS_SHOWN, 0.015).map((day) => ({ ...day, durationP95Ms: 80 + random() * 40 })),
    recent: slots(50, 0.005).map(({ highest }, place) => ({
      endedAtMs: NOW_MS - place * 60_000,
      condition: countedAs(highest ?? "ok"),
      durationMs: 84,
    })),
    changes: [1, 2, 3, 4, 5].map((hour) => changeOf(name, NOW_MS - hour * HOUR_MS, { output, trace })),
  };
}

Deno.test("renderReport() renders 1,000 checks on a bad day in less than 1 MB, with the details of 100", () => {
  const snapshot = snapshotOf(CHECKS);
  for (const isLive of [false, true]) {
    const html = [...renderReport({ ...snapshot, isLive })].join("");
    const bytes = new TextEncoder().encode(html).length;
    assert.ok(bytes < BYTES_MAX, `${bytes}`);
    assert.equal(html.split("<summary>Last 3 changes").length - 1, 100);
    assert.equal(html.split("<summary>Trace of").length - 1, 5);
  }
});
