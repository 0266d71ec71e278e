/**
 * Generates the history of any number of checks of `monitor demo`: 92 days of results, as fast as the machine permits.
 *
 *     deno run --allow-all scripts/make_history.ts DIRECTORY [COUNT]
 *
 * writes DIRECTORY/monitor.json with so many checks (3 by default) and DIRECTORY/state.sqlite with their history, for
 * `monitor status`, `monitor history` and `monitor report`. The hosts of the checks do not exist.
 */
import { DEMO_CHECKS, DemoPlan } from "../src/cli/demo/demo_checks.ts";
import { demoConfig, makeHistory, openDemoConfig } from "../src/cli/demo/run_demo.ts";
import { createMemorySystem } from "../testing/memory_system.ts";

const [directory = ".", count = "3"] = Deno.args;
await Deno.mkdir(directory, { recursive: true });
const system = createMemorySystem();
const [first] = DEMO_CHECKS;
const shops = Array.from({ length: Math.max(0, Number(count) - DEMO_CHECKS.length) }, (_, index) => {
  const name = `shop-${String(index + DEMO_CHECKS.length).padStart(4, "0")}`;
  return first === undefined ? [] : { ...first, name, written: { ...first.written, title: `Shop ${name}` } };
});
const checks = [...DEMO_CHECKS.slice(0, Number(count)), ...shops.flat()];
const written = demoConfig(checks, { state: "state.sqlite" });
const schedule = { regular_interval: "1 hour" };
const config = await openDemoConfig({ ...written, defaults: { ...written.defaults, schedule } }, system);
await Deno.writeTextFile(`${directory}/monitor.json`, `${config.source.text}\n`);
const plan = new DemoPlan({ checks, startMs: system.clock.wallMs(), days: 92 });
const path = `${await Deno.realPath(directory)}/state.sqlite`;
const { store } = await system.stores.openFile(path, { access: "own" });
await makeHistory({ store, config, checks, plan, system });
await store.close();
