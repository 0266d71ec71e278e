import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { run } from "../../../src/cli/run.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { monitorCommand, sourceEnvironment } from "../../../testing/source.ts";
import { runChild, testWith, tool } from "../../../testing/tools.ts";
import { withHarness } from "../../life/program.ts";
import { printing, withMachine } from "../../support/fake_machine.ts";
import { provided } from "../../support/concurrent_tests.ts";

const DF = printing(`Filesystem Type 1024-blocks Used Available Capacity Mounted on
/dev/vda1 ext4 100 42 58 42% /`);
const SS = printing('LISTEN 0 128 127.0.0.1:1 0.0.0.0:* users:(("tcpmux",pid=1,fd=3))');
const COMMANDS = { df: DF, ss: SS, crontab: "exit 1", systemctl: ":" };

/** Runs `monitor discover` with a config on a machine with two things to check. */
function discover(args: readonly string[], config: string, typed?: readonly string[]) {
  return withMachine({ commands: COMMANDS }, async ({ root, bin }) => {
    const path = `${root}/monitor.jsonc`;
    await Deno.writeTextFile(path, config);
    const environment = { PATH: bin };
    const system = createMemorySystem({ environment, ...typed !== undefined && { typed, columns: 200 } });
    const code = await run(["discover", "--config", path, ...args], system);
    return { code, system, text: await Deno.readTextFile(path) };
  });
}

const EMPTY = '{\n  "defaults": {},\n  "checks": {}\n}\n';

Deno.test("monitor discover lists proposed checks, with reasons, and adds nothing", async () => {
  const { code, text, system } = await discover([], EMPTY);
  assert.deepEqual([code, text], [0, EMPTY]);
  const output = system.stdout.text();
  assert.match(output, /^ ?1 {2}\/ +root file system \(ext4\), 42% used$/m);
  assert.match(output, /^ ?2 {2}memory +this machine$/m);
  assert.match(output, /^ ?4 {2}127\.0\.0\.1:1 +tcpmux listens to port 1 at 127\.0\.0\.1$/m);
  assert.match(output, /add them with: monitor discover -c .+ --all/);
});

Deno.test("monitor discover --all tries and adds everything, and then proposes nothing of it", async () => {
  const added = await discover(["--all"], EMPTY);
  assert.equal(added.code, 0, added.system.stderr.text());
  assert.match(added.text, /"disk": \{ "kind": "disk_space", "parameters": \{ "path": "\/" \} \}/);
  assert.match(added.text, /"port_1": \{ "kind": "tcp_connect"/);
  assert.match(added.system.stdout.text(), /^CRITICAL +port_1 .*refused/m);
  const again = await discover([], added.text);
  assert.equal(again.code, 0);
  assert.equal(again.system.stdout.text(), "nothing to propose: everything found is checked already\n");
});

Deno.test("monitor discover proposes nothing that another kind or name checks already", async () => {
  const checks = {
    root: { kind: "disk_space", parameters: { path: "/" } },
    ram: { kind: "memory", parameters: {} },
    page: { kind: "http_request", parameters: { request: { target: "http://localhost:1/health" } } },
    load: { kind: "test", parameters: {} },
  };
  const { code, system } = await discover(["--json"], JSON.stringify({ defaults: {}, checks }));
  assert.equal(code, 0);
  const { checks: proposed } = JSON.parse(system.stdout.text()) as {
    readonly checks: readonly { readonly name: string; readonly kind: string; readonly reason: string }[];
  };
  const names = proposed.filter(({ kind }) => kind !== "job").map(({ name }) => name);
  // The name is taken by a check of another kind.
  assert.deepEqual(names, ["load_2"]);
  assert.equal(proposed[0]?.reason, "this machine");
});

Deno.test("monitor discover adds the checks chosen on a terminal", async () => {
  const { code, text, system } = await discover([], EMPTY, ["2"]);
  assert.equal(code, 0, system.stderr.text());
  assert.equal(
    text,
    EMPTY.replace("{}\n}", '{\n    "memory": { "kind": "memory", "parameters": {} }\n  }\n}'),
  );
  const none = await discover([], EMPTY, ["none"]);
  assert.deepEqual([none.code, none.text], [0, EMPTY]);
  assert.match(none.system.stdout.text(), /nothing was added\n$/);
});

provided(withHarness, testWith("time"))(
  "monitor discover names the flags of unreadable sources, and proposes the rest",
  async ({ directory, run }) => {
    const path = `${directory}/monitor.jsonc`;
    Deno.writeTextFileSync(path, EMPTY);
    const { code, stdout, stderr } = await run(["discover", "--config", path], {
      permissions: [`--allow-read=${path}`],
    });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^1 {2}memory +this machine\n2 {2}load +this machine\n/);
    assert.match(stderr, /^monitor: warning: file systems: grant --allow-env=PATH$/m);
    assert.match(
      stderr,
      /^monitor: warning: certificates: grant --allow-read=\S+,\/etc\/letsencrypt\/live,\S+$/m,
    );
    assert.match(
      stderr,
      /^monitor: warning: cron jobs: grant --allow-read=\/etc\/cron.d,\/etc\/crontab --allow-env=PATH$/m,
    );
  },
);

testWith("python3")(
  "monitor discover prompts on a real terminal",
  () =>
    withMachine({ commands: COMMANDS }, async ({ root, bin }) => {
      const terminal = fileURLToPath(new URL("../../support/terminal.py", import.meta.url));
      const path = `${root}/monitor.jsonc`;
      await Deno.writeTextFile(path, EMPTY);
      const { stdout, stderr } = await runChild(tool("python3"), [
        terminal,
        "none): ",
        ...monitorCommand(),
        ...["discover", "--config", path],
      ], {
        clearEnv: true,
        env: { ...sourceEnvironment(), PATH: bin, HOME: root, TERM: "dumb", LC_ALL: "C.UTF-8" },
        stdin: JSON.stringify(["99\r", "1-2\r"]),
      });
      assert.match(stdout, /expected numbers from 1 to \d+, all, or none\r\n/, stderr);
      assert.match(stdout, /added 2 checks to .*: disk, memory\r\n$/, stderr);
      const { checks } = JSON.parse(await Deno.readTextFile(path)) as { readonly checks: object };
      assert.deepEqual(Object.keys(checks), ["disk", "memory"]);
    }),
);
