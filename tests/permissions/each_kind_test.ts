/** For each check kind: the printed permissions are enough, and without any one of them the output names its flag. */
import assert from "node:assert/strict";
import type { CheckKind } from "../../src/domain/check.ts";
import { PERMISSION_CLASSES } from "../../src/domain/runtime_permissions.ts";
import type { PermissionsByClass } from "../../src/permissions/permission_flags.ts";
import { type Harness, withHarness } from "../life/program.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { flagsFor } from "./harness.ts";

const test = concurrentTests("monitor permissions: each kind");

/** Parameters of a check that is not unknown on any machine of the tests. */
const PARAMETERS: Readonly<Partial<Record<CheckKind, object>>> = {
  disk_space: { path: "/" },
  memory: {},
  load: {},
  process: { pid_file: "own.pid", count: {} },
  systemd_unit: { unit: "web", command: "./systemctl.sh" },
};

for (const [kind, parameters] of Object.entries(PARAMETERS)) {
  test(`monitor permissions: ${kind} runs with the printed flags, and names each that is missing`, () =>
    withHarness(async (harness) => {
      harness.writeScript("systemctl.sh", "echo Id=web.service; echo ActiveState=active");
      Deno.writeTextFileSync(`${harness.directory}/own.pid`, "1");
      harness.writeConfig({ own: { kind, parameters }, base: { kind: "test", parameters: {} } });
      const [requiredPermissions, base] = [
        await requiredPermissionsOf(harness, "own"),
        await requiredPermissionsOf(harness, "base"),
      ];
      assert.doesNotMatch(await outputOf(harness, flagsFor(requiredPermissions)), /UNKNOWN/);
      for (const permission of PERMISSION_CLASSES) {
        for (
          const value of requiredPermissions[permission].filter((one) => !base[permission].includes(one))
        ) {
          const output = await outputOf(harness, flagsFor(requiredPermissions, { permission, value }));
          assert.match(output, /UNKNOWN/, value);
          assert.match(output, new RegExp(`--allow-${permission}=(\\S+,)?${value}`));
        }
      }
    }));
}

async function requiredPermissionsOf(harness: Harness, name: string): Promise<PermissionsByClass> {
  const { stdout } = await harness.run(["permissions", name, "--state", "none", "--format", "json"]);
  return JSON.parse(stdout) as PermissionsByClass;
}

async function outputOf(harness: Harness, permissions: readonly string[]): Promise<string> {
  const { stdout } = await harness.run(["check", "--once", "own", "--state", "none"], { permissions });
  return stdout;
}
