import assert from "node:assert/strict";
import { manPage } from "../../scripts/man_page.ts";
import { loadCommands } from "../../src/cli/command_loaders.ts";
import { EXIT } from "../../src/cli/command_definition.ts";
import { type ChildEnd, requiresTools, runChild, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";

const COMMANDS = await loadCommands();

const DATE = "2026-01-31";

/** Returns the output of a command for the page, and its warnings. */
async function readPage(program: "man" | "mandoc", ...args: readonly string[]): Promise<ChildEnd> {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  await Deno.writeTextFile(`${directory}/monitor.1`, manPage(COMMANDS, DATE));
  return await runChild(tool(program), [...args, `${directory}/monitor.1`], {
    env: { LC_ALL: "C.UTF-8", MANWIDTH: "400", MANROFFSEQ: "" },
  });
}

Deno.test({
  ...requiresTools("man"),
  name: "manPage() is shown by man without a warning, with the whole text of --help",
  fn: async () => {
    const { stdout, stderr } = await readPage("man", "--warnings", "--local-file");
    assert.strictEqual(stderr, "");
    const words = stdout.replace(/‐\n\s*/g, "").replace(/\s+/g, " ").replaceAll("‐", "-");
    for (const { name, description, options, examples } of COMMANDS) {
      assert.ok(words.includes(`monitor ${name}`), name);
      assert.ok(words.includes(description.replaceAll("…", "...")), description);
      for (const option of options) {
        assert.ok(words.includes(`--${option.name}`), option.name);
        assert.ok(words.includes(option.description.replaceAll("…", "...")), option.description);
      }
      for (const [line] of examples) assert.ok(words.includes(line), line);
    }
    for (const code of Object.values(EXIT)) assert.match(words, new RegExp(`\\b${code}\\b`));
  },
});

Deno.test("manPage() has nothing that mandoc complains of", requiresTools("mandoc"), async () => {
  const { stdout } = await readPage("mandoc", "-T", "lint", "-W", "style");
  assert.strictEqual(stdout, "");
});
