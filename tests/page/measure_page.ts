/** Writes the page of some demonstration checks from a state, and prints the processor time of it: PATH COUNT NOW_MS */
import process from "node:process";
import { demoChecks } from "../../scripts/make_history.ts";
import { writePage } from "../../src/cli/page/write_page.ts";
import { openSqliteStore } from "../../src/storage/sqlite_store.ts";
import { createClock } from "../../src/system/clock.ts";
import { createStoreFiles } from "../../src/system/store_files.ts";

const [path = "", count, now] = Deno.args;
const nowMs = Number(now);
const { store } = await openSqliteStore(path, {
  files: createStoreFiles(),
  userId: Deno.uid(),
  nowMs,
  access: "read",
});
const facts = { nowMs, hostName: "demo.example", timeZone: "UTC", documentLabel: "", intervalMs: null };
const before = process.cpuUsage();
await writePage({ store, checks: demoChecks(Number(count)), isWhole: true, facts, clock: createClock() });
const { user, system } = process.cpuUsage(before);
await store.close();
console.log((user + system) / 1000);
