import assert from "node:assert/strict";
import { findCommands } from "../../src/config/check_rules.ts";
import {
  type ConfigSystemOptions,
  createConfigSystem,
  load,
  withCheck,
} from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const program = { mode: 0o755 };

function find(names: readonly string[], options: ConfigSystemOptions): ReturnType<typeof findCommands> {
  const values = names.map((name, index) => ({
    path: [index],
    format: "command",
    value: name,
    written: name,
  }));
  return findCommands(values, "/etc/monitor", createConfigSystem(options));
}

async function resolvedPath(path: string, options: ConfigSystemOptions): Promise<string | null> {
  const { checks: [check] } = await load(withCheck({ kind: "script", parameters: { path } }), options);
  return check?.kind === "script" ? check.parameters.path : null;
}

Deno.test("findCommands() returns the first command of a name in PATH", async (t) => {
  const files = {
    "/one/check": { mode: 0o644 },
    "/two/check": { kind: "directory", mode: 0o755 },
    "/three/check": program,
    "/four/check": program,
    "/etc/monitor/check": program,
    "bin/check": program,
  } as const;
  const rows: Readonly<Record<string, readonly [PATH: string, found: string | undefined]>> = {
    "not one that is not executable, nor a directory": ["/one:/two:/three:/four", "/three/check"],
    "the order is that of PATH": ["/four:/three", "/four/check"],
    "not the working directory for an empty entry": [":/four", "/four/check"],
    "not a relative entry": ["bin:.:/four", "/four/check"],
  };
  await testRows(t, rows, async ([PATH, found]) => {
    const { commands, problems } = await find(["check"], { files, environment: { PATH } });
    assert.equal(commands.get("check"), found);
    assert.equal(problems.length, found === undefined ? 1 : 0);
  });
});

Deno.test("findCommands() does not search for names with a slash", async (t) => {
  const environment = { PATH: "/bin" };
  const files = { "/bin/check": program, "/bin/a\\b": program };
  const rows: Readonly<Record<string, string>> = {
    "check": "/bin/check",
    "./check": "/etc/monitor/check",
    "/opt/check": "/opt/check",
  };
  await testRows(t, rows, async (resolved, path) => {
    assert.equal(await resolvedPath(path, { environment, files }), resolved);
  });
});

Deno.test("findCommands() supports Windows paths on Windows", async () => {
  const options = {
    platform: "windows",
    workingDirectory: "C:\\Users",
    environment: { PATH: "relative;C:\\bin;D:\\tools" },
    files: { "D:\\tools/check.exe": { mode: null } },
  } as const;
  const { commands, problems } = await find(["check", "C:\\a\\check.exe", "sub\\check.exe"], options);
  assert.deepEqual([...commands], [["check", "D:\\tools/check.exe"]]);
  assert.deepEqual(problems, []);
});

Deno.test("findCommands() names the flag that the search for a command requires", async () => {
  const messageOf = async (options: ConfigSystemOptions): Promise<string | undefined> =>
    (await find(["check"], options)).problems[0]?.message;
  assert.equal(
    await messageOf({ forbidden: ["PATH"] }),
    'the command "check" cannot be looked up: grant --allow-env=PATH',
  );
  const denied = new Deno.errors.NotCapable("Requires read access");
  const environment = { PATH: "/one:/two" };
  assert.equal(
    await messageOf({ files: { "/one/check": denied }, environment }),
    'the command "check" cannot be looked up: grant --allow-read=/one/check',
  );
  const { commands } = await find(["check"], {
    files: { "/one/check": denied, "/two/check": program },
    environment,
  });
  assert.equal(commands.get("check"), "/two/check");
});
