/**
 * The output of `monitor permissions` suffices for everything that the config does, and every part of it is
 * necessary.
 */
import assert from "node:assert/strict";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import type { PermissionClass } from "../../src/domain/runtime_permissions.ts";
import { startServer } from "../support/http_servers.ts";
import { readLockedDownBuild } from "../../scripts/locked_down.ts";
import { requiresTools } from "../../testing/tools.ts";
import { flagsFor, withPermissions } from "./harness.ts";
import { withHarness } from "../life/program.ts";
import { type Rows, testRows } from "../support/rows.ts";

const test = concurrentTests("monitor permissions: printed flags");
const testInAll = concurrentTests("monitor permissions: printed flags: more", requiresTools("time"));
const testInAllWithPermissions = provided(withPermissions, testInAll);

test(
  "monitor permissions: the printed flags are enough to check, to keep the state and to send a mail",
  () =>
    withPermissions(async (harness) => {
      const line = (await harness.runHere(["permissions"])).stdout.trim();
      const [first, ...permissions] = line.split(" ");
      assert.strictEqual(first, "--no-prompt");
      assert.deepStrictEqual(permissions, flagsFor(await harness.requiredPermissions()));
      const checked = await harness.run(["permissions", "--check"], { permissions });
      assert.deepStrictEqual([checked.code, checked.stdout, checked.stderr], [0, "", ""]);
      const { code, stdout, stderr } = await harness.run(["check", "--once"], { permissions });
      assert.strictEqual(stderr, "");
      assert.match(stdout, /CRITICAL +script .*all is lost/);
      assert.match(stdout, /OK +web .*status is 200/);
      assert.strictEqual(code, 2);
      const [mail] = await harness.mailbox.read();
      assert.strictEqual(mail?.subject, "[ops] script is critical: all is lost");
    }),
  requiresTools("kill"),
);

testInAll("monitor demo requires the permission for its address alone", () =>
  withHarness(async (harness) => {
    const args = ["demo", "--listen", "127.0.0.1:0"];
    const denied = await harness.run(args, { permissions: [] });
    assert.deepStrictEqual([denied.code, /grant it with .*/.exec(denied.stderr)?.[0]], [
      77,
      "grant it with --allow-net=127.0.0.1:0",
    ]);
    const program = harness.start(args, { permissions: ["--allow-net=127.0.0.1:0"] });
    await program.stdout.next("listening on http://127.0.0.1:");
    program.signal("SIGINT");
    const { code, stderr } = await program.end();
    assert.deepStrictEqual([code, stderr], [0, ""]);
  }));

testInAllWithPermissions(
  "monitor permissions: the printed flags are enough for what is included, there or not",
  async (harness) => {
    for (const name of ["conf.d", "sub"]) Deno.mkdirSync(`${harness.directory}/${name}`);
    Deno.writeTextFileSync(`${harness.directory}/sub/secret`, "all is well");
    Deno.writeTextFileSync(
      `${harness.directory}/conf.d/a.json`,
      '{ "checks": {}, "include": "../sub/b.json" }',
    );
    Deno.writeTextFileSync(
      `${harness.directory}/sub/b.json`,
      '{ "checks": { "b": { "kind": "test", "tags": ["b"], ' +
        '"parameters": { "output": "${file:secret} ${env:PART}", "condition": "ok" } } } }',
    );
    harness.writeConfig({}, { include: ["conf.d", "none.d/*.json"], state: "kept.sqlite" });
    const environment = { PART: "so far" };
    const args = ["--tag", "b", "--state", "none"];
    const printed = await harness.runHere(["permissions", ...args, "--format", "json"], { environment });
    const requiredPermissions = JSON.parse(printed.stdout);
    assert.deepStrictEqual(requiredPermissions.read, [
      `${harness.directory}/conf.d`,
      `${harness.directory}/conf.d/../sub/secret`,
      `${harness.directory}/monitor.json`,
      `${harness.directory}/none.d`,
      `${harness.directory}/sub/b.json`,
    ]);
    assert.ok(requiredPermissions.env.includes("PART"));
    const permissions = flagsFor(requiredPermissions);
    const { code, stdout } = await harness.run(["check", "--once", ...args], { permissions, environment });
    assert.match(stdout, /OK +b .*\[secret\] \[secret\]/);
    assert.strictEqual(code, 0);
    for (const value of requiredPermissions.read) {
      const without = flagsFor(requiredPermissions, { permission: "read", value });
      const refused = await harness.run(["check", "--once", ...args], {
        permissions: without,
        environment,
      });
      // Without its secret only the check can't run.
      const isSecret = value.endsWith("/secret");
      assert.strictEqual(refused.code, isSecret ? 3 : 77, value);
      if (isSecret) {
        assert.match(refused.stdout, /UNKNOWN +b .*cannot run: .* grant --allow-read=.*\/secret/);
      }
    }
  },
);

testInAllWithPermissions(
  "monitor permissions: the address of the machine's resolver is marked, and can't be locked down",
  async (harness) => {
    harness.writeConfig({ dns: { kind: "dns_lookup", parameters: { name: "example.test" } } });
    const args = ["permissions", "--state", "none", "--format", "json"];
    const { stdout, stderr } = await harness.runHere(args);
    const { net, read, machine_specific } = JSON.parse(stdout);
    assert.ok(read.includes("/etc/resolv.conf"));
    assert.deepStrictEqual(machine_specific, net);
    assert.match(stderr, /^monitor: warning: check "dns": .* set "server" to use the flags elsewhere$/m);
    await assert.rejects(
      readLockedDownBuild(`${harness.directory}/monitor.json`),
      /set "server" of each dns_lookup$/,
    );
  },
);

testInAllWithPermissions(
  "monitor: without the permission to read the user's id a state is not used, and the flag is named",
  async (harness) => {
    const permissions = flagsFor(await harness.requiredPermissions(), { permission: "sys", value: "uid" });
    await harness.run(["check", "--once"]);
    for (const command of [["check", "--once"], ["status"]]) {
      const { code, stderr } = await harness.run(command, { permissions });
      assert.strictEqual(code, 77, stderr);
      assert.match(
        stderr,
        /Requires sys access to "uid".*\nmonitor: hint: grant it with --allow-sys=uid\n$/,
      );
    }
  },
);

testInAll(
  "monitor permissions: without the config or the state a run ends at once, and the missing flag is named",
  async (_add, t) => {
    await withPermissions(async (harness) => {
      const requiredPermissions = await harness.requiredPermissions();
      const refusals: readonly (readonly [PermissionClass, readonly string[]])[] = [
        ["read", requiredPermissions.read],
        ["write", requiredPermissions.write],
      ];
      for (const [permission, values] of refusals) {
        for (const value of values) {
          const place = value.replace(harness.directory, "").replace(/\d+$/, "PORT");
          await t.step(`--allow-${permission} without ${place}`, async () => {
            const permissions = flagsFor(requiredPermissions, { permission, value });
            const { code, stdout, stderr } = await harness.run(["check", "--once"], { permissions });
            assert.strictEqual(code, 77, stderr);
            assert.strictEqual(stdout, "");
            // The runtime reports the config itself, before the rest is known.
            assert.ok(
              stderr.includes(`--allow-${permission}=${value} (`) ||
                stderr.includes("grant it with --allow-read"),
              stderr,
            );
          });
        }
      }
      assert.deepStrictEqual([harness.web.visits, harness.mailbox.attempts], [0, 0], "nothing has run");
    });
  },
);

test("monitor check: what lacks a permission names the flag, and the others run", async (_add, t) => {
  await withPermissions(async (harness) => {
    const requiredPermissions = await harness.requiredPermissions();
    const [kill = "", probe = ""] = requiredPermissions.run.toSorted((one) => one.endsWith("/kill") ? -1 : 1);
    const [web = "", mail = ""] = requiredPermissions.net.toSorted((one) =>
      one.startsWith("localhost") ? -1 : 1
    );
    const OK = "OK +web .*status is 200";
    // Each is a process, so one lacks the permissions of two parts.
    const rows: Rows<[run: string, net: string, printed: readonly string[]]> = {
      "run of a script, and net of an email channel": [probe, mail, [
        OK,
        `UNKNOWN +script .*needs --allow-run=${probe}`,
      ]],
      "run of the command that terminates a script, and net of a request": [kill, web, [
        `UNKNOWN +web .*--allow-net=${web}`,
        `UNKNOWN +script .*needs --allow-run=.*${kill}`,
      ]],
    };
    await testRows(t, rows, async ([run, net, printed]) => {
      const withoutNet = requiredPermissions.net.filter((value) => value !== net);
      const permissions = flagsFor({ ...requiredPermissions, net: withoutNet }, {
        permission: "run",
        value: run,
      });
      const { stdout, stderr } = await harness.run(["check", "--once"], { permissions });
      for (const pattern of printed) assert.match(stdout, new RegExp(pattern), stderr);
      for (const flag of [`--allow-run=${run}`, `--allow-net=${net}`]) {
        assert.match(stderr, new RegExp(`missing permission: ${flag} \\(`));
      }
      if (net === mail) assert.match(stderr, new RegExp(`rejected by email .*--allow-net=${mail}`));
    });
  });
}, requiresTools("kill"));

testInAllWithPermissions(
  "monitor permissions --check: names what is missing and what is more than needed, and warns of a proxy",
  async (harness) => {
    const requiredPermissions = await harness.requiredPermissions();
    const missing = { permission: "env", value: "LANG" } as const;
    const refused = await harness.run(["permissions", "--check"], {
      permissions: flagsFor(requiredPermissions, missing),
    });
    assert.strictEqual(refused.code, 77);
    assert.match(refused.stderr, /^ {2}--allow-env=LANG \(check "script"\)$/m);
    const { code, stderr } = await harness.run(["permissions", "--check"], {
      permissions: [...flagsFor({ ...requiredPermissions, net: [] }), "--allow-net"],
      environment: { HTTPS_PROXY: "http://user:hidden@127.0.0.1:4/" },
    });
    assert.strictEqual(code, 0);
    assert.match(stderr, /HTTPS_PROXY is set: requests may use this proxy/);
    assert.match(stderr, /more permissions than the config needs: --allow-net$/m);
    assert.doesNotMatch(stderr, /hidden/);
  },
);

testInAllWithPermissions("monitor permissions --format deno: the set works in deno.json", async (harness) => {
  const { stdout } = await harness.run(["permissions", "--format", "deno"]);
  const source = JSON.parse(Deno.readTextFileSync(new URL("../../import_map.json", import.meta.url)));
  const project = new URL("../../", import.meta.url).href;
  const imports = Object.fromEntries(
    Object.entries(source.imports).filter(([name]) => !name.startsWith(project)),
  );
  const config = `${harness.directory}/deno.json`;
  Deno.writeTextFileSync(
    config,
    JSON.stringify({ nodeModulesDir: "none", imports, ...JSON.parse(stdout) }),
  );
  // The later --config wins over the project's.
  const { code, stderr } = await harness.run(["check", "--once"], {
    // The source: an executable has flags of its own. The set replaces these.
    permissions: ["--allow-all"],
    shell: 'program="$1"; shift; while [ "$1" != check ]; do last="$1"; shift; done; ' +
      `exec "$program" run --quiet --no-prompt --no-check -P=monitor --config ${config} "$last" "$@"`,
  });
  assert.strictEqual(code, 2, stderr);
  assert.strictEqual(harness.mailbox.raw.length, 1);
}, requiresTools("kill"));

testInAllWithPermissions(
  "monitor permissions: the printed flags are enough to replace the page and the metrics, and no more",
  async (harness) => {
    harness.writeConfig({ fine: { kind: "test", parameters: { condition: "ok" } } }, {
      // A long interval: slow runs do not make it due again.
      defaults: { threshold: 1, schedule: { regular_interval: "1 hour" } },
      state: "kept.sqlite",
      report: { path: "page.html" },
      metrics: { path: "monitor.prom" },
    });
    const requiredPermissions = await harness.requiredPermissions();
    const path = `${harness.directory}/monitor.prom`;
    const temporary = `${path}.tmp`;
    assert.deepStrictEqual(requiredPermissions.write.filter((value) => value.includes("prom")), [
      path,
      temporary,
    ]);
    assert.deepStrictEqual(requiredPermissions.read.filter((value) => value.includes("prom")), [temporary]);
    for (const more of [[], [], ["--due"]]) {
      const { code, stderr } = await harness.run(["check", "--once", ...more], {
        permissions: flagsFor(requiredPermissions),
      });
      assert.deepStrictEqual([code, stderr], [0, ""]);
    }
    assert.match(await Deno.readTextFile(path), /^monitor_check_runs_total\{check="fine"\} 2$/m);
    assert.match(Deno.readTextFileSync(`${harness.directory}/page.html`), /The check is ok/);
    for (const permission of ["read", "write"] as const) {
      const permissions = flagsFor(requiredPermissions, { permission, value: temporary });
      const { code, stderr } = await harness.run(["check", "--once"], { permissions });
      assert.strictEqual(code, 77);
      assert.match(stderr, new RegExp(`--allow-${permission}=.*monitor\\.prom\\.tmp \\(metrics\\)`));
    }
  },
);

testInAllWithPermissions(
  "monitor check: a redirect to a host that is not granted is not followed, and the output names the flag",
  async (harness) => {
    await using elsewhere = startServer((visitor) => visitor.untilGone());
    harness.redirectTo(`${elsewhere.origin}/`);
    const request = { target: `${harness.web.origin}/redirect` };
    harness.writeConfig({ web: { kind: "http_request", parameters: { request } } });
    const permissions = flagsFor(await harness.requiredPermissions());
    const { stdout } = await harness.run(["check", "--once", "--state", "none"], { permissions });
    assert.match(stdout, new RegExp(`^UNKNOWN +web .*--allow-net=127\\.0\\.0\\.1:${elsewhere.port}`, "m"));
    assert.deepStrictEqual([harness.web.visits, elsewhere.visits], [1, 0]);
  },
);
