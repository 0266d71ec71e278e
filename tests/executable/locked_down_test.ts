/**
 * An executable that was built for one config: its abilities, and that it has no others. Run by `deno task
 * executable`, since it compiles: if Deno's download is unreachable, `DENORT_BIN` must name the base.
 */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { readLockedDownBuild } from "../../scripts/locked_down.ts";
import { bundle } from "../../scripts/bundle.ts";
import { compileModule, compileProgram } from "../../scripts/compile.ts";
import { inTime } from "../life/in_time.ts";
import { type ChildEnd, runChild, startChild, tool } from "../../testing/tools.ts";
import { startServer } from "../support/http_servers.ts";
import { type PermissionHarness, withPermissions } from "../permissions/harness.ts";
import type { Outcomes, Place } from "./attempts.ts";
import { testRows } from "../support/rows.ts";

const ATTEMPTS = fileURLToPath(new URL("attempts.ts", import.meta.url));

/** Runs an executable with an environment in which no proxy is named. */
function run(program: string, args: readonly string[], harness: PermissionHarness): Promise<ChildEnd> {
  return runChild(program, args, {
    cwd: harness.directory,
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin", HOME: harness.directory, FORBIDDEN_VARIABLE: "secret" },
  });
}

/** Attempts that the runtime rejects with other messages; nevertheless nothing reached the server. */
const OTHER_REFUSALS: Readonly<Record<string, RegExp>> = {
  "import from a server": /^TypeError: Module not found/,
  "connect through node": /^Error: connect ECONNREFUSED/,
  "attach another database": /^Error: too many attached databases/,
  "copy the state away": /^Error: too many attached databases/,
  "make a function of a text": /^EvalError: Code generation from strings disallowed/,
};

Deno.test("a locked-down executable is limited to its config, whatever an attacker tries", async (t) => {
  await withPermissions(async (harness) => {
    await using other = startServer(async (visitor) => {
      await visitor.readHead();
      await visitor.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    await harness.run(["check", "--once"]);
    harness.redirectTo(`${other.origin}/`);
    Deno.writeTextFileSync(`${harness.directory}/neighbour`, "not to be read");
    Deno.symlinkSync("probe.sh", `${harness.directory}/link`);
    const { permissionFlags } = await readLockedDownBuild(`${harness.directory}/monitor.json`);
    const program = `${harness.directory}/attempts`;
    await compileModule(ATTEMPTS, program, { permissionFlags });
    const bystander = startChild(tool("sleep"), ["60"]);
    try {
      const place: Place = {
        directory: harness.directory,
        config: `${harness.directory}/monitor.json`,
        state: `${harness.directory}/kept.sqlite`,
        script: `${harness.directory}/probe.sh`,
        webPort: harness.web.port,
        otherPort: other.port,
        processId: bystander.pid,
      };
      const { stdout, stderr } = await run(program, [JSON.stringify(place)], harness);
      assert.strictEqual(stderr, "");
      const { forbidden, allowed } = JSON.parse(stdout) as Record<"forbidden" | "allowed", Outcomes>;
      assert.ok(Object.keys(forbidden).length >= 30);
      await testRows(t, forbidden, (outcome, attempt) => {
        assert.match(outcome, OTHER_REFUSALS[attempt] ?? /^NotCapable: Requires /);
      });
      for (const [attempt, outcome] of Object.entries(allowed)) {
        await t.step(`but it can ${attempt}`, () => assert.strictEqual(outcome, "done"));
      }
      assert.strictEqual(other.visits, 0, "nothing reached the other server");
      assert.strictEqual(Deno.readTextFileSync(`${harness.directory}/neighbour`), "not to be read");
    } finally {
      bystander.kill("SIGKILL");
      await inTime("the end of the bystander", bystander.status);
    }
  });
});

Deno.test("a locked-down executable uses its own config by default, and rejects another", async (t) => {
  await withPermissions(async (harness) => {
    const { entry, permissionFlags } = await readLockedDownBuild(`${harness.directory}/monitor.json`);
    const program = `${harness.directory}/monitor`;
    const { main } = await bundle(`${harness.directory}/bundle`, entry);
    await compileProgram(main, program, { permissionFlags });
    await t.step("it runs its script, sends its request and its email, and keeps its state", async () => {
      const { code, stdout, stderr } = await run(program, ["check", "--once"], harness);
      assert.strictEqual(stderr, "");
      assert.match(stdout, /CRITICAL +script .*all is lost/);
      assert.match(stdout, /OK +web .*status is 200/);
      assert.strictEqual(code, 2);
      assert.strictEqual(harness.mailbox.raw.length, 1);
    });
    await t.step("it reports that no permission is missing", async () => {
      const { code, stdout, stderr } = await run(program, ["permissions", "--check"], harness);
      assert.deepStrictEqual([code, stdout, stderr], [0, "", ""]);
    });
    await t.step("it cannot read another config", async () => {
      Deno.writeTextFileSync(`${harness.directory}/other.json`, '{ "defaults": {} }');
      const { code, stderr } = await run(program, ["validate", "--config", "other.json"], harness);
      assert.strictEqual(code, 77);
      assert.match(stderr, /grant it with --allow-read/);
    });
    await t.step("it cannot keep its state elsewhere", async () => {
      const { code, stderr } = await run(program, ["check", "--once", "--state", "other.sqlite"], harness);
      assert.strictEqual(code, 77);
      assert.match(stderr, /--allow-write=.*other\.sqlite/);
    });
    await t.step("it cannot write a starter config", async () => {
      assert.strictEqual((await run(program, ["init", "new.jsonc"], harness)).code, 77);
    });
    await t.step("a check that was changed to require more is unknown, and the others run", async () => {
      const text = Deno.readTextFileSync(`${harness.directory}/monitor.json`);
      Deno.writeTextFileSync(`${harness.directory}/monitor.json`, text.replace("probe.sh", "another.sh"));
      const { code, stdout, stderr } = await run(program, ["check", "--once"], harness);
      assert.strictEqual(code, 3);
      assert.match(stdout, /UNKNOWN +script .*needs --allow-run=.*another\.sh/);
      assert.match(stdout, /OK +web .*status is 200/);
      assert.match(stderr, /missing permission: --allow-run=.*another\.sh \(check "script"\)/);
    });
  });
});
