import process from "node:process";
import { renderProblems } from "../../src/cli/diagnostics.ts";
import { ConfigError } from "../../src/config/problem.ts";
import { load } from "../../testing/config_system.ts";
import { HOSTILE_DOCUMENTS } from "../../testing/hostile_configs.ts";

const MEGABYTE = 1024 * 1024;

/** The maximum processor time for a megabyte. */
const CPU_MS_PER_MEGABYTE = 1000;
/** Other load makes a reading longer and never shorter, so one of these must be short enough. */
const READINGS_MAX = 5;

/**
 * Reads a megabyte of each hostile config, and prints its errors: never more than a second of processor time for each
 * megabyte.
 */
export async function soakConfigs(): Promise<void> {
  const slow: string[] = [];
  // The initial compilation of the runtime is not measured.
  for (const make of Object.values(HOSTILE_DOCUMENTS)) await readOnce(make(1000));
  for (const [name, make] of Object.entries(HOSTILE_DOCUMENTS)) {
    const text = make(MEGABYTE);
    let said = "";
    let ms = Infinity;
    for (let reading = 0; reading < READINGS_MAX && ms > CPU_MS_PER_MEGABYTE; reading++) {
      const before = process.cpuUsage();
      said = await readOnce(text);
      const { user, system } = process.cpuUsage(before);
      ms = Math.min(ms, (user + system) / 1000 / Math.max(1, text.length / MEGABYTE));
    }
    console.log(`  ${ms.toFixed(0).padStart(6)} ms a megabyte  ${name}: ${said}`);
    if (ms > CPU_MS_PER_MEGABYTE) slow.push(`${name} (${ms.toFixed(0)} ms)`);
  }
  if (slow.length > 0) throw new Error(`a megabyte took more than a second: ${slow.join(", ")}`);
}

async function readOnce(text: string): Promise<string> {
  try {
    const { checks, warnings, place } = await load(text, { environment: { A: "b", PATH: "/bin:/usr/bin" } });
    warnings.forEach(place);
    return `${checks.length} checks, ${warnings.length} warnings`;
  } catch (error) {
    if (!(error instanceof ConfigError) || error.source === null) throw error;
    const { length } = renderProblems(error.source, error.problems, { color: false, severity: "error" });
    return `${error.problems.length} mistakes, told in ${length} characters`;
  }
}
