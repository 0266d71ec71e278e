import assert from "node:assert/strict";
import { initialState } from "../../src/condition/condition_state.ts";
import type { CheckRecord } from "../../src/domain/store.ts";
import { findCauses } from "../../src/engine/causes.ts";
import { newRecord } from "../../src/state/record_cache.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { createRandom } from "../../testing/random.ts";
import { type Fault, int, isAffected, isCausedBy, pick, randomTopology, World } from "./causes_topology.ts";

const DOUBLE_FAULTS = campaign(200, 20);
const SINGLE_FAULTS = campaign(80, 20);
const INTERVAL_MS = 60_000;

/** Runs every check at its own times for three minutes, while faults begin; calls back after each run. */
async function play(
  world: World,
  { names, random, faults }: {
    readonly names: readonly string[];
    readonly random: ReturnType<typeof createRandom>;
    readonly faults: readonly Fault[];
  },
  onRun: () => void,
): Promise<void> {
  const startMs = world.nowMs;
  const begins = faults.map((fault) => ({ fault, atMs: startMs + INTERVAL_MS + int(random, 0, 30_000) }));
  const runs = names.flatMap((name) => {
    const phaseMs = int(random, 0, INTERVAL_MS - 1);
    return [0, 1, 2, 3].map((count) => ({ name, atMs: startMs + phaseMs + count * INTERVAL_MS }));
  }).sort((one, other) => one.atMs - other.atMs);
  for (const { name, atMs } of runs) {
    world.nowMs = Math.max(world.nowMs, atMs);
    world.faults = begins.filter((begin) => begin.atMs <= atMs).map(({ fault }) => fault);
    await world.run(name);
    onRun();
  }
}

Deno.test("findCauses() shows an attribute whose kind it lacks as it is, and prefers any other", () => {
  const { options, running, nowMs } = new World(randomTopology(createRandom(1, "kinds")));
  const names = [...running.keys()].slice(0, 3);
  const causeOf = (suspected: readonly string[]): string | undefined => {
    const recordOf = (name: string): CheckRecord => ({
      ...newRecord(name, nowMs),
      condition: {
        ...initialState(),
        ...{ confirmed: "critical", observed: "critical", observedAtMs: nowMs, problemBeganAtMs: nowMs },
      },
      last: {
        ...{ condition: "critical", output: "", detail: "", performanceData: "", metrics: {}, lateMs: null },
        ...{ startedAtMs: nowMs - 10, durationMs: 10, attributes: { suspected, worked: [] } },
      },
    });
    return findCauses({ ...options, recordOf, suspecting: new Set(names) }).get(names[0] ?? "")?.text;
  };
  const port = "all connect to 10.0.0.7:80, and no healthy check does";
  assert.equal(causeOf(["planet 9", "port 10.0.0.7:80"]), port);
  assert.equal(causeOf(["planet 9"]), "planet 9, and no healthy check does");
});

Deno.test("findCauses() merges no problems of different faults, in random double faults", async () => {
  const seed = testSeed();
  let merged = 0;
  for (let round = 0; round < DOUBLE_FAULTS; round++) {
    const random = createRandom(seed, `causes ${round}`);
    const topology = randomTopology(random);
    const first = pick(random, topology.faults);
    // Two of a kind are the most alike.
    const alike = topology.faults.filter((fault) => fault.kind === first.kind);
    const faults = [first, pick(random, random.next() < 0.5 ? alike : topology.faults)];
    const world = new World(topology);
    await play(world, { names: [...topology.probes.keys()], random, faults }, () => {
      for (const cause of findCauses(world.options).values()) {
        merged++;
        const isRight = faults.some((fault) =>
          isCausedBy(cause.attribute, fault, { probes: topology.probes, faults }) &&
          cause.names.every((name) => {
            const probe = topology.probes.get(name);
            return probe !== undefined && isAffected(probe, fault);
          })
        );
        if (isRight) continue;
        assert.fail(`seed ${seed}, round ${round}: ${JSON.stringify({ cause, faults })}`);
      }
    });
  }
  assert.ok(merged > 10 * DOUBLE_FAULTS, `only ${merged} decisions merged`);
});

Deno.test("findCauses() finds one cause of each random fault with three or more checks", async () => {
  const seed = testSeed();
  let found = 0;
  for (let round = 0; round < SINGLE_FAULTS; round++) {
    const random = createRandom(seed, `cause ${round}`);
    const topology = randomTopology(random);
    const fault = pick(random, topology.faults.filter(({ kind }) => kind !== "pages"));
    const affected = [...topology.probes].filter(([, probe]) => isAffected(probe, fault)).map(([name]) =>
      name
    );
    const world = new World(topology);
    await play(world, { names: [...topology.probes.keys()], random, faults: [fault] }, () => {});
    const causes = new Set(findCauses(world.options).values());
    const where = `seed ${seed}, round ${round}: ${JSON.stringify({ fault, causes: [...causes], affected })}`;
    if (fault.kind === "network" || fault.kind === "resolver") {
      const values = new Set(affected.map((name) => {
        const probe = topology.probes.get(name);
        if (probe === undefined || !("host" in probe)) return "";
        return fault.kind === "network" ? probe.host : probe.name;
      }));
      if (values.size < 3) continue;
    }
    if (fault.kind === "unit") {
      const probes = affected.flatMap((name) => topology.probes.get(name) ?? []);
      if (!probes.some((probe) => "processOf" in probe)) continue;
      // The others fail with their port alone.
      if (probes.some((probe) => "host" in probe && !probe.namesUnit)) continue;
    }
    assert.equal(causes.size, affected.length < 3 ? 0 : 1, where);
    const [cause] = causes;
    if (cause === undefined) continue;
    assert.deepEqual(cause.names, affected.sort(), where);
    found++;
  }
  assert.ok(found > 0.3 * SINGLE_FAULTS, `only ${found} faults had three checks`);
});
