import { compareLoads } from "./compare_loads.ts";
import type { Row } from "./row.ts";
import type { Workplace } from "./workplace.ts";

/** A program that ends at once: what is measured is the starting, following and ending. */
export const PROGRAM = Deno.build.os === "darwin" ? "/usr/bin/true" : "/bin/true";

/** What one pass over many scripts takes to a `Deno.Command` loop that runs the same. */
export async function benchScripts({ effort }: Workplace): Promise<readonly Row[]> {
  return await compareLoads({
    name: "200 scripts",
    monitor: "monitor_scripts",
    bare: [
      { load: "bare_scripts", name: "a bare Deno.Command loop", aim: 1.15 },
      { load: "bare_scripts_in_groups", name: "one with process groups", aim: 1.15 },
    ],
    count: 200,
    target: PROGRAM,
    rounds: effort.rounds(11),
  });
}
