import assert from "node:assert/strict";
import { statusOf } from "../../../src/engine/check_status.ts";
import { newerText, PageHistories, PageRows } from "../../../src/outputs/html_report/page_rows.ts";
import { NO_HISTORY, type PageCheck } from "../../../src/outputs/html_report/snapshot.ts";
import { markup } from "../../../src/outputs/markup.ts";
import type { Condition } from "../../../src/domain/condition.ts";
import type { CheckRecord } from "../../../src/domain/store.ts";
import { HOUR_MS } from "../../../src/shared/time_units.ts";
import { NOW_MS, recordOf, resultOf } from "../../state/records.ts";
import { testCheck } from "../../support/checks.ts";
import { type Rows, testRows } from "../../support/rows.ts";

const CHECK = testCheck("ok", { name: "web" });

function recordAt(startedAtMs: number, condition: Condition = "ok"): CheckRecord {
  const record = recordOf("web", { last: resultOf({ condition, startedAtMs }) });
  return {
    ...record,
    condition: { ...record.condition, confirmed: "ok", confirmedSinceMs: NOW_MS - HOUR_MS },
    nextRunAtMs: NOW_MS + HOUR_MS,
    overdueAtMs: null,
  };
}

function statusWith(record: CheckRecord): PageCheck {
  return { ...statusOf(CHECK, { recordOf: () => record, nowMs: NOW_MS }), ...NO_HISTORY };
}

const BEFORE = recordAt(NOW_MS - 60_000);
const FAILED = recordAt(NOW_MS, "critical");

Deno.test("PageHistories reads a history again after a change, a failed run, an hour, and on another day", async (t) => {
  const rows: Rows<[record: CheckRecord, nowMs: number, isKept: boolean]> = {
    "the same run": [BEFORE, NOW_MS, true],
    "another run that is ok": [recordAt(NOW_MS), NOW_MS + 60_000, true],
    "a run that failed": [FAILED, NOW_MS, false],
    "another condition in between": [
      { ...recordAt(NOW_MS), condition: { ...BEFORE.condition, confirmedSinceMs: NOW_MS } },
      NOW_MS,
      false,
    ],
    "almost half an hour": [BEFORE, NOW_MS + HOUR_MS / 2 - 1, true],
    "an hour": [BEFORE, NOW_MS + HOUR_MS, false],
    "another day": [BEFORE, NOW_MS + 24 * HOUR_MS, false],
    "a clock that was set back": [BEFORE, NOW_MS - 1, false],
  };
  await testRows(t, rows, ([record, nowMs, isKept]) => {
    const histories = new PageHistories();
    histories.keep(statusWith(BEFORE), NO_HISTORY, NOW_MS);
    assert.equal(histories.get(statusWith(record), nowMs), isKept ? NO_HISTORY : null);
  });
  await t.step("a day that begins within the hour", () => {
    const histories = new PageHistories();
    const lateMs = Date.UTC(2026, 0, 31, 23, 55);
    histories.keep(statusWith(BEFORE), NO_HISTORY, lateMs);
    assert.equal(histories.get(statusWith(BEFORE), lateMs + 6 * 60_000), null);
  });
  await t.step("of many checks that were read at once, half after 45 minutes, on the second day too", () => {
    const histories = new PageHistories();
    const many = Array.from({ length: 720 }, (_, index) => {
      const status = statusWith(BEFORE);
      return { ...status, check: { ...status.check, name: `web ${index}` } };
    });
    for (const days of [0, 1]) {
      const readAtMs = Date.UTC(2026, 0, 30 + days, 12);
      for (const status of many) histories.keep(status, NO_HISTORY, readAtMs);
      const due = many.filter((status) => histories.get(status, readAtMs + 45 * 60_000) === null);
      assert.equal(due.length, 362);
    }
  });
  await t.step("a failing check whose run is the same", () => {
    const histories = new PageHistories();
    histories.keep(statusWith(FAILED), NO_HISTORY, NOW_MS);
    assert.equal(histories.get(statusWith(FAILED), NOW_MS), NO_HISTORY);
    assert.equal(histories.get(statusWith({ ...FAILED }), NOW_MS), null);
  });
});

Deno.test("PageRows renders a row again only if it may have changed, and counts a version only if it did", () => {
  const rows = new PageRows("id");
  const rendered: string[] = [];
  const row = (status: PageCheck, text: string) =>
    rows.get(status, () => {
      rendered.push(text);
      return markup`<li id="check-web">${text}`;
    });
  const status = statusWith(BEFORE);
  assert.equal(rows.begin(), "id-1");
  assert.equal(row(status, "a").version, 1);
  assert.equal(rows.begin(), "id-2");
  assert.equal(row({ ...status }, "unread").version, 1);
  rows.begin();
  assert.equal(row(statusWith(recordAt(NOW_MS)), "a").version, 1, "the same text");
  rows.begin();
  const changed = row(statusWith(recordAt(NOW_MS)), "b");
  assert.equal(changed.version, 4);
  assert.deepEqual(rendered, ["a", "a", "b"]);
  for (const other of [{ isDetailed: true }, { condition: "critical" as const }, { isSilenced: true }]) {
    row({ ...status, ...other }, "c");
  }
  assert.equal(rendered.length, 6);
  assert.deepEqual([3, 4].map((version) => newerText(changed, version)), [
    '<li id="check-web">b',
    '<li id="check-web">',
  ]);
  assert.equal(newerText("<main>", 9), "<main>");
  const versions = ["id-4", "id-5", "id-", "xx-1", "other-1", ""].map((version) => rows.numberOf(version));
  assert.deepEqual(versions, [4, null, 0, null, null, null]);
});
