/**
 * `monitor replay --verify` after chaos: the processes are killed, restarted, paused and suspended, channels
 * fail and reject, and people acknowledge and silence. A replay of the unchanged config equals the log of deliveries.
 */
import assert from "node:assert/strict";
import { CONDITIONS } from "../../src/domain/condition.ts";
import { SERVICE } from "../../testing/simulation/actions.ts";
import { breakServer, LOSING, OF_PROCESSES_IN_ORDER, REJECTING } from "../../testing/simulation/chaos.ts";
import { UP } from "../../testing/simulation/faults.ts";
import { Random } from "../../testing/simulation/random.ts";
import { Receivers } from "../../testing/simulation/receivers.ts";
import { completeConfig } from "../../testing/simulation/scenario_config.ts";
import { World } from "../../testing/simulation/world.ts";
import { SHARED_STATE, SharedDatabase } from "../../testing/simulation/shared_state.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { createConfigSystem } from "../../testing/config_system.ts";
import { Invocation } from "../../src/cli/command_definition.ts";
import { openConfigAt } from "../../src/cli/open_config.ts";
import { verifyReplay } from "../../src/cli/commands/replay.ts";
import { copyState } from "../../src/state/copy_state.ts";
import { openPostgresTables } from "../../src/state/postgres/postgres_copy.ts";
import { openPostgresStore } from "../../src/state/postgres/postgres_store.ts";
import { openSqliteTables } from "../../src/state/sqlite/sqlite_tables.ts";
import { createStoreFiles } from "../../src/system/files.ts";
import { clientOptions, sharedPostgres, storeOptions, testPostgres } from "../support/postgres.ts";

const postgres = sharedPostgres();

const MINUTE_MS = 60_000;
/** How long the chaos lasts. */
const CHAOS_MINUTES = campaign(30, 15);
const SCHEDULE = { regular_interval: "1 minute", attentive_interval: "30 seconds" };
const CHECKS = {
  router: { reminders: true },
  web: { depends_on: ["router"], reminders: "13 min 10 s" },
  db: {
    threshold: 3,
    recovery_threshold: 2,
    reminders: "5 min",
    maintenance_windows: [{ from: "22:20", to: "22:35" }],
  },
  shop: { depends_on: ["db"], schedule: { regular_interval: "20 seconds", attentive_interval: "7 seconds" } },
  api: { threshold: 2, within: 5, flapping: "once", notifications: ["chat", "late"] },
  cron: { schedule: { cron: "*/3 * * * *", time_zone: "UTC", attentive_interval: "1 minute" } },
  both: { kind: "group", parameters: { checks: ["web", "db"] } },
};
const STATE = "/var/lib/monitor/state.sqlite";
const CONFIG = {
  channels: {
    chat: {},
    pager: { conditions: ["critical"] },
    late: { after: "7 min 10 s" },
    grouped: { group: { by: "all", wait: "7 minutes" } },
    few: { at_most: "4 per hour" },
    ends: { events: ["recovery"] },
    begins: { events: ["problem"] },
    early: { hours: [{ from: "21:00", to: "22:25" }] },
    never: { hours: [{ from: "22:15", to: "22:45" }], outside_hours: "never" },
  },
  checks: Object.fromEntries(
    Object.entries(CHECKS).map(([name, check]) => [name, { schedule: SCHEDULE, ...check }]),
  ),
};
const PATH = "/etc/monitor/monitor.jsonc";

async function playChaosHour(seed: number, state: unknown = STATE): Promise<World> {
  const world = await World.create({ seed, start: "2026-03-02 21:55" });
  if (state === SHARED_STATE) await SharedDatabase.add(world);
  new Receivers(world);
  const random = new Random(seed, "replayed chaos");
  const machine = world.machine();
  machine.files.makeDirectory("/var/lib/monitor", 0o700);
  machine.files.put(PATH, JSON.stringify(completeConfig({ ...CONFIG, state })));
  const endMs = world.nowMs + CHAOS_MINUTES * MINUTE_MS;
  const keepRunning = (): void => {
    if (machine.service === null) machine.start(...SERVICE.split(" "));
    if (world.nowMs < endMs) world.timeline.after(random.between(1, 90) * 1000, keepRunning);
  };
  keepRunning();
  await world.advance(2 * MINUTE_MS);
  const faults = random.chance(0.7) ? LOSING : REJECTING;
  for (const channel of Object.keys(CONFIG.channels)) breakServer(channel, { world, random, faults, endMs });
  const names = Object.keys(CHECKS);
  while (world.nowMs < endMs) {
    await world.advance(random.between(1, 240) * 1000);
    const name = random.pick(names);
    const condition = random.pick(["ok", "ok", ...CONDITIONS] as const);
    world.outcomes.set(name, { condition, output: `${name} is ${condition}`, durationMs: null });
    if (random.chance(0.2)) random.pick(OF_PROCESSES_IN_ORDER)(machine, random);
    if (random.chance(0.15)) {
      await machine.run(...random.pick(
        [
          ["acknowledge", random.pick(names)],
          ["silence", random.pick(names), "--for", "9min"],
          ["silence", random.pick(names), "--until-ok"],
          ["maintenance", "start", random.pick(names), "--for", "6min"],
          ["silence", "end", "--all"],
        ] as const,
      ));
    }
  }
  for (const channel of Object.keys(CONFIG.channels)) {
    const host = world.network.host(`${channel}.example`);
    if (host !== null) host.fault = UP;
  }
  world.killsAt = () => false;
  await world.advance(20 * MINUTE_MS);
  return world;
}

async function assertVerified(worlds: number, state: unknown): Promise<void> {
  for (let index = 0; index < worlds; index++) {
    const world = await playChaosHour(1000 * testSeed() + index, state);
    const { code, stdout, stderr } = await world.machine().run("replay", "--verify");
    world.end();
    const trace = code === 0 ? "" : world.trace.text({ zone: "UTC", linesMax: 300 });
    assert.equal(code, 0, `world ${index}: ${stdout}${stderr}\n${trace}`);
    assert.match(stdout, /^\d+ notifications as sent\n$/);
  }
}

Deno.test("replay --verify finds no difference after chaos", () => assertVerified(campaign(4, 1), STATE));

Deno.test("replay --verify finds no difference on a shared state after chaos", () =>
  assertVerified(campaign(2, 1), SHARED_STATE));

testPostgres("replay --verify finds the same in PostgreSQL", async () => {
  const world = await playChaosHour(1000 * testSeed());
  const { database } = world.machine().files.node(STATE);
  const directory = await Deno.makeTempDir();
  const path = `${directory}/state.sqlite`;
  const text = JSON.stringify(completeConfig({ ...CONFIG, state: STATE }));
  const written: string[] = [];
  const memory = createConfigSystem({ files: { [PATH]: text } });
  const system = {
    ...memory,
    clock: { ...memory.clock, wallMs: () => world.nowMs },
    timeZone: () => "UTC",
    stdout: { ...memory.stdout, write: (line: string) => void written.push(line) },
  };
  try {
    database?.exec(`VACUUM INTO '${path}'`);
    world.end();
    const files = createStoreFiles(clientOptions().clock);
    const options = { files, userId: Deno.uid(), nowMs: world.nowMs, access: "read" } as const;
    const from = await openSqliteTables(path, options);
    const place = postgres().place();
    const to = await openPostgresTables(place, { ...clientOptions(), access: "own" });
    await copyState(from, to);
    await from.close();
    await to.close();
    const store = await openPostgresStore(place, storeOptions());
    const config = await openConfigAt({ path: PATH, named: true }, {
      ...{ invocation: new Invocation({}), system },
      withoutSecrets: true,
    });
    const code = await verifyReplay(config, { store, lastMs: 24 * 60 * MINUTE_MS, system });
    await store.close();
    assert.equal(code, 0, written.join(""));
    assert.match(written.join(""), /^\d\d+ notifications as sent\n$/);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
