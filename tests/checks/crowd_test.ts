import assert from "node:assert/strict";
import type { Condition } from "../../src/domain/condition.ts";
import type { CrowdFindings, CrowdOrder } from "../fixtures/crowd.ts";
import { fixture } from "../support/processes.ts";

/** What each program makes of its check within a quarter of a second. */
const PROGRAMS: readonly (readonly [name: string, condition: Condition, ...args: readonly string[]])[] = [
  ["answer_sigterm.sh", "unknown"],
  ["bad_shebang.sh", "unknown"],
  ["close_stdout_and_sleep.sh", "unknown"],
  ["complain_on_stderr.sh", "critical"],
  ["count_stdin.sh", "ok"],
  ["end_by_signal.sh", "unknown", "SEGV"],
  ["exit_code.sh", "warning", "1"],
  ["flood_both.sh", "unknown"],
  ["flood_stdout.sh", "unknown"],
  ["forever.sh", "unknown"],
  ["fork_grandchild.sh", "warning"],
  ["ignore_sigterm.sh", "unknown"],
  ["invalid_utf8.sh", "ok"],
  ["leave_silent_grandchild.sh", "ok"],
  ["missing.sh", "unknown"],
  ["not_executable.sh", "unknown"],
  ["print_megabytes.sh", "critical", "1"],
  ["print_performance_data.sh", "ok"],
  ["print_table.sh", "warning"],
  ["split_character.sh", "ok", "65535"],
  ["stop_itself.sh", "unknown"],
  ["survive_leader.sh", "unknown"],
];

const COUNT = 500;
const ROUNDS = 3;

/** The processes that were started for the crowd and live. */
function survivors(mark: string): readonly string[] {
  const found: string[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (!Deno.readTextFileSync(`/proc/${name}/environ`).includes(`CROWD=${mark}`)) continue;
      if (!/\) [ZX] /.test(Deno.readTextFileSync(`/proc/${name}/stat`))) found.push(name);
    } catch {
      // It ended while we looked, or belongs to another user.
    }
  }
  return found;
}

Deno.test("500 scripts of every behaviour at once leave nothing behind: no process, descriptor, timer or memory", async () => {
  const mark = crypto.randomUUID();
  const order: CrowdOrder = {
    programs: PROGRAMS.map(([name, _condition, ...args]) => [fixture(name), ...args]),
    count: COUNT,
    rounds: ROUNDS,
    timeoutMs: 250,
    mark,
  };
  const program = new URL("../fixtures/crowd.ts", import.meta.url).pathname;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--allow-all",
      "--v8-flags=--expose-gc",
      program,
      JSON.stringify(order),
    ],
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const { seen, holdings } = JSON.parse(new TextDecoder().decode(stdout)) as CrowdFindings;
  for (const [index, [name, condition]] of PROGRAMS.entries()) {
    const share = Math.floor(COUNT / PROGRAMS.length) + (index < COUNT % PROGRAMS.length ? 1 : 0);
    const counts = seen[name] ?? {};
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    assert.strictEqual(total, share * ROUNDS, `${name} was observed each time`);
    // On a busy machine even a quick program may not be done in time; none is ever taken for better than it is.
    const others = Object.keys(counts).filter((other) => other !== condition && other !== "unknown");
    assert.deepStrictEqual(others, [], `${name} is ${condition}, or unknown where it was not done in time`);
  }
  const [before, first, ...rest] = holdings;
  assert.ok(before !== undefined && first !== undefined);
  for (const { descriptors, timers } of [first, ...rest]) {
    assert.deepStrictEqual({ descriptors, timers }, { descriptors: before.descriptors, timers: 0 });
  }
  // The first round loads what is needed.
  const grownBytes = (rest.at(-1)?.usedBytes ?? Infinity) - first.usedBytes;
  assert.ok(
    grownBytes < 256 * 1024,
    `grew by ${grownBytes} bytes in ${ROUNDS - 1} rounds of ${COUNT} checks`,
  );
  assert.deepStrictEqual(survivors(mark), []);
});
