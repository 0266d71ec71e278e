/** Names, titles, tags and outputs that try to break out of their context, through the real program. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { campaign, testSeed } from "../../testing/seed.ts";
import { HOSTILE_NAMES } from "../../testing/hostile_configs.ts";
import { unsafeCodes } from "../cli/formats/hostile_records.ts";
import { type Harness, withHarness } from "./program.ts";

const test = concurrentTests("monitor: hostile texts");

/** One is too long for the arguments of some commands below, and an empty one is no tag. */
const SHORT: readonly string[] = HOSTILE_NAMES.filter((name) => name.length < 1000);
/** A name in two lines. */
const LINES = "a\r\nb";
/** A twelfth of them by default, which the seed chooses. */
const EVERY = campaign(10) === 10 ? 1 : 12;
const TEXTS: readonly string[] = SHORT.filter((text, index) =>
  text === LINES || (index + testSeed()) % EVERY === 0
);

test("monitor: no hostile text acts on a terminal, whatever the command", () =>
  withHarness(async (harness) => {
    writeHostile(harness, TEXTS);
    await harness.runHere(["check", "--once", "--state", "kept.sqlite"]);
    const assertSafe = async (args: readonly string[]): Promise<void> => {
      const { stdout, stderr } = await harness.runHere(args);
      assert.deepEqual(unsafeCodes(stdout + stderr), [], JSON.stringify([args, stdout, stderr]));
      assert.doesNotMatch(stderr, /this is a bug/, JSON.stringify(args));
    };
    await assertSafe(["status", "--state", "kept.sqlite"]);
    const silence = ["silence", "--state", "kept.sqlite", "--for", "1h", "--reason", "\u001b[2J\n\u202e"];
    await assertSafe([...silence, "--", LINES]);
    const commands: readonly (readonly string[])[] = [
      ["status", "--state", "kept.sqlite", "--format", "json"],
      ["history", "--state", "kept.sqlite", "--", LINES],
      ["explain"],
      ["validate"],
      ["permissions"],
      ["check", "--once", "--state", "none", "--", "\u001b]0;owned\u0007"],
      ["check", "--once", "--state", "none", "--", "\u202eno such check\u001b[2J"],
      ["status", "--state", "kept.sqlite"],
      ["validate", "--config", "no\u001b[2Jfile\n\u202e"],
      ["validate", "--state\u001b[2J"],
      ["no\u001b[2Jcommand\u202e"],
      ["init", "in\u001b[2Jit.jsonc"],
    ];
    await Promise.all(commands.map(assertSafe));
    writeHostile(harness, TEXTS, "1 second");
    const program = harness.startHere(["check", "--state", "none", "--log-level", "debug"]);
    await program.stdout.next((line) => line.includes("CRITICAL"));
    program.signal("SIGHUP");
    await program.stderr.next(/reload|nothing changed|read again/i);
    program.signal("SIGTERM");
    const { stdout, stderr } = await program.end();
    assert.deepEqual(unsafeCodes(stdout + stderr), []);
  }));

test("monitor validate: no hostile text in an error acts on a terminal", () =>
  withHarness(async (harness) => {
    const checks = TEXTS.map((text, index) =>
      [text, { kind: `${text}${index}`, [`x${text}`]: text, parameters: { [text]: text } }] as const
    );
    harness.writeConfig(Object.fromEntries(checks));
    Deno.mkdirSync(`${harness.directory}/conf.d`);
    Deno.writeTextFileSync(`${harness.directory}/conf.d/\u001b[2J\u202e\n.jsonc`, '{ "chekcs": {} }');
    Deno.writeTextFileSync(
      `${harness.directory}/files.json`,
      '{ "defaults": {}, "include": "conf.d/*.jsonc" }',
    );
    for (const args of [["validate"], ["validate", "--config", "files.json"], ["check", "--once"]]) {
      const { code, stdout, stderr } = await harness.runHere(args);
      assert.equal(code, 78, stderr);
      assert.deepEqual(unsafeCodes(stdout + stderr), [], JSON.stringify(stderr));
    }
  }));

/** Writes checks whose names, titles, tags and outputs are the texts; each of them is critical. */
function writeHostile(harness: Harness, texts: readonly string[], interval = "1 day"): void {
  const checks = texts.map((text) => {
    const output = `says ${text.toWellFormed()}\ndetail of ${text}\n`;
    const check = {
      title: text,
      tags: [text === "" ? "empty" : text],
      kind: "test",
      parameters: { condition: "critical", output },
    };
    return `${JSON.stringify(text)}:${JSON.stringify(check)}`;
  });
  const defaults = JSON.stringify({ threshold: 1, schedule: { regular_interval: interval } });
  Deno.writeTextFileSync(
    `${harness.directory}/monitor.json`,
    // Not an object, where "__proto__" would be lost.
    `{"defaults":${defaults},"metrics":{"path":"monitor.prom"},"checks":{${checks.join(",")}}}`,
    // Whatever the umask: the program warns of a config that others may write.
    { mode: 0o644 },
  );
}
