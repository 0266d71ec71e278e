import assert from "node:assert/strict";
import { fixture } from "../support/processes.ts";
import type { SystemdUnitParameters } from "../../src/domain/generated/config.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import { observeCheck } from "../support/observe_check.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";

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
  const table = `
    a running service   | good | | ok: good.service is active (running); restarts 0
    a failed service    | bad  | | critical: bad.service is failed (exit-code), expected active; restarts 0
    as a warning        | bad  | asWarning=true state=not_failed | \
      warning: bad.service is failed (exit-code), expected not failed; restarts 0
    one that ran once   | once | | critical: once.service is inactive (dead), expected active; restarts 0
    and may be inactive | once | state=not_failed | ok: once.service is inactive (dead); restarts 0
    restarted again and again | flap | state=not_failed restarts.warningAbove=3 | \
      critical: flap.service is activating (auto-restart), expected not failed; restarts 4, warning above 3
    one that does not exist | nothere | state=not_failed | \
      critical: nothere.service does not exist, expected not failed; restarts 0`;
  await testTable(t, table, async (_, name, parameters, expected) => {
    const unit = `${name}.service`;
    const given = { unit, ...fieldsOf<Partial<SystemdUnitParameters>>(parameters) };
    const { condition, output, units } = await observe(given, await recordedUnit(unit));
    assert.equal(`${condition}: ${output}`, expected);
    assert.deepEqual(units, [unit]);
  });
  await t.step("the metrics have the threshold", async () => {
    const text = await recordedUnit("flap.service");
    const { metrics } = await observe({ restarts: { criticalAbove: 9 } }, text);
    assert.deepEqual(metrics, { units: 1, units_unexpected: 1, restarts: 4, restarts_critical_above: 9 });
  });
});

Deno.test("systemd_unit checks all loaded units that a pattern matches", async (t) => {
  const recorded = await Deno.readTextFile(RECORDED);
  const [good, once] = [await recordedUnit("good.service"), await recordedUnit("once.service")];
  const many = Array.from({ length: 8 }, (_, index) => `Id=${index}.service\nActiveState=failed`);
  const rows: Rows<[text: string, expected: RegExp]> = {
    "some failed, and references to missing units are ignored": [
      recorded,
      /^critical: bad\.service is failed \(exit-code\), [^;]*; flap\.service is activating [^;]*; restarts 4$/,
    ],
    "none failed": [`${good}\n\n${once}`, /^ok: 2 units are not failed; restarts 0$/],
    "many failed": [many.join("\n\n"), /^critical: .*; and 3 more; restarts 0$/],
    "none matches": ["", /^critical: no loaded unit matches "\*"$/],
  };
  await testRows(t, rows, async ([text, expected]) => {
    const { condition, output } = await observe({ unit: "*", state: "not_failed" }, text);
    assert.match(`${condition}: ${output}`, expected);
  });
  const { metrics, units } = await observe({ unit: "*", state: "not_failed" }, recorded);
  assert.deepEqual([metrics["units"], metrics["units_unexpected"], units], [4, 2, undefined]);
  assert.equal((await observe({ unit: "*" }, many.join("\n\n"))).detail.split("\n").length, 8);
});

Deno.test("systemd_unit is unknown with the reason if systemctl fails", async (t) => {
  const good = await recordedUnit("good.service");
  const unnumbered = good.replace(/NRestarts=.*\n?/, "");
  assert.equal((await observe({}, unnumbered)).condition, "ok");
  const rows: Rows<[text: string, Partial<SystemdUnitParameters>, output: string]> = {
    "text that is no state": ["=\n\n\0\nId=\nhello", {}, 'systemctl printed no state of "web"'],
    "a part that is no state": [`${good}\n\nhello`, {}, 'systemctl printed no state of "web"'],
    "a service without the number of its restarts": [
      unnumbered,
      { restarts: { warningAbove: 3 } },
      "good.service is active (running); restarts 0; systemctl printed no restarts of good.service",
    ],
    "a systemctl that fails": ["", { command: "/bin/false" }, '"/bin/false" failed with exit code 1'],
  };
  await testRows(t, rows, async ([text, parameters, expected]) => {
    const { condition, output } = await observe(parameters, text);
    assert.deepEqual([condition, output], ["unknown", expected]);
  });
  const { condition, output } = await observe({}, "", "darwin");
  assert.deepEqual([condition, output], ["unknown", "systemd runs on Linux only"]);
});
