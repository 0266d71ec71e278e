import assert from "node:assert/strict";
import { initialState } from "../../src/condition/condition_state.ts";
import { lastingSilences, silencesOf } from "../../src/engine/silences.ts";
import { silenceOf } from "../state/records.ts";
import { type Rows, testRows } from "../support/rows.ts";

const NOW = 1_800_000_000_000;
const OF_WEB = silenceOf("s", { check: "web", fromMs: NOW - 5, untilMs: NOW + 5 });
const UNTIL_OK = { ...OF_WEB, problemBeganAtMs: NOW - 9 };

Deno.test("silencesOf() returns silences from begin to end, and ends one until ok with its problem", async (t) => {
  type Row = readonly [silence: typeof OF_WEB, began: number | null, nowMs: number, isSilenced: boolean];
  const rows: Readonly<Record<string, Row>> = {
    "one that begins now": [OF_WEB, null, NOW - 5, true],
    "one of another machine, whose clock is ahead": [OF_WEB, null, NOW - 3_600_000, true],
    "one that ends now": [OF_WEB, null, NOW + 5, false],
    "its problem": [UNTIL_OK, NOW - 9, NOW, true],
    "its problem, and the clock was set back behind the silence": [UNTIL_OK, NOW - 9, NOW - 20, true],
    "no problem": [UNTIL_OK, null, NOW, false],
    "a later problem": [UNTIL_OK, NOW - 4, NOW, false],
    "a later problem that began earlier, since the clock was set back": [UNTIL_OK, NOW - 20, NOW, false],
    "its problem after the longest time": [UNTIL_OK, NOW - 9, NOW + 5, false],
  };
  await testRows(t, rows, ([silence, problemBeganAtMs, nowMs, isSilenced]) => {
    const check = { name: "web", tags: [], problemBeganAtMs };
    assert.equal(silencesOf(check, [silence], { kind: "silence", nowMs }).length, isSilenced ? 1 : 0);
  });
});

Deno.test("lastingSilences() drops one until ok once its problem has ended", async (t) => {
  const rows: Rows<[silence: typeof OF_WEB, record: string, began: number | null, lasts: boolean]> = {
    "its problem goes on": [UNTIL_OK, "web", NOW - 9, true],
    "its problem has ended": [UNTIL_OK, "web", null, false],
    "a later problem": [UNTIL_OK, "web", NOW, false],
    "only another check has a problem": [UNTIL_OK, "mail", NOW - 9, false],
    "until a time": [OF_WEB, "web", null, true],
  };
  await testRows(t, rows, ([silence, name, problemBeganAtMs, lasts]) => {
    const record = { name, condition: { ...initialState(), problemBeganAtMs } };
    assert.deepEqual(lastingSilences([silence], [record]), lasts ? [silence] : []);
  });
});
