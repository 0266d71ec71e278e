import { compareLoads } from "./compare_loads.ts";
import type { Row } from "./row.ts";

/** A program that ends at once: what is measured is the starting, following and ending. */
const PROGRAM = Deno.build.os === "darwin" ? "/usr/bin/true" : "/bin/true";

/** How long many scripts take to a `Deno.Command` loop that runs the same. */
export async function benchScripts(): Promise<readonly Row[]> {
  return await compareLoads({
    name: "200 scripts",
    monitor: "monitor_scripts",
    bare: [
      { load: "bare_scripts", name: "a bare Deno.Command loop", aim: 1.25 },
      { load: "bare_scripts_in_groups", name: "one with process groups", aim: 1.25 },
    ],
    count: 200,
    target: PROGRAM,
    rounds: 21,
  });
}
