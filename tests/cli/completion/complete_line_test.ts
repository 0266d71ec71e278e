import assert from "node:assert/strict";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { complete } from "../../../src/cli/completion/complete_line.ts";

/** Returns the completions for words, the last one being typed: `null` means files. */
async function offered(...words: readonly string[]): Promise<readonly string[] | null> {
  const completion = await complete(words, {
    commands: COMMANDS,
    namesIn: (config, names) => {
      const values = names === "checks" ? ["web", "-odd", `of ${config}`] : [`${names} of ${config}`];
      return Promise.resolve(values.map((value) => ({ value, description: "" })));
    },
  });
  return completion.offers === "files" ? null : completion.candidates.map(({ value }) => value);
}

Deno.test("complete() offers every command, and help, on an empty line", async () => {
  const commands = [...COMMANDS.map(({ name }) => name)];
  assert.deepStrictEqual(await offered(""), [...commands, "help"]);
  assert.deepStrictEqual(await offered("-c", "x", ""), [...commands, "help"]);
  assert.deepStrictEqual(await offered("help", ""), commands);
  assert.deepStrictEqual(await offered("help", "check", ""), []);
});

Deno.test("complete() offers the options of the command that are not yet typed", async () => {
  const options = await offered("check", "--once", "-c", "x", "--format=tap", "-");
  assert.ok(options?.includes("--due"));
  assert.ok(options?.includes("--help"));
  for (const typed of ["--once", "--config", "--format"]) assert.ok(!options?.includes(typed), typed);
  assert.ok((await offered("check", "-c"))?.includes("-c"), "the shell goes on behind it");
});

Deno.test("complete() offers the values of an option with a closed list, and files for paths", async () => {
  assert.deepStrictEqual(await offered("check", "--log-format", ""), ["text", "json"]);
  assert.deepStrictEqual(await offered("check", "--log-format="), ["--log-format=text", "--log-format=json"]);
  assert.deepStrictEqual(await offered("schema", "--shape", ""), ["a", "b"]);
  for (const words of [["-c", ""], ["--config="], ["--state", ""]]) {
    assert.strictEqual(await offered("check", ...words), null, words.join(" "));
  }
  assert.deepStrictEqual(await offered("silence", "--reason", ""), []);
});

Deno.test("complete() offers words for the first operand, then checks", async () => {
  assert.deepStrictEqual(await offered("maintenance", ""), ["start", "list", "end"]);
  assert.deepStrictEqual(await offered("maintenance", "end", "web", ""), ["of undefined"]);
  assert.deepStrictEqual(await offered("maintenance", "start", "--tag", ""), ["tags of undefined"]);
});

Deno.test("complete() offers the checks of the config named earlier in the line", async () => {
  assert.deepStrictEqual(await offered("explain", ""), ["web", "of undefined"]);
  for (const words of [["-c", "x y"], ["-cx y"], ["--config", "x y"], ["--config=x y"]]) {
    assert.deepStrictEqual(await offered("explain", ...words, "w"), ["web", "of x y"], words.join(" "));
  }
});

Deno.test("complete() offers channels and tags of the config", async () => {
  assert.deepStrictEqual(await offered("notify", "--channel", ""), ["channels of undefined"]);
  assert.deepStrictEqual(await offered("notify", "-c", "x", "--channel="), ["--channel=channels of x"]);
  assert.deepStrictEqual(await offered("check", "--tag", ""), ["tags of undefined"]);
});

Deno.test("complete() offers no check twice, none beyond the accepted number, and odd names only after --", async () => {
  assert.deepStrictEqual(await offered("explain", "web", ""), ["of undefined"]);
  assert.deepStrictEqual(await offered("history", "web", ""), []);
  assert.deepStrictEqual(await offered("explain", "--", ""), ["web", "-odd", "of undefined"]);
  assert.deepStrictEqual(await offered("explain", "--", "-"), ["web", "-odd", "of undefined"]);
});

Deno.test("complete() completes the operands of every command that are names or paths", async () => {
  for (const { name, operands = "" } of COMMANDS) {
    const answer = name === "maintenance" ? await offered(name, "start", "") : await offered(name, "");
    if (operands.includes("NAME")) assert.ok(answer?.includes("web"), name);
    if (operands.includes("PATH")) assert.strictEqual(answer, null, name);
  }
});
