import assert from "node:assert/strict";
import { generate } from "../../scripts/generate.ts";

const PROJECT = new URL("../../", import.meta.url);

Deno.test("generate() returns the committed files", async (t) => {
  const files = await generate();
  for (const [path, text] of files) {
    // Validators import only each other, and published schemas have no keywords of the source.
    if (path.endsWith(".js")) {
      assert.doesNotMatch(text, /\brequire\(|^import .* from (?!"\.\/validate_)/m, path);
    }
    if (path.endsWith(".schema.json")) assert.doesNotMatch(text, /x-shape-/, path);
  }
  for (const [path, text] of files) {
    await t.step(path, async () => {
      const kept = await Deno.readTextFile(new URL(path, PROJECT));
      assert.ok(kept === text, `${path} is out of date: run "deno task generate"`);
    });
  }
  await t.step("and no other file is committed there", () => {
    const directories = ["schemas/", "src/config/generated/", "src/domain/generated/"];
    const kept = directories.flatMap((directory) =>
      [...Deno.readDirSync(new URL(directory, PROJECT))].map(({ name }) => directory + name)
    );
    const made = [...files.keys()].filter((path) =>
      directories.some((directory) => path.startsWith(directory))
    );
    assert.deepEqual(kept.filter((path) => path !== "schemas/source.json").toSorted(), made.toSorted());
  });
});
