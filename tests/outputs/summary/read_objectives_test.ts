import assert from "node:assert/strict";
import type { CheckUpdate } from "../../../src/domain/store.ts";
import { readObjectives } from "../../../src/outputs/summary/read_objectives.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/shared/time_units.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/sqlite_store.ts";
import { journalOf, NOW_MS, recordOf, silenceOf, updateOf } from "../../state/records.ts";
import { testCheck } from "../../support/checks.ts";

const OBJECTIVE = { percent: 99, windowMs: DAY_MS };

/** A run each 10 minutes of three days, `critical` in the last two hours but one, without a network for an hour. */
const RUNS = Array.from({ length: 3 * 144 }, (_, index) => {
  const ago = 3 * 144 - 1 - index;
  const isDown = ago >= 6 && ago < 18;
  const isOffline = ago >= 60 && ago < 66;
  return {
    endedAtMs: NOW_MS - ago * HOUR_MS / 6,
    ...isDown && { condition: "critical" as const },
    ...isOffline && { condition: "unknown" as const, awaits: "checks" as const },
  };
});

function updatesOf(name: string): readonly CheckUpdate[] {
  const { journal, blocks } = journalOf(RUNS);
  const record = recordOf(name, { journal });
  return [
    ...blocks.map((block) => ({ ...updateOf(name, { record }), journal: block })),
    updateOf(name, { record }),
  ];
}

Deno.test("readObjectives() reads the journal, the windows of the config, and those started by hand", async () => {
  await using store = await openStore();
  const hour = (ago: number) => ({ fromMs: NOW_MS - ago * HOUR_MS, untilMs: NOW_MS - (ago - 1) * HOUR_MS });
  const started = { kind: "maintenance", problemBeganAtMs: null } as const;
  await store.addSilences([
    silenceOf("all", { ...started, ...hour(5), check: null }),
    silenceOf("db", { ...started, ...hour(7), check: "db" }),
    silenceOf("quiet", { ...hour(8), check: null }),
  ]);
  const common = { regularIntervalMs: HOUR_MS / 6, objective: OBJECTIVE };
  const objectives = await readObjectives(store, [
    testCheck("ok", { ...common, name: "web", connectivity: true, maintenanceWindows: [hour(3)] }),
    testCheck("ok", { ...common, name: "db" }),
    testCheck("ok", { ...common, name: "new" }),
    testCheck("ok", { name: "none" }),
  ], { untilMs: NOW_MS, ranUntilMs: null });
  const minutesOf = (name: string) => {
    const { time: { outages, ...parts }, verdict } = objectives.get(name) ?? assert.fail(name);
    const minutes = Object.entries(parts).map(([part, ms]) => [part, ms / MINUTE_MS]);
    return { verdict, outages, ...Object.fromEntries(minutes.filter(([, count]) => count !== 0)) };
  };
  assert.deepEqual(minutesOf("web"), {
    ...{ verdict: "missed", outages: 1, maintenanceMs: 120, ownNetworkMs: 70 },
    ...{ upMs: 1180, downMs: 60, uncertainMs: 10 },
  });
  assert.deepEqual(minutesOf("db"), {
    ...{ verdict: "missed", outages: 1, maintenanceMs: 120, notObservedMs: 70 },
    ...{ upMs: 1120, downMs: 110, uncertainMs: 20 },
  }, "it does not need the network");
  assert.deepEqual(minutesOf("new"), {
    ...{ verdict: "too_little_observed", outages: 0, maintenanceMs: 60, notObservedMs: 23 * 60 },
  });
  assert.equal(objectives.has("none"), false);
});

async function openStore() {
  const store = await openInMemoryStore();
  for (const name of ["web", "db"]) await store.save(updatesOf(name));
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}
