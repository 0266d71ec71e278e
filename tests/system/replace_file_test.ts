import assert from "node:assert/strict";
import { replaceFile } from "../../src/system/replace_file.ts";

Deno.test("replaceFile() makes a file, and puts another in its place", () =>
  withFolder(async (folder) => {
    await replaceFile(`${folder}/a.prom`, "one\n");
    assert.equal(await Deno.readTextFile(`${folder}/a.prom`), "one\n");
    await replaceFile(`${folder}/a.prom`, "two\n");
    assert.equal(await Deno.readTextFile(`${folder}/a.prom`), "two\n");
    assert.deepEqual(namesIn(folder), ["a.prom"]);
  }));

Deno.test("replaceFile() shows its readers the old text or the new one, whole", () =>
  withFolder(async (folder) => {
    const path = `${folder}/a.prom`;
    const texts = ["a", "b"].map((letter) => letter.repeat(1_000_000));
    await replaceFile(path, texts[0] ?? "");
    let isOver = false;
    const reading = (async () => {
      let reads = 0;
      while (!isOver) {
        assert.ok(texts.includes(await Deno.readTextFile(path)), "half a file was read");
        reads++;
      }
      return reads;
    })();
    for (let round = 0; round < 50; round++) await replaceFile(path, texts[round % 2] ?? "");
    isOver = true;
    assert.ok(await reading > 0);
  }));

Deno.test("replaceFile() leaves what was there when it cannot write, and nothing else", () =>
  withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/a.prom`);
    await Deno.writeTextFile(`${folder}/a.prom/kept`, "");
    await assert.rejects(() => replaceFile(`${folder}/a.prom`, "text"));
    assert.deepEqual(namesIn(folder), ["a.prom"]);
    await assert.rejects(() => replaceFile(`${folder}/none/a.prom`, "text"), Deno.errors.NotFound);
  }));

Deno.test("replaceFile() writes through no link, and is not held up by what a killed process left", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/other`, "mine");
    await Deno.symlink(`${folder}/other`, `${folder}/a.prom.tmp`);
    await replaceFile(`${folder}/a.prom`, "one");
    await Deno.writeTextFile(`${folder}/a.prom.tmp`, "half of a te");
    await replaceFile(`${folder}/a.prom`, "two");
    assert.equal(await Deno.readTextFile(`${folder}/other`), "mine");
    assert.equal(await Deno.readTextFile(`${folder}/a.prom`), "two");
    assert.deepEqual(namesIn(folder), ["a.prom", "other"]);
  }));

function namesIn(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "monitor_replace_" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
