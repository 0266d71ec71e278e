import assert from "node:assert/strict";
import type { PageFacts } from "../../../src/outputs/html_report/snapshot.ts";
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
