import assert from "node:assert/strict";
import { incidentsOf } from "../../../src/outputs/html_report/render_own_page.ts";
import { PAGE_STATES, writeState } from "../../page/states.ts";
import { changeOf } from "../../state/records.ts";
import { type Rows, testRows, testTable } from "../../support/rows.ts";
import { renderStrips } from "../../../src/outputs/html_report/strips.ts";
import { createPlainTime } from "../../../src/outputs/markup.ts";
import { DAYS_SHOWN, HOURS_SHOWN, type PageDay } from "../../../src/outputs/html_report/snapshot.ts";
import type { Condition } from "../../../src/domain/condition.ts";
import type { RecentRun } from "../../../src/domain/store.ts";
import { renderMeasures } from "../../../src/outputs/html_report/render_check.ts";

Deno.test("incidentsOf() joins changes from the first problem until ok", (t) =>
  testTable(
    t,
    `
      none                     |                                   |
      one that lasts           | 1 ok critical                     | 1- critical
      one that is over         | 1 ok critical, 5 critical ok      | 1-5 critical
      it gets worse and better | 1 ok warning, 2 warning critical, 3 critical warning, 4 warning ok | 1-4 critical
      two                      | 1 ok warning, 2 warning ok, 7 ok unknown | 7- unknown, 1-2 warning
      the first ok             | 1 pending ok                      |
      an unobserved end        | 1 ok critical, 9 ok warning       | 9- warning, 1- critical
      only the end             | 4 critical ok                     |
      only a part              | 4 critical warning, 6 warning ok, 8 ok unknown | 8- unknown
      pending before           | 3 pending critical                | 3- critical
    `,
    (_name, text, expected) => {
      const changes = (text === "" ? [] : text.split(", ")).map((change) => {
        const [at = "", from = "", to = ""] = change.split(" ");
        return { ...changeOf("web", Number(at)), from, to } as ReturnType<typeof changeOf>;
      });
      const found = incidentsOf(changes.toReversed()).map(({ beganAtMs, endedAtMs, highest }) =>
        `${beganAtMs}-${endedAtMs ?? ""} ${highest}`
      );
      assert.equal(found.join(", "), expected);
    },
  ));

Deno.test("the page of a check has its response times, incidents, settings and command lines", async () => {
  const { shown: checks, ...state } = PAGE_STATES["one_check"] ?? assert.fail();
  const target = "https://shop.example.org/";
  const html = await writeState({
    ...state,
    shown: checks.map((one) => ({ ...one, check: { ...one.check, target } })),
  });
  const text = html.slice(html.indexOf("<main>")).replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  assert.match(text, / Response times .*90 d: p50 \d+ ms to \d+ ms, p95 \d+ ms to \d+ ms, p99 \d/);
  assert.match(
    text,
    / Incidents \(2\) 2026-01-31 09:00 critical , for 2 h: .* Trace of the run that confirmed it /,
  );
  assert.match(html, /<details class=trace open>/);
  assert.match(
    text,
    / Settings Kind test Target https:\/\/shop\.example\.org\/ Runs every 1 min, while it fails every /,
  );
  assert.match(
    text,
    / Objective 99\.9% in 30 d missed: [\d.]+% up, .* error budget used Channel chat everything /,
  );
  assert.match(text, / Channel pager only critical /);
  assert.match(text, / monitor why shop monitor history shop monitor run shop monitor acknowledge shop /);
});

const NOW_MS = Date.UTC(2026, 0, 31, 10, 20);
const CONDITIONS: Readonly<Record<string, Condition>> = {
  o: "ok",
  u: "unknown",
  w: "warning",
  c: "critical",
};

/** The last slots, a letter each: the first one of a condition, a capital for ok with failed runs, a dot without data. */
function slotsOf(
  letters: string,
  { shown, p95s = [] }: { readonly shown: number; readonly p95s?: readonly (number | null)[] },
): readonly PageDay[] {
  return [...letters.padStart(shown, ".")].map((letter, index) => ({
    highest: CONDITIONS[letter.toLowerCase()] ?? null,
    failedRuns: letter === "O" ? 2 : 0,
    durationP95Ms: p95s[index - (shown - letters.length)] ?? null,
  }));
}

/** Runs a minute apart, the oldest first in the letters. */
function runsOf(letters: string): readonly RecentRun[] {
  return [...letters].reverse().map((letter, index) => ({
    endedAtMs: NOW_MS - index * 60_000,
    condition: CONDITIONS[letter] ?? "ok",
    durationMs: 10,
  }));
}

interface Letters {
  readonly days?: string;
  readonly hours?: string;
  readonly runs?: string;
  readonly p95s?: readonly (number | null)[];
  readonly daysPerPoint?: number;
}

function render({ days = "", hours = "", runs = "", p95s = [], daysPerPoint = 1 }: Letters): string {
  return renderStrips({
    days: slotsOf(days, { shown: DAYS_SHOWN, p95s }),
    hours: slotsOf(hours, { shown: HOURS_SHOWN }),
    recent: runsOf(runs),
  }, {
    nowMs: NOW_MS,
    plainTime: createPlainTime("Europe/Berlin"),
    scale: { daysPerPoint, stretchesMax: 5 },
    hasDays: true,
  }).toString();
}

/** The paths by their classes, joined. */
function pathsOf(html: string): Readonly<Record<string, string>> {
  const paths = [...html.matchAll(/<path(?: class=(\w))? d="([^"]*)"/g)];
  return Object.fromEntries(
    [...Map.groupBy(paths, ([, name = "k"]) => name)].map(([name, found]) => [
      name,
      found.map(([, , path]) => path).join(" "),
    ]),
  );
}

function tooltipsOf(html: string): readonly string[] {
  return [...html.matchAll(/<title>(.*?)<\/title>/g)].map(([, text]) => text ?? "");
}

Deno.test("renderStrips() draws equal days in a row as one stroke, one path a condition, over all data", () => {
  assert.deepEqual(pathsOf(render({ days: "oooccowu..o" })), {
    k: "M79 24h8m2 0h1",
    u: "M86 24h1",
    w: "M85 24h1",
    x: "M82 24h2",
  });
});

Deno.test("renderStrips() draws hours and runs as wide as the days, the latest at the end", () => {
  assert.deepEqual(pathsOf(render({ hours: "oc" })), { k: "M82.5 37h7.5", x: "M86.25 37h3.75" });
  assert.deepEqual(pathsOf(render({ runs: "ccwo" })), {
    k: "M82.8 50h7.2",
    w: "M86.4 50h1.8",
    x: "M82.8 50h3.6",
  });
});

Deno.test("renderStrips() marks failed runs within ok periods", () => {
  const html = render({ days: "oOo", hours: "O" });
  assert.deepEqual(pathsOf(html), { k: "M87 24h3M86.25 37h3.75", f: "M88 24h1 M86.25 37h3.75" });
  assert.deepEqual(tooltipsOf(html), ["90 d: failed runs: 01-30", "24 h: failed runs: 11:00 to 12:00"]);
});

Deno.test("renderStrips() shows the periods that were not ok in tooltips", async (t) => {
  const rows: Rows<[letters: Letters, tooltips: readonly string[]]> = {
    "days": [{ days: "ccowo" }, ["90 d: warning: 01-30", "90 d: critical: 01-27 to 01-28"]],
    "hours": [{ hours: "ccou" }, ["24 h: unknown: 11:00 to 12:00", "24 h: critical: 08:00 to 10:00"]],
    "runs": [{ runs: "cocco" }, ["3 of 5 runs critical: 11:16, 11:18 to 11:19"]],
    "many stretches": [{ days: "cocococococococo" }, [
      "90 d: critical: 3 earlier, 01-22, 01-24, 01-26, 01-28, 01-30",
    ]],
  };
  await testRows(t, rows, ([letters, tooltips]) => assert.deepEqual(tooltipsOf(render(letters)), tooltips));
});

Deno.test("renderStrips() draws the line from 0 to the highest p95, with gaps without runs", () => {
  const html = render({ days: "ooo.ooo", p95s: [100, 50, 50, null, 0, 100, 100] });
  assert.equal(pathsOf(html)["l"], "M83.5 1h0l1 8h1M87.5 17h0l1-16h1");
  assert.match(html, /<p class=m>100 ms<\/p>$/);
});

Deno.test("renderStrips() draws the slowest of several days as a point", () => {
  const html = render({ days: "oooooo", p95s: [10, 30, 40, 40, 0, 0], daysPerPoint: 2 });
  assert.equal(pathsOf(html)["l"], "M85 5h0l2-4 2 16");
});

Deno.test("renderStrips() draws nothing without data", () => {
  assert.match(
    render({}),
    /^<svg class="three" viewBox="0 0 90 56" preserveAspectRatio=none><\/svg><p class=m><\/p>$/,
  );
});

Deno.test("renderMeasures() shows metrics that have thresholds, with their units", async (t) => {
  const table = `
    none   | {"status":200,"total_ms":4} |
    a percentage and a size | {"free_bytes":83188420608,"free_percent":76.473,"free_percent_critical_below":5, \
      "free_bytes_warning_below":20e9} | \
      <p class=f>free <b>76.47%</b>, critical below 5%; free <b>83.2 GB</b>, warning below 20 GB</p>
    both thresholds of a time | {"round_trip_ms":1.25,"round_trip_ms_critical_above":500, \
      "round_trip_ms_warning_above":100} | \
      <p class=f>round trip <b>1.25 ms</b>, critical above 500 ms, warning above 100 ms</p>
    an age and a number | {"age_max_seconds":90,"age_max_seconds_warning_above":3600,"load1":0.5, \
      "load1_warning_above":2} | \
      <p class=f>age max <b>1 min 30 s</b>, warning above 1 h; load1 <b>0.5</b>, warning above 2</p>
    a threshold of nothing | {"free_percent_critical_below":5} |
    a name of another application | {"<b>":1,"<b>_warning_above":2} | \
      <p class=f>&lt;b&gt; <b>1</b>, warning above 2</p>`;
  await testTable(t, table, (_, metrics, html) => {
    assert.equal(renderMeasures(JSON.parse(metrics)).toString(), html);
  });
});
