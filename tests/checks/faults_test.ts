/**
 * One fault at any byte of an exchange with a target, and the results of checks: `deno task soak faults` tries all. Then
 * many hostile commands at once.
 */
import { type CheckTarget, createTrust } from "../support/check_faults.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";
import { startConnectionTargets } from "../support/connection_fault_targets.ts";
import { runFaults } from "../support/fault_runs.ts";
import { startHttpTargets, startTlsHttpTargets } from "../support/http_fault_targets.ts";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { campaign } from "../../testing/seed.ts";
import type { CrowdFindings, CrowdOrder } from "../fixtures/crowd.ts";
import { until } from "../life/in_time.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { fixture } from "../support/processes.ts";
import { linesOf } from "../support/rows.ts";
import { runArguments } from "../../testing/source.ts";
import { runChild, testWith } from "../../testing/tools.ts";

async function runAll(t: Deno.TestContext, targets: readonly CheckTarget[]): Promise<void> {
  await using steps = concurrentSteps(t, { runningMax: 3 });
  for (const target of targets) {
    steps.add(target.name, async () => {
      await using running = target;
      await runFaults(running);
    });
  }
}

Deno.test("observeHttpRequest() detects every fault in a response, and accepts no broken body as complete", async (t) => {
  await runAll(t, startHttpTargets());
});

Deno.test("observeHttpRequest() accepts no response that TLS does not authenticate", async (t) => {
  using trust = createTrust();
  await runAll(t, startTlsHttpTargets(trust));
});

Deno.test("observeTcpConnect() and observeTlsCertificate() detect every fault of a connection", async (t) => {
  using trust = createTrust();
  await runAll(t, await startConnectionTargets(trust));
});

/**
 * The result for a command that does not terminate: each of its runs reaches this timeout, on any machine. A busy one
 * may take longer to terminate it than the check waits.
 */
const ENDLESS = /^critical: timeout after 0\.1 s, (?:terminated|cannot be terminated)/;
const ENDLESS_TIMEOUT_MS = 100;
/** For commands that exit by themselves: none of their runs reaches it, on any machine. */
const ENDING_TIMEOUT_MS = 180_000;

/** The condition of each command and the start of its output: of every run, so that none hides another. */
const PROGRAMS = String.raw`
  answer_sigterm.sh         | ENDLESS
  bad_shebang.sh            | ^unknown: cannot start "[^"]+": its interpreter "/no/such/interpreter" does not exist$
  close_stdout_and_sleep.sh | ENDLESS
  complain_on_stderr.sh     | ^critical: cannot reach the database \| none$
  count_stdin.sh            | ^ok: 0$
  end_by_signal.sh SEGV     | ^unknown: terminated by SIGSEGV: this is SEGV$
  exit_code.sh 1            | ^warning: this is 1$
  flood_both.sh             | ENDLESS
  flood_stdout.sh           | ENDLESS
  forever.sh                | ENDLESS
  fork_grandchild.sh        | ^warning: left a grandchild$
  ignore_sigterm.sh         | ENDLESS
  invalid_utf8.sh           | ^ok: temperature 21 \ufffdC$
  leave_silent_grandchild.sh | ^ok: left a silent grandchild$
  missing.sh                | ^unknown: cannot start "[^"]+": file does not exist$
  not_executable.sh         | ^unknown: cannot start "[^"]+": file is not executable
  print_megabytes.sh 1      | ^critical: first line$
  print_performance_data.sh | ^ok: DISK OK - free space: / 3326 MB \(56%\);$
  print_table.sh            | ^warning: 2 queues$
  split_character.sh 65535  | ^ok: a+
  stop_itself.sh            | ENDLESS
  survive_leader.sh         | ENDLESS`;
const VERDICTS = linesOf(PROGRAMS).map(([command = "", text = ""]) => {
  const [name = "", ...args] = command.split(" ");
  return [name, text === "ENDLESS" ? ENDLESS : new RegExp(text), ...args] as const;
});

/** The number of processes of each command. */
const COUNT = shortOrFull(campaign(110, 6), 500);
const ROUNDS = 3;

/** The processes that were started for the crowd and live. */
function survivors(mark: string): readonly number[] {
  const found: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (!Deno.readTextFileSync(`/proc/${name}/environ`).includes(`CROWD=${mark}`)) continue;
      if (!/\) [ZX] /.test(Deno.readTextFileSync(`/proc/${name}/stat`))) found.push(Number(name));
    } catch {
      // It exited meanwhile, or belongs to another user.
    }
  }
  return found;
}

const CROWD = "many scripts of every behavior at once leak no process, file descriptor, timer or memory";
testWith("time")(CROWD, async () => {
  const mark = crypto.randomUUID();
  const order: CrowdOrder = {
    programs: VERDICTS.map(([name, verdict, ...args]) => ({
      path: fixture(name),
      arguments: args,
      timeoutMs: verdict === ENDLESS ? ENDLESS_TIMEOUT_MS : ENDING_TIMEOUT_MS,
    })),
    count: COUNT,
    rounds: ROUNDS,
    mark,
  };
  const program = fileURLToPath(new URL("../fixtures/crowd.ts", import.meta.url));
  const args = runArguments(["--allow-all", "--v8-flags=--expose-gc"]);
  // Even if the test fails.
  using _end = { [Symbol.dispose]: () => survivors(mark).forEach((pid) => Deno.kill(pid, "SIGKILL")) };
  const { success, stdout, stderr } = await runChild(
    Deno.execPath(),
    [...args, program, JSON.stringify(order)],
  );
  assert.ok(success, stderr);
  const { seen, holdings } = JSON.parse(stdout) as CrowdFindings;
  for (const [index, [name, verdict]] of VERDICTS.entries()) {
    const share = Math.floor(COUNT / VERDICTS.length) + (index < COUNT % VERDICTS.length ? 1 : 0);
    const counts = seen[name] ?? {};
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    assert.strictEqual(total, share * ROUNDS, `${name} was observed each time`);
    assert.deepStrictEqual(Object.keys(counts).filter((other) => !verdict.test(other)), [], name);
  }
  const [before, first, ...rest] = holdings;
  assert.ok(before !== undefined && first !== undefined);
  for (const { descriptors, timers } of [first, ...rest]) {
    // The runtime may still have held some of its own before.
    assert.ok(descriptors <= before.descriptors, `${descriptors} descriptors, ${before.descriptors} before`);
    assert.equal(timers, 0);
  }
  // The first round loads the required modules.
  const grownBytes = (rest.at(-1)?.usedBytes ?? Infinity) - first.usedBytes;
  assert.ok(
    grownBytes < 256 * 1024,
    `grew by ${grownBytes} bytes in ${ROUNDS - 1} rounds of ${COUNT} checks`,
  );
  // A killed process takes a moment to exit.
  await until("the end of every program", () => survivors(mark).length === 0);
});
