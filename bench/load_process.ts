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
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--allow-all",
      import.meta.filename ?? "",
      name,
      String(count),
      target,
    ],
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`Cannot measure "${name}": its process failed`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function runLoad(load: Load, options: LoadOptions): Promise<LoadSample> {
  const cpuBeforeMs = cpuMs();
  const startedMs = performance.now();
  await load(options);
  return { wallMs: performance.now() - startedMs, cpuMs: cpuMs() - cpuBeforeMs };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + childrenCpuMs();
}

/** The kernel counts in hundredths of a second whatever its own tick is. */
const CLOCK_TICK_MS = 10;

/** Time of children that have ended, after proc_pid_stat(5); 0 on systems without that file. */
function childrenCpuMs(): number {
  if (Deno.build.os !== "linux") return 0;
  const fields = Deno.readTextFileSync("/proc/self/stat").replace(/^.*\) /s, "").split(" ");
  // Counted from 1 with the two fields before: 16 is cutime, 17 is cstime.
  return (Number(fields[13]) + Number(fields[14])) * CLOCK_TICK_MS;
}

if (import.meta.main) {
  const [name = "", count, target = ""] = Deno.args;
  const load = LOADS[name as LoadName];
  console.log(JSON.stringify(await runLoad(load, { count: Number(count), target })));
  Deno.exit(0);
}
