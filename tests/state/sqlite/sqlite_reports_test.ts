import assert from "node:assert/strict";
import type { NewReport, Reporting } from "../../../src/domain/reports.ts";
import { HOSTILE_TEXTS } from "../hostile.ts";
import { NOW_MS, updateOf } from "../records.ts";
import { withState, withStatePath } from "../state_directory.ts";

const REPORTING: Reporting = {
  stream: "stream-1",
  received: 0,
  dropped: 0,
  rejected: [],
  sentAtMs: null,
  failure: null,
};

function reportOf(output: string, fields: Partial<NewReport> = {}): NewReport {
  return {
    run: {
      check: "web",
      condition: "warning",
      output,
      detail: "more",
      performanceData: "time=1",
      metrics: { status: 500 },
      durationMs: 12.5,
      lateMs: null,
      nextRunInMs: 60_000,
      overdueInMs: 180_000,
      awaits: "checks",
      isInterrupted: true,
    },
    endedAtMs: NOW_MS,
    process: "process",
    monotonicMs: 1234.5,
    ...fields,
  };
}

Deno.test("reports are stored with their updates, and returned whole and in order", () =>
  withStatePath((path) =>
    withState(path, async (store) => {
      const reports = HOSTILE_TEXTS.map((text) => reportOf(text));
      await store.save(reports.map((report) => updateOf("web", { report })));
      const { reports: stored, waiting } = await store.reports(1_000);
      assert.equal(waiting, reports.length);
      assert.deepEqual(stored.map(({ sequence: _, ...report }) => report), reports);
      assert.deepEqual(
        stored.map(({ sequence }) => sequence),
        reports.map((_, index) => NOW_MS * 1000 + index),
      );
      assert.deepEqual((await store.reports(1)).reports, stored.slice(0, 1));
    })
  ));

Deno.test("reports that were received are deleted, and no sequence comes again after that", () =>
  withStatePath(async (path) => {
    let last = 0;
    await withState(path, async (store) => {
      assert.equal(await store.reporting(), null);
      await store.save(["a", "b", "c"].map((text) => updateOf("web", { report: reportOf(text) })));
      const [, second, third] = (await store.reports(9)).reports;
      last = third?.sequence ?? 0;
      const reporting = {
        ...REPORTING,
        received: second?.sequence ?? 0,
        dropped: 2,
        rejected: ["ä"],
        sentAtMs: NOW_MS,
      };
      await store.keepReporting(reporting);
      assert.deepEqual(await store.reporting(), reporting);
      assert.deepEqual((await store.reports(9)).reports, [third]);
      await store.keepReporting({ ...reporting, received: last });
      assert.deepEqual(await store.reports(9), { reports: [], waiting: 0 });
    });
    await withState(path, async (store) => {
      // The clock was set back.
      await store.save([updateOf("web", { report: reportOf("d", { endedAtMs: 0 }) })]);
      assert.deepEqual((await store.reports(9)).reports.map(({ sequence }) => sequence), [last + 1]);
    });
  }));

Deno.test("the oldest reports beyond a number are dropped", () =>
  withStatePath((path) =>
    withState(path, async (store) => {
      assert.equal(await store.dropReports(2), 0);
      await store.save(["a", "b", "c", "d"].map((text) => updateOf("web", { report: reportOf(text) })));
      assert.equal(await store.dropReports(3), 1);
      assert.equal(await store.dropReports(3), 0);
      const { reports, waiting } = await store.reports(9);
      assert.equal(waiting, 3);
      assert.deepEqual(reports.map(({ run }) => run.output), ["b", "c", "d"]);
    })
  ));
