/**
 * Loads one document in a process of its own, as a command does that was just started, and prints what it cost.
 *
 *     deno run --allow-all bench/validate_process.ts DOCUMENT
 */
import process from "node:process";
import { loadDocument } from "../src/config/load.ts";
import { createSystem } from "../src/system/system.ts";

/** What loading a document cost. */
export interface ValidateSample {
  readonly checks: number;
  readonly wallMs: number;
  /** User and system time of all threads, the collector's included. */
  readonly cpuMs: number;
  /** The most memory the whole process ever had; `null` where the system does not tell it. */
  readonly peakBytes: number | null;
}

/** Loads a document in a process of its own and answers what it cost there. */
export async function measureValidation(document: string): Promise<ValidateSample> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-all", import.meta.filename ?? "", document],
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`Cannot measure: loading "${document}" failed`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function validate(path: string): Promise<ValidateSample> {
  const before = process.cpuUsage();
  const startedMs = performance.now();
  const { checks } = await loadDocument({ path, named: true }, createSystem());
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(before);
  return { checks: checks.length, wallMs, cpuMs: (user + system) / 1000, peakBytes: peakBytes() };
}

/** After proc_pid_status(5). */
function peakBytes(): number | null {
  if (Deno.build.os !== "linux") return null;
  const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(Deno.readTextFileSync("/proc/self/status"))?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1024;
}

if (import.meta.main) console.log(JSON.stringify(await validate(Deno.args[0] ?? "")));
