/** How large a page gets. */
import assert from "node:assert/strict";
import { type Condition, CONDITIONS, countedAs } from "../../../src/domain/condition.ts";
import { statusOf } from "../../../src/engine/check_status.ts";
import { availabilityOf } from "../../../src/state/availability.ts";
import { mostDetailed, renderReport } from "../../../src/outputs/html_report/render_report.ts";
import {
  DAYS_SHOWN,
  HOURS_SHOWN,
  type PageCheck,
  type PageSlot,
  type ReportSnapshot,
} from "../../../src/outputs/html_report/snapshot.ts";
import { DAY_MS, HOUR_MS } from "../../../src/shared/time_units.ts";
import { changeOf, NOW_MS, recordOf, resultOf } from "../../state/records.ts";
import { createRandom } from "../../../testing/random.ts";
import { testCheck } from "../../support/checks.ts";

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
