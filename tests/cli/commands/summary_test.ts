import assert from "node:assert/strict";
import { run } from "../../../src/cli/run.ts";
import { DAY_MS, HOUR_MS } from "../../../src/shared/time_units.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { changeOf, entryOf, NOW_MS, recordOf, updateOf } from "../../state/records.ts";
import { openState } from "../../state/state_directory.ts";
import { tempDirectory } from "../../../testing/builders.ts";

const CHECK = { kind: "test", parameters: {} };
const CONFIG = {
  defaults: { objective: "99 % a week" },
  checks: { web: { ...CHECK, title: "Website" }, db: CHECK, off: { ...CHECK, active: false } },
};

/** Prints the summary of a week in which `web` was down for two hours, and `db` never ran. */
async function summary(args: readonly string[], config: unknown = CONFIG) {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  let stdout = "";
  let stderr = "";
  const { store } = await openState(`${directory}/kept.sqlite`);
  const condition = { ...recordOf("web").condition, confirmed: "ok" as const, observedAtMs: NOW_MS };
  for (let hour = 1; hour <= 24; hour++) {
    const atMs = NOW_MS - hour * HOUR_MS;
    const lasted = hour === 3 || hour === 4 ? "critical" : "ok";
    const rollup = { ...entryOf(atMs), lasted, lastedMs: HOUR_MS, durationMs: 20 } as const;
    await store.save([updateOf("web", { record: recordOf("web", { condition }), rollup })]);
  }
  await store.save([
    updateOf("web", {
      record: recordOf("web", { condition }),
      change: changeOf("web", NOW_MS - 4 * HOUR_MS),
    }),
    updateOf("web", {
      record: recordOf("web", { condition }),
      change: changeOf("web", NOW_MS - 2 * HOUR_MS, { from: "critical", to: "ok" }),
    }),
  ]);
  await store.close();
  await Deno.writeTextFile(`${directory}/monitor.json`, JSON.stringify(config));
  const base = createMemorySystem({ workingDirectory: directory, environment: { NO_COLOR: "1" } });
  const system = {
    ...base,
    stdout: { ...base.stdout, write: (piece: string) => void (stdout += piece) },
    stderr: { ...base.stderr, write: (piece: string) => void (stderr += piece) },
    clock: createFakeClock(NOW_MS),
  };
  const own = ["--config", `${directory}/monitor.json`, "--state", "kept.sqlite"];
  const code = await run(["summary", ...own, ...args], system);
  return { code, stdout, stderr };
}

Deno.test("monitor summary prints outages and availability of the last week", async () => {
  const { code, stdout } = await summary([]);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^1 of 2 checks was down, 2 h in all; 1 missed its objective; 1 check has no data\.\n/,
  );
  assert.match(stdout, /\nDown\n- Website: 2026-01-31 07:00 to 09:00, 2 h: connection refused\n/);
  assert.match(stdout, /\n- Website: 91\.666% up, 2 h down; objective 99% in 7 d missed with 91\.666%: /);
  assert.match(stdout, /\nChecks without data\n- db: did not run\n/);
});

Deno.test("monitor summary --format json has the period and the same numbers", async () => {
  const { stdout } = await summary(["--format", "json", "--period", "1d", "web"]);
  const fields = JSON.parse(stdout);
  assert.deepEqual([fields.from, fields.until], [
    new Date(NOW_MS - DAY_MS).toISOString(),
    new Date(NOW_MS).toISOString(),
  ]);
  assert.deepEqual([fields.checks, fields.checks_down, fields.down_ms], [1, 1, 2 * HOUR_MS]);
  assert.deepEqual(fields.outages.items.map((one: { duration_ms: number }) => one.duration_ms), [
    2 * HOUR_MS,
  ]);
});

Deno.test("monitor summary --format html prints a page", async () => {
  const { stdout } = await summary(["--format", "html"]);
  assert.match(stdout, /^<!DOCTYPE html>\n/);
});

Deno.test("monitor summary rejects a period that is none", async () => {
  const { code, stderr } = await summary(["--period", "soon"]);
  assert.equal(code, 64);
  assert.match(stderr, /--period "soon" .*expected text such as "5 minutes"/);
});
