/** The recipes with other programs, run with those of Debian. */
import assert from "node:assert/strict";
import { requiresTools, runChild, startChild, tool } from "../../testing/tools.ts";
import { withHarness } from "../life/program.ts";
import { checksOf, runChecks, type WrittenCheck } from "./check_recipes.ts";

function recipe(page: string, heading: string): WrittenCheck {
  const [check] = Object.values(checksOf(page, heading));
  assert.ok(check !== undefined);
  return check;
}

/** With other variables of the command, and another text in its arguments. */
function locally(
  { kind, parameters }: WrittenCheck,
  environment: Readonly<Record<string, string>>,
  replaced: readonly [text: string, by: string] = ["", ""],
): WrittenCheck {
  const local = JSON.parse(JSON.stringify(parameters).replace(...replaced));
  return { kind, parameters: { ...local, environment } };
}

Deno.test({
  ...requiresTools("restic"),
  name: "docs/recipes: the last snapshot of restic, and its repository",
  fn: () =>
    withHarness(async (harness) => {
      const { directory } = harness;
      await Deno.writeTextFile(`${directory}/password`, "swordfish");
      const environment = {
        RESTIC_REPOSITORY: `${directory}/repository`,
        RESTIC_PASSWORD_FILE: `${directory}/password`,
        RESTIC_CACHE_DIR: `${directory}/cache`,
      };
      const restic = async (...args: readonly string[]): Promise<void> => {
        const { success, stderr } = await runChild(tool("restic"), args, { env: environment });
        assert.ok(success, stderr);
      };
      const last = recipe("backups", "How do I check the last snapshot of restic?");
      const checks = {
        last: locally(last, environment, ["/srv", directory]),
        other: locally(last, environment),
        wrong: locally(last, { ...environment, RESTIC_PASSWORD_FILE: "/dev/null" }, ["/srv", directory]),
        verified: locally(recipe("backups", "How do I verify a repository?"), environment),
      };
      await restic("init");
      assert.equal((await runChecks(harness, checks)).get("last"), "critical: no snapshot");
      await restic("backup", "--exclude", "repository", directory);
      const results = await runChecks(harness, checks);
      assert.equal(results.get("last"), "ok: last snapshot 0 hours ago");
      assert.equal(results.get("other"), "critical: no snapshot");
      assert.match(results.get("wrong") ?? "", /^critical: Fatal: .*password/);
      assert.match(results.get("verified") ?? "", /^ok: /);
    }),
});

Deno.test({
  ...requiresTools("borg"),
  name: "docs/recipes: the last archive of Borg, in any time zone",
  fn: () =>
    withHarness(async (harness) => {
      const { directory } = harness;
      await Deno.writeTextFile(`${directory}/passphrase`, "swordfish");
      const environment = {
        BORG_REPO: `${directory}/repository`,
        BORG_PASSCOMMAND: `cat ${directory}/passphrase`,
        BORG_BASE_DIR: directory,
        TZ: "Pacific/Auckland",
      };
      const borg = async (...args: readonly string[]): Promise<void> => {
        const { success, stderr } = await runChild(tool("borg"), args, { env: environment });
        assert.ok(success, stderr);
      };
      const last = recipe("backups", "How do I check the last archive of Borg?");
      const checks = {
        last: locally(last, environment),
        wrong: locally(last, { ...environment, BORG_PASSCOMMAND: "echo wrong" }),
      };
      await borg("init", "--encryption=repokey");
      assert.equal((await runChecks(harness, checks)).get("last"), "critical: no archive");
      await borg("create", "::one", `${directory}/passphrase`);
      const results = await runChecks(harness, checks);
      assert.equal(results.get("last"), "ok: last archive 0 hours ago");
      assert.match(results.get("wrong") ?? "", /^critical: passphrase supplied in .* is incorrect/);
    }),
});

Deno.test({
  ...requiresTools("check_snmp", "snmpd", "snmpget"),
  name: "docs/recipes: a port of a device by SNMP",
  fn: () =>
    withHarness(async (harness) => {
      const { directory } = harness;
      const port = freePort();
      await Deno.writeTextFile(`${directory}/snmpd.conf`, "rocommunity public 127.0.0.1\n");
      const args = ["-f", "-Lo", "-C", "-c", `${directory}/snmpd.conf`, "-p", `${directory}/pid`];
      const child = startChild(tool("snmpd"), [...args, `udp:127.0.0.1:${port}`], {
        stdout: "piped",
        stderr: "null",
        env: { SNMP_PERSISTENT_DIR: directory },
      });
      try {
        const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
        for (let text = ""; !text.includes("NET-SNMP version");) {
          const { value, done } = await reader.read();
          assert.ok(!done, text);
          text += value;
        }
        const written = recipe("infrastructure", "How do I check a device by SNMP?");
        const host = ["switch.example.org", `127.0.0.1","-p","${port}`] as const;
        const check = locally(written, {}, host);
        const results = await runChecks(harness, {
          up: check,
          down: locally(check, {}, ["1:1", "2:2"]),
          another: locally(check, {}, ["2.2.1.8.1", "2.2.1.8.99999"]),
        });
        assert.match(results.get("up") ?? "", /^ok: SNMP OK - 1/);
        assert.match(results.get("down") ?? "", /^critical: SNMP CRITICAL - \*1\*/);
        assert.match(results.get("another") ?? "", /^unknown: No valid data returned/);
        await reader.cancel();
      } finally {
        child.kill("SIGTERM");
        await child.status;
      }
    }),
});

/** A port of TCP that nothing uses; that of UDP is free as well, unless another server has just got it. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
