/** The scenarios of `examples/` come to what they expect, and those of `examples/mistakes` notice their mistake. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Rehearsal } from "../../src/rehearsal/rehearse.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { playTexts } from "./play.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
const SUFFIX = ".scenario.jsonc";

function scenariosOf(directory: string): readonly string[] {
  return [...Deno.readDirSync(`${EXAMPLES}${directory}`)].map(({ name }) => name)
    .filter((name) => name.endsWith(SUFFIX)).sort();
}

/** Plays a scenario with the config of its directory, after a change of both texts. */
async function playExample(
  directory: string,
  name: string,
  change: (text: string) => string = (text) => text,
): Promise<Rehearsal> {
  const textAt = (file: string): { readonly path: string; readonly text: string } => {
    const path = `${EXAMPLES}${directory}/${file}`;
    return { path, text: change(Deno.readTextFileSync(path)) };
  };
  return await playTexts(textAt(name), textAt("monitor.jsonc"), { system: createMemorySystem() });
}

function differencesOf({ channels }: Rehearsal): readonly string[] {
  return channels.flatMap(({ name, differences }) =>
    differences.filter(({ sign }) => sign !== " ").map(({ sign, text }) => `${name}: ${sign} ${text}`)
  );
}

for (const directory of ["team", "mistakes", "ci"]) {
  for (const name of scenariosOf(directory)) {
    Deno.test(`examples/${directory}/${name} comes to what it expects`, async () => {
      assert.deepEqual(differencesOf(await playExample(directory, name)), []);
    });
  }
}

/** In the second line of a scenario: what the mistake has, in the config or in the scenario, in place of something. */
const MISTAKE = /^\/\/ mistake: (.+) =>(?: (.*))?$/m;

for (const name of scenariosOf("mistakes")) {
  Deno.test(`examples/mistakes/${name} notices its mistake`, async () => {
    const [, right, wrong = ""] = MISTAKE.exec(Deno.readTextFileSync(`${EXAMPLES}mistakes/${name}`)) ??
      assert.fail("no mistake is named");
    let changes = 0;
    const mistaken = await playExample("mistakes", name, (text) => {
      const body = text.replaceAll(/^\/\/.*$/gm, "").replaceAll(/,\n\s+(?=\{ "days)/g, ", ");
      if (!body.includes(right ?? "")) return text;
      changes++;
      return body.replace(right ?? "", wrong);
    });
    assert.equal(changes, 1, "the mistake is at one place");
    assert.notDeepEqual(differencesOf(mistaken), []);
  });
}
