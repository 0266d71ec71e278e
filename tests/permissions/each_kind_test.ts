/** For each check kind: the printed permissions are enough, and without any one of them the output names its flag. */
import assert from "node:assert/strict";
import type { CheckKind } from "../../src/domain/check.ts";
import { PERMISSION_CLASSES } from "../../src/domain/needs.ts";
import type { NeedsByClass } from "../../src/permissions/permission_flags.ts";
import { type Stage, withStage } from "../life/program.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { flagsFor } from "./stage.ts";

const test = concurrentTests("monitor permissions: each kind");

/** Parameters of a check that is not unknown on any machine of the tests. */
const PARAMETERS: Readonly<Partial<Record<CheckKind, object>>> = {
  disk_space: { path: "/" },
  memory: {},
  load: {},
};

for (const [kind, parameters] of Object.entries(PARAMETERS)) {
  test(`monitor permissions: ${kind} runs with the printed flags, and names each that is missing`, () =>
    withStage(async (stage) => {
      stage.writeConfig({ own: { kind, parameters }, base: { kind: "test", parameters: {} } });
      const [needs, base] = [await needsOf(stage, "own"), await needsOf(stage, "base")];
      assert.doesNotMatch(await outputOf(stage, flagsFor(needs)), /UNKNOWN/);
      for (const permission of PERMISSION_CLASSES) {
        for (const value of needs[permission].filter((one) => !base[permission].includes(one))) {
          const output = await outputOf(stage, flagsFor(needs, { permission, value }));
          assert.match(output, /UNKNOWN/, value);
          assert.ok(output.includes(`--allow-${permission}=${value}`), output);
        }
      }
    }));
}

async function needsOf(stage: Stage, name: string): Promise<NeedsByClass> {
  const { stdout } = await stage.run(["permissions", name, "--state", "none", "--format", "json"]);
  return JSON.parse(stdout) as NeedsByClass;
}

async function outputOf(stage: Stage, permissions: readonly string[]): Promise<string> {
  const { stdout } = await stage.run(["check", "--once", "own", "--state", "none"], { permissions });
  return stdout;
}
