import process from "node:process";
import { renderProblems } from "../../src/cli/failure.ts";
import { ConfigError } from "../../src/config/problem.ts";
import { load } from "../../testing/config_system.ts";
import { HOSTILE_DOCUMENTS } from "../../testing/hostile_configs.ts";

const MEGABYTE = 1024 * 1024;

/** The maximum processor time for a megabyte, as a multiple of that of ordinary checks on this machine. */
const TIMES_ORDINARY_MAX = 8;
const ORDINARY = "checks";
/** Other load makes a reading longer and never shorter, so one of these must be short enough. */
const READINGS_MAX = 5;

/** Reads a megabyte of each hostile config, and prints its errors and the processor time of a megabyte. */
export async function soakConfigs(): Promise<void> {
  const slow: string[] = [];
  // The initial compilation of the runtime is not measured.
  for (const make of Object.values(HOSTILE_DOCUMENTS)) await readOnce(make(1000));
  const documents = Object.entries(HOSTILE_DOCUMENTS)
    .sort(([one], [other]) => Number(other === ORDINARY) - Number(one === ORDINARY));
  let maxMs = Infinity;
  for (const [name, make] of documents) {
    const text = make(MEGABYTE);
    let said = "";
    let ms = Infinity;
    for (let reading = 0; reading < READINGS_MAX && (maxMs === Infinity || ms > maxMs); reading++) {
      const before = process.cpuUsage();
      said = await readOnce(text);
      const { user, system } = process.cpuUsage(before);
      ms = Math.min(ms, (user + system) / 1000 / Math.max(1, text.length / MEGABYTE));
    }
    if (name === ORDINARY) maxMs = TIMES_ORDINARY_MAX * ms;
    console.log(`  ${ms.toFixed(0).padStart(6)} ms a megabyte  ${name}: ${said}`);
    if (ms > maxMs) slow.push(`${name} (${ms.toFixed(0)} ms)`);
  }
  if (slow.length > 0) {
    throw new Error(`a megabyte took more than ${maxMs.toFixed(0)} ms: ${slow.join(", ")}`);
  }
}

async function readOnce(text: string): Promise<string> {
  try {
    const { checks, warnings, placed } = await load(text, { environment: { A: "b", PATH: "/bin:/usr/bin" } });
    placed(warnings);
    return `${checks.length} checks, ${warnings.length} warnings`;
  } catch (error) {
    if (!(error instanceof ConfigError) || error.source === null) throw error;
    const { length } = renderProblems(error.source, error.problems, { color: false, severity: "error" });
    return `${error.problems.length} mistakes, told in ${length} characters`;
  }
}
