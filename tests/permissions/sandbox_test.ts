import assert from "node:assert/strict";
import type { PermissionsByClass } from "../../src/permissions/required_permissions.ts";
import { bwrapCommand, type Sandbox, sandboxOf, systemdDropIn } from "../../src/cli/commands/permissions.ts";
import { createConfigSystem } from "../../testing/config_system.ts";
import { requiresTools, testWith } from "../../testing/tools.ts";
import { type Harness, withHarness } from "../life/program.ts";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { startServer } from "../support/http_servers.ts";
import { systemdAnalyze } from "../support/systemd_analyze.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { type Rows, testRows } from "../support/rows.ts";

const NONE: PermissionsByClass = { read: [], write: [], net: [], run: [], env: [], sys: [] };

const COMMAND = ["/usr/local/bin/monitor", "check", "--config", "/etc/monitor/monitor.jsonc"];

function sandboxFor(
  permissions: Partial<PermissionsByClass>,
  listen: string | null = null,
): Promise<Sandbox> {
  const files = { "/srv/data": { kind: "directory" }, "/etc/ca.pem": "", "/srv/app/a.pid": "" } as const;
  return sandboxOf({ ...NONE, ...permissions }, { files: createConfigSystem({ files }).files, listen });
}

Deno.test("sandboxOf() grants a file's directory, so that a replaced file is read", async (t) => {
  const rows: Rows<[string, place: string]> = {
    "a directory": ["/srv/data", "/srv/data"],
    "a file": ["/srv/app/a.pid", "/srv/app"],
    "a file in a directory of the system": ["/etc/ca.pem", "/etc/ca.pem"],
    "a file that is missing": ["/var/backups/latest.tar", "/var/backups"],
    "a missing directory in one of the system": ["/var/lib/monitor", "/var/lib/monitor"],
  };
  await testRows(t, rows, async ([path, place]) => {
    const { readOnly } = await sandboxFor({ read: [path] });
    assert.ok(readOnly.includes(place), readOnly.join(" "));
    const { writable } = await sandboxFor({ write: [path], read: [path] });
    assert.deepEqual(writable, [place]);
  });
  await t.step("a path within another one is dropped", async () => {
    const { readOnly } = await sandboxFor({ read: ["/srv/data/a/b", "/srv/data"], write: ["/srv/app/x"] });
    assert.deepEqual(readOnly.filter((path) => path.startsWith("/srv")), ["/srv/data"]);
  });
  await t.step("a path that begins with another one is not within it", async () => {
    const { readOnly } = await sandboxFor({ read: ["/srv/data", "/srv/database/x"] });
    assert.deepEqual(readOnly.filter((path) => path.startsWith("/srv")), ["/srv/data", "/srv/database"]);
  });
  await t.step("the root directory replaces everything", async () => {
    assert.deepEqual((await sandboxFor({ read: ["/"] })).readOnly, ["/"]);
  });
  await t.step("it does not replace paths in /tmp, which is private in the sandbox", async () => {
    const { readOnly } = await sandboxFor({
      read: ["/", "/tmp/app/monitor.jsonc", "/tmpfiles/x", "/srv/data"],
    });
    assert.deepEqual(readOnly, ["/", "/tmp/app"]);
    assert.deepEqual((await sandboxFor({ read: ["/", "/tmp"] })).readOnly, ["/", "/tmp"]);
    const sandbox = await sandboxFor({ read: ["/"] });
    assert.match(bwrapCommand(sandbox, ["/tmp/monitor"]), /--tmpfs \/tmp .*--ro-bind-try \/tmp\/monitor /s);
  });
});

Deno.test("sandboxOf() restricts the network to known addresses", async (t) => {
  const rows: Rows<[Partial<PermissionsByClass>, Sandbox["addresses"]]> = {
    "nothing connects": [{ run: ["/usr/bin/ps", "/usr/bin/kill"] }, []],
    "addresses": [
      { net: ["[::1]:25", "10.0.0.1:443", "10.0.0.1:80", "localhost:6379"] },
      ["10.0.0.1", "::1", "localhost"],
    ],
    "a name": [{ net: ["10.0.0.1:443", "example.org:443"] }, null],
    "everything": [{ net: ["*"] }, null],
    "a command alone": [{ run: ["/srv/a.sh"] }, null],
    "a command that may connect anywhere": [{ net: ["10.0.0.1:443"], run: ["/srv/a.sh"] }, null],
  };
  await testRows(t, rows, async ([permissions, addresses]) => {
    assert.deepEqual((await sandboxFor(permissions)).addresses, addresses);
  });
  await t.step("an endpoint that others connect to", async () => {
    const isKnown = ["127.0.0.1:9797", "[::1]:9797", "10.0.0.1:9797", "0.0.0.0:9797"].map(async (listen) =>
      (await sandboxFor({ net: [listen] }, listen)).addresses !== null
    );
    assert.deepEqual(await Promise.all(isKnown), [true, true, false, false]);
  });
});

Deno.test("bwrapCommand() and systemdDropIn() quote special characters in paths", async () => {
  const sandbox = await sandboxFor({ write: ["/srv/it's 100%/a:b/x"] });
  assert.match(bwrapCommand(sandbox, COMMAND), / --bind '\/srv\/it'\\''s 100%\/a:b' '/);
  assert.match(systemdDropIn(sandbox, COMMAND), /^BindPaths="\/srv\/it's 100%%\/a\\:b"$/m);
});

provided(withHarness, testWith("systemd-analyze"))(
  "systemdDropIn() restricts the service of examples/, and systemd-analyze accepts it",
  async ({ directory }) => {
    const unit = await Deno.readTextFile(
      new URL("../../examples/systemd/monitor.service", import.meta.url),
    );
    const exposureOf = async (name: string, permissions: Partial<PermissionsByClass> | null) => {
      const path = `${directory}/${name}.service`;
      await Deno.writeTextFile(path, unit.replaceAll(COMMAND[0] ?? "", "/bin/true"));
      if (permissions !== null) {
        const dropIn = systemdDropIn(await sandboxFor(permissions), ["/bin/true", ...COMMAND.slice(1)]);
        await Deno.mkdir(`${path}.d`);
        await Deno.writeTextFile(`${path}.d/least_privilege.conf`, dropIn);
      }
      const verified = await systemdAnalyze(["verify", "--man=no", path]);
      assert.deepEqual([verified.code, verified.stdout, verified.stderr], [0, "", ""]);
      const { stdout } = await systemdAnalyze(["security", "--offline=yes", path]);
      return Number(/Overall exposure level .*: ([\d.]+)/.exec(stdout)?.[1]);
    };
    const plain = await exposureOf("plain", null);
    // Commands require more than the other settings drop, and the invisible root directory does not count.
    await exposureOf("commands", { run: ["/srv/a.sh"], write: ["/srv/data"] });
    const addresses = await exposureOf("addresses", { net: ["10.0.0.1:25"], write: ["/srv/data"] });
    const files = await exposureOf("files", { read: ["/srv/data"] });
    assert.ok(
      addresses < plain && files < addresses,
      `${[plain, addresses, files]}`,
    );
  },
);

const test = provided(withHarness, concurrentTests("monitor permissions --format bwrap"));

/** Runs all checks in the sandbox that is printed for some, or for all. */
async function runIn(harness: Harness, names: readonly string[]): Promise<string> {
  const { stdout: printed } = await harness.run(["permissions", ...names, "--format", "bwrap"]);
  const options = printed.slice(0, printed.indexOf("  -- "));
  return (await harness.run(["check", "--once"], { shell: `exec ${options} -- "$@"` })).stdout;
}

test(
  "monitor permissions --format bwrap: the checks run in the sandbox, and one more does not",
  async (harness) => {
    await using web = startServer((visitor) => visitor.untilGone());
    await using temporary = await tempDirectory();
    const outside = temporary.path;
    await Deno.writeTextFile(`${outside}/secret`, "");
    await Deno.writeTextFile(`${outside}/probe.sh`, "#!/bin/sh\necho outside\n", { mode: 0o755 });
    harness.writeScript("probe.sh", "touch out 2>&1; touch /var/out || echo read-only");
    // The root directory of another process is a way out, if that process has no more rights.
    harness.writeScript("escape.sh", `ls -d /proc/[0-9]*/root${outside}/secret 2>/dev/null; exit 0`);
    harness.writeConfig({
      escape: { kind: "script", parameters: { path: "./escape.sh" } },
      file: { kind: "file_timestamp", parameters: { path: "monitor.json" } },
      probe: { kind: "script", parameters: { path: "./probe.sh" } },
      port: { kind: "tcp_connect", parameters: { host: "127.0.0.1", port: web.port } },
      "other file": { kind: "file_timestamp", parameters: { path: `${outside}/secret` } },
      "other probe": { kind: "script", parameters: { path: `${outside}/probe.sh` } },
    }, { state: "kept.sqlite" });
    const all = await runIn(harness, []);
    for (const name of ["file", "port", "other file"]) assert.match(all, new RegExp(`OK +${name} `));
    assert.match(all, /OK +probe .*read-only/);
    assert.match(all, /OK +other probe .*outside/);
    const some = await runIn(harness, ["file", "probe", "escape"]);
    assert.match(some, /OK +escape +\d+ m?s *\n/);
    assert.match(some, /OK +file /);
    assert.match(some, /OK +probe .*read-only/);
    assert.match(some, /WARNING +other file .*does not exist/);
    assert.match(some, /UNKNOWN +other probe .*cannot start/);
    const { stdout: printed } = await harness.run(["permissions", "file", "--format", "bwrap"]);
    const shell = printed.replace(" check --config ", " check --once --config ");
    assert.match((await harness.run([], { shell })).stdout, /^OK +file .*\n\n1 check: 1 ok /);
    const one = await runIn(harness, ["file"]);
    assert.match(one, /OK +file /);
    assert.match(one, /CRITICAL +port .*connecting to 127\.0\.0\.1:\d+ failed/);
  },
  requiresTools("bwrap", "kill"),
);
