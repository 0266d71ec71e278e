import assert from "node:assert/strict";
import { renderChart } from "../../../src/outputs/html_report/chart.ts";
import type { PageDay } from "../../../src/outputs/html_report/snapshot.ts";
import type { Condition } from "../../../src/domain/condition.ts";

const NOW_MS = Date.UTC(2026, 0, 31, 10);

/** A day for each letter: the first one of a condition, or a dot for a day without a look. */
function daysOf(letters: string, means: readonly (number | null)[] = []): readonly PageDay[] {
  const conditions: Readonly<Record<string, Condition>> = {
    o: "ok",
    u: "unknown",
    w: "warning",
    c: "critical",
  };
  return [...letters].map((letter, index) => ({
    highest: conditions[letter] ?? null,
    durationMeanMs: letter === "." ? null : means[index] ?? 10,
  }));
}

function pathsOf(html: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...html.matchAll(/<path class=(\w) d="([^"]*)"/g)].map(([, name, path]) => [name, path]),
  );
}

function labelOf(html: string): string | undefined {
  return /aria-label="([^"]*)"/.exec(html)?.[1];
}

const ONE = { nowMs: NOW_MS, daysPerPoint: 1 };

Deno.test("renderChart() draws the days of each condition as strokes of equal days", () => {
  const { l: _, ...strip } = pathsOf(renderChart(daysOf("oooccowu..o"), ONE));
  assert.deepEqual(strip, {
    k: "M0 28h3m2 0h1m4 0h1",
    u: "M7 28h1",
    w: "M6 28h1",
    x: "M3 28h2",
  });
});

Deno.test("renderChart() draws the line from 0 to the highest mean, broken where there was no run", () => {
  const html = renderChart(daysOf("ooo.ooo", [100, 50, 50, null, 0, 100, 100]), ONE);
  assert.equal(pathsOf(html)["l"], "M0.5 1h0l1 9h1M4.5 19h0l1-18h1");
  assert.match(html, /<p class=m aria-hidden=true>100 ms<br>0<\/p>$/);
});

Deno.test("renderChart() takes the mean of several days for a point", () => {
  const html = renderChart(daysOf("oooooo", [10, 30, 40, 40, 0, 0]), { nowMs: NOW_MS, daysPerPoint: 2 });
  assert.equal(pathsOf(html)["l"], "M1 10h0l2-9 2 18");
});

Deno.test("renderChart() says in words what it shows", async (t) => {
  const rows: Readonly<Record<string, readonly [days: readonly PageDay[], label: string]>> = {
    "all is well": [daysOf("ooo"), "Days: 3 ok. Runs took 10 ms"],
    "trouble, the latest first": [
      daysOf("ccowo", [1, 2000, 1, 1, 1]),
      "Days: 2 critical, 1 warning, 2 ok: warning 01-30, critical 01-27 to 01-28. Runs took 1 ms to 2.0 s",
    ],
    "no data": [daysOf("..."), "Days: 3 without data. No runs"],
    "much trouble": [
      daysOf("cocococococococo"),
      "Days: 8 critical, 8 ok: critical 01-30, critical 01-28, critical 01-26, critical 01-24, critical 01-22, " +
      "critical 01-20 and 2 earlier. Runs took 10 ms",
    ],
  };
  for (const [name, [days, label]] of Object.entries(rows)) {
    await t.step(name, () => assert.equal(labelOf(renderChart(days, ONE)), label));
  }
});
