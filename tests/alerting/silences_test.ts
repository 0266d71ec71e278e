import assert from "node:assert/strict";
import { initialState } from "../../src/condition/transition.ts";
import type { Silence } from "../../src/domain/outbox.ts";
import { lastingSilences, silencesOf } from "../../src/alerting/silences.ts";
import { silenceOf } from "../state/records.ts";
import { testRows } from "../support/rows.ts";

const NOW = 1_800_000_000_000;

function silence(check: string | null, fromMs: number, untilMs: number): Silence {
  return silenceOf(`${check} ${fromMs}`, { check, fromMs, untilMs });
}

function isSilenced(name: string, silences: readonly Silence[], nowMs: number): boolean {
  return silencesOf({ name, tags: [], problemBeganAtMs: null }, silences, { kind: "silence", nowMs }).length >
    0;
}

Deno.test("silencesOf() ends one until ok with its problem, also if the clock was set back", async (t) => {
  const silences = [{ ...silence("web", NOW - 5, NOW + 5), problemBeganAtMs: NOW - 9 }];
  const rows: Readonly<Record<string, readonly [problemBeganAtMs: number | null, nowMs: number, boolean]>> = {
    "its problem": [NOW - 9, NOW, true],
    "its problem, and the clock was set back behind the silence": [NOW - 9, NOW - 20, true],
    "no problem": [null, NOW, false],
    "a later problem": [NOW - 4, NOW, false],
    "a later problem that began earlier, since the clock was set back": [NOW - 20, NOW, false],
    "its problem after the longest time": [NOW - 9, NOW + 5, false],
  };
  await testRows(t, rows, ([problemBeganAtMs, nowMs, expected]) => {
    const found = silencesOf({ name: "web", tags: [], problemBeganAtMs }, silences, {
      kind: "silence",
      nowMs,
    });
    assert.equal(found.length > 0, expected);
  });
});

Deno.test("silencesOf() keeps silences and acknowledgements apart", () => {
  const silences = [{ ...silence("web", NOW - 5, NOW + 5), kind: "acknowledgement" } as const];
  const check = { name: "web", tags: [], problemBeganAtMs: null };
  assert.deepEqual(silencesOf(check, silences, { kind: "silence", nowMs: NOW }), []);
  assert.deepEqual(silencesOf(check, silences, { kind: "acknowledgement", nowMs: NOW }), silences);
});

Deno.test("silencesOf() includes silences of the named check, from begin to end", async (t) => {
  const rows: Readonly<Record<string, readonly [silences: readonly Silence[], expected: boolean]>> = {
    "its own": [[silence("web", NOW - 1, NOW + 1)], true],
    "another check's": [[silence("mail", NOW - 1, NOW + 1)], false],
    "that of all checks": [[silence(null, NOW - 1, NOW + 1)], true],
    "one that begins now": [[silence("web", NOW, NOW + 1)], true],
    "one from before the clock was set back, or by the clock of another machine": [
      [silence("web", NOW + 3_600_000, NOW + 7_200_000)],
      true,
    ],
    "one that ends now": [[silence("web", NOW - 1, NOW)], false],
    "one over, and another": [[silence("web", NOW - 2, NOW - 1), silence(null, NOW - 1, NOW + 1)], true],
  };
  await testRows(t, rows, ([silences, expected]) => assert.equal(isSilenced("web", silences, NOW), expected));
});

Deno.test("lastingSilences() drops one until ok once its problem has ended", async (t) => {
  const record = (name: string, problemBeganAtMs: number | null) => ({
    name,
    condition: { ...initialState(), problemBeganAtMs },
  });
  const untilOk = (check: string): Silence => ({
    ...silence(check, NOW - 5, NOW + 5),
    problemBeganAtMs: NOW - 9,
  });
  const rows: Readonly<Record<string, readonly [Silence, ReturnType<typeof record>[], expected: boolean]>> = {
    "its problem goes on": [untilOk("web"), [record("web", NOW - 9)], true],
    "its problem has ended": [untilOk("web"), [record("web", null)], false],
    "a later problem": [untilOk("web"), [record("web", NOW)], false],
    "only another check has a problem": [untilOk("web"), [record("mail", NOW - 9)], false],
    "no record": [untilOk("web"), [], false],
    "until a time": [silence("web", NOW - 5, NOW + 5), [record("web", null)], true],
  };
  await testRows(
    t,
    rows,
    ([only, records, expected]) => assert.deepEqual(lastingSilences([only], records), expected ? [only] : []),
  );
});
