import assert from "node:assert/strict";
import { fixture } from "../support/processes.ts";
import type { SystemdUnitParameters } from "../../src/domain/generated/config.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { CheckResult } from "../../src/domain/result.ts";
import { observeCheck } from "../support/observe_check.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { testRows } from "../support/rows.ts";

/** The output of systemd 252 for five services. */
const RECORDED = new URL("testdata/systemctl_show.txt", import.meta.url);

async function observe(
  parameters: Partial<SystemdUnitParameters>,
  text: string,
  platform: "linux" | "darwin" = "linux",
): Promise<CheckResult> {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const command = `${directory}/systemctl`;
  await Deno.writeTextFile(`${directory}/printed`, text);
  await Deno.writeTextFile(`${command}.sh`, `printf '%s\\n' "$*" >&2\ncat ${directory}/printed\n`);
  await Deno.symlink(fixture("run_alongside.sh"), command);
  return await observeCheck({
    kind: "systemd_unit",
    parameters: { unit: "web", state: "active", asWarning: false, restarts: {}, command, ...parameters },
  }, { system: { platform } });
}

async function recordedUnit(name: string): Promise<string> {
  const blocks = (await Deno.readTextFile(RECORDED)).split("\n\n");
  return blocks.find((block) => block.includes(`Id=${name}`)) ?? "";
}

Deno.test("systemd_unit compares the state of a unit and its restarts with the expected ones", async (t) => {
  const rows: Readonly<
    Record<string, readonly [unit: string, Partial<SystemdUnitParameters>, Condition, output: string]>
  > = {
    "a running service": ["good.service", {}, "ok", "good.service is active (running); restarts 0"],
    "a failed service": [
      "bad.service",
      {},
      "critical",
      "bad.service is failed (exit-code), expected active; restarts 0",
    ],
    "a failed service as a warning": [
      "bad.service",
      { asWarning: true, state: "not_failed" },
      "warning",
      "bad.service is failed (exit-code), expected not failed; restarts 0",
    ],
    "a service that ran once": [
      "once.service",
      {},
      "critical",
      "once.service is inactive (dead), expected active; restarts 0",
    ],
    "a service that ran once and need not be active": [
      "once.service",
      { state: "not_failed" },
      "ok",
      "once.service is inactive (dead); restarts 0",
    ],
    "a service that is restarted again and again": [
      "flap.service",
      { state: "not_failed", restarts: { warningAbove: 3 } },
      "critical",
      "flap.service is activating (auto-restart), expected not failed; restarts 4, warning above 3",
    ],
    "a service that does not exist": [
      "nothere.service",
      { state: "not_failed" },
      "critical",
      "nothere.service does not exist, expected not failed; restarts 0",
    ],
  };
  await testRows(t, rows, async ([unit, parameters, condition, output]) => {
    const result = await observe({ unit, ...parameters }, await recordedUnit(unit));
    assert.deepEqual([result.condition, result.output], [condition, output]);
  });
  await t.step("the metrics have the threshold", async () => {
    const text = await recordedUnit("flap.service");
    const { metrics } = await observe({ restarts: { criticalAbove: 9 } }, text);
    assert.deepEqual(metrics, { units: 1, units_unexpected: 1, restarts: 4, restarts_critical_above: 9 });
  });
});

Deno.test("systemd_unit checks all loaded units that a pattern matches", async (t) => {
  const recorded = await Deno.readTextFile(RECORDED);
  await t.step("some failed, and references to missing units are ignored", async () => {
    const { condition, output, metrics } = await observe({ unit: "*", state: "not_failed" }, recorded);
    assert.equal(condition, "critical");
    assert.equal(
      output,
      "bad.service is failed (exit-code), expected not failed; " +
        "flap.service is activating (auto-restart), expected not failed; restarts 4",
    );
    assert.deepEqual([metrics["units"], metrics["units_unexpected"]], [4, 2]);
  });
  await t.step("none failed", async () => {
    const text = `${await recordedUnit("good.service")}\n\n${await recordedUnit("once.service")}`;
    const { condition, output } = await observe({ unit: "*", state: "not_failed" }, text);
    assert.deepEqual([condition, output], ["ok", "2 units are not failed; restarts 0"]);
  });
  await t.step("many failed", async () => {
    const text = Array.from({ length: 8 }, (_, index) => `Id=${index}.service\nActiveState=failed`).join(
      "\n\n",
    );
    const { output, detail } = await observe({ unit: "*" }, text);
    assert.match(output, /; and 3 more; restarts 0$/);
    assert.equal(detail.split("\n").length, 8);
  });
  await t.step("none matches", async () => {
    const { condition, output } = await observe({ unit: "x*" }, "");
    assert.deepEqual([condition, output], ["critical", 'no loaded unit matches "x*"']);
  });
});

Deno.test("systemd_unit is unknown with the reason if systemctl fails", async (t) => {
  await t.step("text that is no state", async () => {
    const { condition, output } = await observe({ unit: "web" }, "=\n\n\0\nId=\nhello");
    assert.deepEqual([condition, output], ["unknown", 'systemctl printed no state of "web"']);
  });
  await t.step("a part that is no state", async () => {
    const { condition, output } = await observe({}, `${await recordedUnit("good.service")}\n\nhello`);
    assert.deepEqual([condition, output], ["unknown", 'systemctl printed no state of "web"']);
  });
  await t.step("a service without the number of its restarts", async () => {
    const text = (await recordedUnit("good.service")).replace(/NRestarts=.*\n?/, "");
    assert.equal((await observe({}, text)).condition, "ok");
    const { condition, output } = await observe({ restarts: { warningAbove: 3 } }, text);
    assert.deepEqual([condition, output], [
      "unknown",
      "good.service is active (running); restarts 0; systemctl printed no restarts of good.service",
    ]);
  });
  await t.step("a system without systemd", async () => {
    const { condition, output } = await observe({}, "", "darwin");
    assert.deepEqual([condition, output], ["unknown", "systemd runs on Linux only"]);
  });
  await t.step("a systemctl that fails", async () => {
    const { condition, output } = await observe({ command: "/bin/false" }, "");
    assert.deepEqual([condition, output], ["unknown", '"/bin/false" failed with exit code 1']);
  });
});
