/** The files in `examples/ci/`: each is parsed as its system does, and its commands are run. */
import assert from "node:assert/strict";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { parse } from "yaml";
import { parseText } from "../../src/config/syntax.ts";
import { type ChildEnd, runChild, tool } from "../../testing/tools.ts";
import { type Harness, withHarness } from "./program.ts";

const test = provided(withHarness, concurrentTests("examples/ci"));

function readExample(name: string): string {
  return Deno.readTextFileSync(new URL(`../../examples/ci/${name}`, import.meta.url));
}

/** The commands of each file, in their order. */
const COMMANDS: Readonly<Record<string, () => readonly string[]>> = {
  "github_actions.yml": () => {
    const { jobs } = parse(readExample("github_actions.yml")) as {
      jobs: Record<string, { steps: readonly { run?: string; uses?: string }[] }>;
    };
    const steps = Object.values(jobs).flatMap((job) => job.steps);
    assert.ok(steps.every(({ run, uses }) => (run === undefined) !== (uses === undefined)));
    return steps.flatMap(({ run }) => run?.trim().split("\n") ?? []);
  },
  "gitlab_ci.yml": () => {
    const { monitor } = parse(readExample("gitlab_ci.yml")) as {
      monitor: { before_script: readonly string[]; script: readonly string[] };
    };
    const commands = [...monitor.before_script, ...monitor.script];
    // A colon and a blank in a plain line would make an object of it.
    assert.ok(commands.every((command) => typeof command === "string"));
    return commands;
  },
  "Jenkinsfile": () => {
    const text = readExample("Jenkinsfile").replace(/^\s*\/\/.*$/gm, "");
    for (const [open, close] of ["{}", "()"]) {
      assert.strictEqual(
        text.split(open ?? "").length,
        text.split(close ?? "").length,
        `${open} and ${close}`,
      );
    }
    return [...text.matchAll(/^\s*sh '([^']*)'$/gm)].map(([, command = ""]) => command);
  },
};

/** Writes the config alongside the files, with a `test` check of a condition. */
function writeConfig({ directory }: Harness, condition: string, settings = {}): void {
  const config = parseText(readExample("monitor.jsonc")).value as Record<string, Record<string, unknown>>;
  const check = { ...settings, kind: "test", parameters: { condition } };
  const text = JSON.stringify({ ...config, checks: { web: check } });
  Deno.writeTextFileSync(`${directory}/monitor.jsonc`, text.replace(/"\$schema":"[^"]*",/, ""));
}

/** Runs calls of `monitor` as a CI system does: one after the other, until one fails. */
async function runAll(calls: readonly string[], harness: Harness): Promise<{ code: number; stderr: string }> {
  for (const call of calls) {
    const { code, stderr } = await harness.runHere(call.split(" ").slice(1));
    if (code !== 0) return { code, stderr };
  }
  return { code: 0, stderr: "" };
}

for (const [name, readCommands] of Object.entries(COMMANDS)) {
  test(`examples/ci/${name}: its calls validate, run and leave results, and fail where a check does`, async (harness) => {
    const calls = readCommands().filter((command) => command.startsWith("monitor "));
    assert.deepStrictEqual(calls.map((call) => call.split(" ")[1]), ["validate", "rehearse", "check"]);
    assert.doesNotMatch(calls.join(), /["'$`\\;|&<>*?]/, "the shell changes no word");
    Deno.writeTextFileSync(
      `${harness.directory}/night.scenario.jsonc`,
      readExample("night.scenario.jsonc"),
    );
    for (const [condition, expected] of [["ok", 0], ["critical", 2]] as const) {
      writeConfig(harness, condition);
      const { code, stderr } = await runAll(calls, harness);
      assert.strictEqual(code, expected, stderr);
      const results = Deno.readTextFileSync(`${harness.directory}/monitor.xml`);
      assert.match(results, expected === 0 ? /<testsuite .*failures="0"/ : /<testsuite .*failures="1"/);
    }
    writeConfig(harness, "ok", { threshold: 10 });
    assert.strictEqual((await runAll(calls, harness)).code, 1, "a later message");
    const rehearsed = Deno.readTextFileSync(`${harness.directory}/rehearsal.xml`);
    assert.match(rehearsed, /<testsuite .*failures="1"[^]*night\.scenario\.jsonc/);
    Deno.writeTextFileSync(`${harness.directory}/monitor.jsonc`, `{ "checks": {} }`);
    assert.strictEqual((await runAll(calls, harness)).code, 78, "a config with mistakes");
  });

  test(`examples/ci/${name}: it compares the checksum before it unpacks, and unpacks what a release has`, async (harness) => {
    const commands = readCommands().join("\n");
    const install = readCommands().filter((command) => /sha256sum|tar |mkdir /.test(command));
    assert.match(commands, /curl .*"\$MONITOR_URL"[\s\S]*sha256sum --check --strict[\s\S]*tar --extract/);
    await Deno.mkdir(`${harness.directory}/release/monitor-0.0.0-target`, { recursive: true });
    await Deno.writeTextFile(`${harness.directory}/release/monitor-0.0.0-target/monitor`, "#!/bin/sh\n");
    const archive = `${harness.directory}/monitor.tar.gz`;
    const made = await runChild(tool("tar"), [
      "--create",
      "--gzip",
      "--file",
      archive,
      "--directory",
      `${harness.directory}/release`,
      "monitor-0.0.0-target",
    ]);
    assert.ok(made.success);
    const unpacked = install.map((command) =>
      command.replaceAll("/tmp/monitor.tar.gz", archive).replace(
        "/usr/local/bin",
        `${harness.directory}/monitor`,
      )
    );
    Deno.mkdirSync(`${harness.directory}/monitor`, { recursive: true });
    const shell = (sum: string): string =>
      `set -e; MONITOR_SHA256=${sum}; ${unpacked.join("; ").replace("mkdir monitor", "true")}`;
    const { code } = await runShell(shell("0".repeat(64)), harness);
    assert.notStrictEqual(code, 0, "another archive");
    const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(archive)));
    const sum = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const { code: end, stderr } = await runShell(shell(sum), harness);
    assert.strictEqual(end, 0, stderr);
    assert.ok((await Deno.stat(`${harness.directory}/monitor/monitor`)).isFile);
  });
}

function runShell(script: string, { directory }: Harness): Promise<ChildEnd> {
  return runChild(tool("sh"), ["-c", script], { cwd: directory });
}
