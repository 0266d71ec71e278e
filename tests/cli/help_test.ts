import assert from "node:assert/strict";
import { loadCommands } from "../../src/cli/command_loaders.ts";
import { commandHelp, programHelp, PROJECT_URL } from "../../src/cli/help.ts";

const COMMANDS = await loadCommands();

Deno.test("commandHelp() ends with the URL of an existing page", () => {
  for (const command of COMMANDS) {
    const page = `docs/${command.page}`;
    assert.ok(Deno.statSync(new URL(`../../${page}`, import.meta.url)).isFile, page);
    assert.ok(
      commandHelp(command).endsWith(`\n\nDocumentation:\n${PROJECT_URL}/blob/main/${page}\n`),
      command.name,
    );
  }
});

Deno.test("programHelp() and commandHelp() fit a terminal of 80 columns, except for URLs", () => {
  for (const help of [programHelp(COMMANDS), ...COMMANDS.map(commandHelp)]) {
    const lines = help.split("\n").filter((line) => !line.startsWith("https://"));
    assert.deepEqual(lines.filter((line) => line.length > 80), []);
  }
});
