/**
 * Measures one load in a process of its own, so that neither the loads before it nor the server that it asks are
 * in its numbers, and prints what it cost.
 *
 *     deno run --allow-all bench/load_process.ts NAME COUNT TARGET
 */
import process from "node:process";
import {
  bareRequests,
  bareRequestsForBody,
  bareRequestsWithTimeLimit,
  bareScripts,
  bareScriptsInGroups,
} from "./bare_loads.ts";
import { childrenCpuMs } from "./children_usage.ts";
import { askModule } from "./children.ts";
import type { Load, LoadOptions } from "./load.ts";
import { monitorRequests, monitorScripts } from "./monitor_loads.ts";
import { BODY_PART } from "./server.ts";

/** What a load cost. */
export interface LoadSample {
  /** From its first to its last piece of work. */
  readonly wallMs: number;
  /** User and system time together; that of ended children too, where the system tells it. */
  readonly cpuMs: number;
}

/** The name of a load. */
export type LoadName =
  | "monitor_requests"
  | "monitor_requests_for_body"
  | "bare_requests"
  | "bare_requests_for_body"
  | "bare_requests_with_time_limit"
  | "monitor_scripts"
  | "bare_scripts"
  | "bare_scripts_in_groups";

/** The loads by name. */
const LOADS: Readonly<Record<LoadName, Load>> = {
  monitor_requests: monitorRequests(),
  monitor_requests_for_body: monitorRequests(BODY_PART),
  bare_requests: bareRequests,
  bare_requests_for_body: bareRequestsForBody(BODY_PART),
  bare_requests_with_time_limit: bareRequestsWithTimeLimit,
  monitor_scripts: monitorScripts,
  bare_scripts: bareScripts,
  bare_scripts_in_groups: bareScriptsInGroups,
};

/** Runs a load in a process of its own and answers what it cost there. */
export async function measureLoad(name: LoadName, { count, target }: LoadOptions): Promise<LoadSample> {
  return JSON.parse(await askModule(import.meta.filename, [name, String(count), target]));
}

async function runLoad(load: Load, options: LoadOptions): Promise<LoadSample> {
  const cpuBeforeMs = cpuMs();
  const startedMs = performance.now();
  await load(options);
  return { wallMs: performance.now() - startedMs, cpuMs: cpuMs() - cpuBeforeMs };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  const childrenMs = childrenCpuMs();
  return (user + system) / 1000 + (Number.isNaN(childrenMs) ? 0 : childrenMs);
}

if (import.meta.main) {
  const [name = "", count, target = ""] = Deno.args;
  const load = LOADS[name as LoadName];
  console.log(JSON.stringify(await runLoad(load, { count: Number(count), target })));
  Deno.exit(0);
}
