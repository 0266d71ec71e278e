import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { type Harness, withHarness } from "./program.ts";

const test = concurrentTests("monitor status");

const OK = { kind: "test", parameters: { condition: "ok", output: "all is well" } };
const WARNING = { kind: "test", parameters: { condition: "warning", output: "rather warm" } };

interface Status {
  readonly condition: string;
  readonly checks: readonly Readonly<Record<string, unknown>>[];
}

async function statusOf(
  harness: Harness,
  names: readonly string[] = [],
): Promise<Status & { readonly code: number }> {
  const { code, stdout } = await harness.run(["status", "--format", "json", ...names]);
  return { code, ...JSON.parse(stdout) as Status };
}

test("monitor status, history: they read the state beside a running monitor", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ fine: OK, warm: { ...WARNING, threshold: 2 } });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("start");
    assert.equal((await statusOf(harness)).checks.length, 2, "perhaps before any result");
    await program.stdout.event("notification");
    for (let look = 0; look < 3; look++) {
      const { code, condition, checks } = await statusOf(harness);
      assert.equal(code, 1);
      assert.equal(condition, "warning");
      assert.deepEqual(
        checks.map(({ name, state, confirmed, notified }) => ({ name, state, confirmed, notified })),
        [
          { name: "fine", state: "current", confirmed: "ok", notified: "ok" },
          { name: "warm", state: "current", confirmed: "warning", notified: "warning" },
        ],
      );
      const history = await harness.run(["history", "warm"]);
      assert.equal(history.code, 0);
      assert.match(history.stdout, /^warm\n\nlast 24 hours/);
      assert.match(history.stdout, /UTC {2}pending to warning: rather warm\n$/);
    }
    const pretty = await harness.run(["status"]);
    assert.match(
      pretty.stdout,
      /^(pending: .*\n\n)?condition +check +for +output\nOK +fine +\d+ s +all is well\nWARNING +warm +\d+ s +rather warm\n\n2 checks:/,
    );
    assert.match(
      (await harness.run(["status", "warm"])).stdout,
      /^(pending: .*\n\n)?condition .*\nWARNING .*\n {4}confirmed warning since .* UTC\n {4}last run \d+ s ago, took \d+ ms: warning\n {4}next run .*\n/,
    );
    program.signal("SIGTERM");
    assert.equal((await program.end()).code, 0);
  }));

test("monitor status: a check that never ran counts as unknown", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ fine: OK, warm: WARNING });
    assert.equal((await statusOf(harness)).code, 3, "there is no state yet");
    await harness.run(["check", "--once", "fine"]);
    const { code, checks } = await statusOf(harness);
    assert.equal(code, 3);
    assert.deepEqual(
      checks.map(({ name, state, condition, confirmed }) => ({ name, state, condition, confirmed })),
      [
        { name: "fine", state: "current", condition: "ok", confirmed: "ok" },
        { name: "warm", state: "never_ran", condition: "unknown", confirmed: null },
      ],
    );
    assert.equal((await statusOf(harness, ["fine"])).code, 0);
    assert.equal((await statusOf(harness, ["nobody"]).catch(() => ({ code: 64 }))).code, 64);
    assert.match((await harness.run(["history", "warm"])).stderr, /the check "warm" never ran/);
  }));

Deno.test("monitor status: a check whose next run is overdue by two intervals counts as unknown", async (t) => {
  const rows = [
    { name: "planned an interval ago", overdueMs: 60_000, state: "current", code: 1 },
    { name: "planned almost two intervals ago", overdueMs: 100_000, state: "current", code: 1 },
    { name: "planned three intervals ago", overdueMs: 180_000, state: "overdue", code: 3 },
  ];
  await withHarness(async (harness) => {
    harness.writeConfig(
      { warm: WARNING },
      { state: "kept.sqlite", defaults: { threshold: 1, schedule: { regular_interval: 60 } } },
    );
    assert.equal((await harness.run(["check", "--once"])).code, 1);
    for (const { name, overdueMs, state, code } of rows) {
      await t.step(name, async () => {
        const database = new DatabaseSync(`${harness.directory}/kept.sqlite`);
        database.prepare("UPDATE checks SET next_run_at_ms = ?").run(Date.now() - overdueMs);
        database.close();
        const status = await statusOf(harness);
        assert.equal(status.checks[0]?.["state"], state);
        assert.equal(status.checks[0]?.["confirmed"], "warning");
        assert.equal(status.code, code);
      });
    }
    assert.match(
      (await harness.run(["status"])).stdout,
      /^condition .*\nUNKNOWN +warm +not run for \d+ s, was warning: rather warm/,
    );
  });
});

test("monitor status: a notification that is held back is told as such", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ warm: WARNING });
    await harness.run(["check", "--once", "--no-notify"]);
    assert.equal((await statusOf(harness)).checks[0]?.["notified"], "ok");
    assert.match((await harness.run(["status"])).stdout, /rather warm \[not notified\]\n/);
    const { stdout } = await harness.run(["check", "--once", "--due", "--no-notify", "warm"]);
    assert.equal(stdout, "");
  }));

test("monitor status, history: texts of targets cannot act on a terminal", () =>
  withHarness(async (harness) => {
    const output = "\u001b[2Jgone\u202e\u0085";
    harness.writeConfig({ warm: { kind: "test", parameters: { condition: "warning", output } } });
    await harness.run(["check", "--once", "--no-notify"]);
    for (const args of [["status"], ["status", "--format", "json"], ["history", "warm"]]) {
      const { stdout } = await harness.run(args);
      assert.doesNotMatch(stdout.replaceAll("\n", ""), /[\p{Cc}\u202e]/u, args.join(" "));
    }
    const { stdout } = await harness.run(["history", "--format", "json", "warm"]);
    assert.equal(JSON.parse(stdout).changes[0].output, output);
    assert.doesNotMatch(stdout.replaceAll("\n", ""), /[\p{Cc}\u202e]/u);
  }));
