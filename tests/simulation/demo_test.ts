/** `monitor demo`: a live page of invented checks, without a config, a state or other connections. */
import assert from "node:assert/strict";
import { World } from "../../testing/simulation/mod.ts";
import type { Machine, Program } from "../../testing/simulation/mod.ts";
import { MINUTE_MS } from "../../src/shared/time_units.ts";

interface Shown {
  readonly name: string;
  readonly condition: string;
  readonly maintenance: unknown;
  readonly acknowledged: unknown;
}

async function checksOf(machine: Machine): Promise<readonly Shown[]> {
  const response = await machine.request("/api/v1/status");
  return JSON.parse(response?.body ?? "").checks;
}

async function inWorld(use: (world: World) => Promise<void>, seed = 1): Promise<void> {
  const world = await World.create({ seed, start: "2026-03-02T10:00Z" });
  try {
    await use(world);
  } finally {
    world.end();
  }
}

async function startDemo(world: World, ...args: readonly string[]): Promise<Program> {
  const program = world.machine("a").start("demo", ...args);
  await world.until(() => program.hasEnded || program.stdout.text().includes("listening on"), "the page");
  return program;
}

Deno.test("monitor demo shows changing checks with a history, and opens only its socket", () =>
  inWorld(async (world) => {
    const steps = new Set<string>();
    world.killsAt = (_program, what) => {
      steps.add(what);
      return false;
    };
    const machine = world.machine("a");
    const program = await startDemo(world);
    await world.advance(MINUTE_MS);
    const checks = await checksOf(machine);
    assert.equal(checks.length, 40);
    const conditions = checks.map(({ condition }) => condition);
    assert.deepEqual([...new Set(conditions)].sort(), ["critical", "ok", "pending", "warning"]);
    assert.ok(checks.some(({ acknowledged }) => acknowledged !== null));
    assert.ok(checks.some(({ maintenance }) => maintenance !== null));

    const page = await machine.request("/");
    assert.match(page?.body ?? "", /every result is invented/);
    assert.match(page?.body ?? "", /Maintenance|maintenance/);
    const verdicts = {
      "shop.web": /99.9% in 30 d (?:met|missed)/,
      "mail.name": /: can.{1,6}t tell with this/,
    };
    for (const [name, verdict] of Object.entries(verdicts)) {
      assert.match((await machine.request(`/checks/${name}`))?.body ?? "", verdict);
    }
    const history = await machine.request("/api/v1/history/redis");
    assert.ok(JSON.parse(history?.body ?? "").changes.length >= 3);

    const seen = new Set([conditions.join()]);
    const notified = / is (?:critical|down): .*\n(?:.*\n)*.* again after /;
    for (let minute = 0; minute < 5 && (seen.size < 3 || !notified.test(program.stdout.text())); minute++) {
      await world.advance(MINUTE_MS);
      seen.add((await checksOf(machine)).map(({ condition }) => condition).join());
    }
    assert.ok(seen.size >= 3, `only ${seen.size} different conditions in 5 minutes`);
    assert.match(program.stdout.text(), notified);

    const second = await startDemo(world);
    assert.equal(second.code, 74);
    assert.match(second.stderr.text(), /9797": .* in use; choose another address with --listen\n$/);
    const { code, stderr } = await machine.run("demo", "--listen", "0.0.0.0:9797");
    assert.equal(code, 64);
    assert.match(stderr, /--listen is "0\.0\.0\.0:9797", expected a loopback address/);

    program.signal("SIGINT");
    await world.until(() => program.hasEnded, "the end");
    assert.equal(program.code, 0);
    assert.deepEqual([...steps].sort(), ["after listen on 9797", "before listen on 9797", "before output"]);
    assert.equal(await machine.request("/"), null);
  }));
