import assert from "node:assert/strict";
import type { DiskSpaceParameters } from "../../src/domain/generated/config.ts";
import type { Host } from "../../src/domain/system.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import { createHost } from "../../src/system/deno_system.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { runChild, tool } from "../../testing/tools.ts";
import { observeCheck, type ObserveOptions } from "../support/observe_check.ts";
import { testTable } from "../support/rows.ts";

const BELOW = { warningBelow: { percent: 10 }, criticalBelow: { percent: 5 } };

function observe(parameters: Partial<DiskSpaceParameters>, options?: ObserveOptions): Promise<CheckResult> {
  return observeCheck({
    kind: "disk_space",
    parameters: { path: "/", free: BELOW, freeInodes: BELOW, ...parameters },
  }, options);
}

function hostWith(fileSystem: Host["fileSystem"]): Host {
  return { ...createHost(), fileSystem };
}

Deno.test("disk_space compares free space and free inodes with thresholds", async (t) => {
  const table = `
    much of both       | 40 of 100 | 500 of 1000 | ok: free 40% (40 GB of 100 GB); free inodes 50% (500 of 1000)
    little space       | 9 of 100  | 500 of 1000 | \\
      warning: free 9% (9 GB of 100 GB), warning below 10%; free inodes 50% (500 of 1000)
    few inodes         | 40 of 100 | 1 of 1000   | \\
      critical: free 40% (40 GB of 100 GB); free inodes 0.1% (1 of 1000), critical below 5%
    no limit of inodes | 0 of 100  |             | critical: free 0% (0 B of 100 GB), critical below 5%
    no size at all     | 0 of 0    |             | unknown: the file system of "/" has no size`;
  await testTable(t, table, async (_, space, inodes, expected) => {
    const [freeBytes = 0, totalBytes = 0] = space.split(" of ").map((gigabytes) => Number(gigabytes) * 1e9);
    const [free = 0, total = 0] = inodes.split(" of ").map(Number);
    const facts = { freeBytes, totalBytes, inodes: inodes === "" ? null : { free, total } };
    const host = hostWith(() => Promise.resolve(facts));
    const { condition, output } = await observe({}, { system: { host } });
    assert.equal(`${condition}: ${output}`, expected);
  });
});

Deno.test("disk_space measures the space of this machine as df does", async () => {
  const { metrics, condition } = await observe({
    path: Deno.cwd(),
    free: { warningBelow: 1 },
    freeInodes: {},
  });
  const { stdout } = await runChild(tool("df"), ["-B1", "--output=used,avail,itotal", Deno.cwd()]);
  const [used = 0, free = 0, inodes = 0] = stdout.split("\n")[1]?.trim()
    .split(/\s+/).map(Number) ?? [];
  const total = metrics["total_bytes"] ?? 0;
  assert.equal(condition, "ok");
  // Others write to the disk meanwhile.
  assert.ok(Math.abs(total - used - free) / total < 0.01, `${total} of ${used + free}`);
  assert.equal(metrics["total_inodes"] ?? 0, inodes);
  assert.equal(metrics["free_bytes_warning_below"], 1);
});

Deno.test("disk_space is unknown with the reason if the file system cannot be queried", async (t) => {
  await t.step("a path that does not exist", async () => {
    const { condition, output, metrics } = await observe({ path: "/does/not/exist" });
    assert.deepEqual([condition, output, metrics], [
      "unknown",
      'cannot read "/does/not/exist": file does not exist',
      {},
    ]);
  });
  await t.step("a hung mount", async () => {
    const clock = createFakeClock();
    const asked = Promise.withResolvers<void>();
    const host = hostWith(() => {
      asked.resolve();
      return new Promise(() => {});
    });
    const running = observe({}, { system: { clock, host }, timeoutMs: 3000 });
    await asked.promise;
    await clock.advance(3000);
    const { condition, output } = await running;
    assert.equal(condition, "unknown");
    assert.equal(output, 'cannot read "/": the file system did not respond within 3 s');
  });
  await t.step("an abort", async () => {
    const stop = new AbortController();
    const host = hostWith(() => {
      stop.abort(new Error("stopped"));
      return new Promise(() => {});
    });
    await assert.rejects(observe({}, { system: { host }, signal: stop.signal }), /stopped/);
  });
});
