import assert from "node:assert/strict";
import { loadCommands } from "../../../src/cli/command_loaders.ts";
import { complete } from "../../../src/cli/commands/completions.ts";

const COMMANDS = await loadCommands();

Deno.test("complete() completes the operands of every command that are names or paths", async () => {
  const namesIn = () => Promise.resolve([{ value: "web", description: "" }]);
  for (const { name, operands = "" } of COMMANDS) {
    const words = [name, ...name === "maintenance" ? ["start"] : [], ""];
    const completion = await complete(words, { commands: COMMANDS, namesIn });
    const offered = completion.offers === "files" ? null : completion.candidates.map(({ value }) => value);
    if (operands.includes("NAME")) assert.ok(offered?.includes("web"), name);
    if (operands.includes("PATH")) assert.strictEqual(offered, null, name);
  }
});
