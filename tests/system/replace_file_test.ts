import assert from "node:assert/strict";
import { replaceFile } from "../../src/system/replace_file.ts";

Deno.test("replaceFile() makes a file, and puts another in its place", () =>
  withDirectory(async (directory) => {
    await replaceFile(`${directory}/a.prom`, "one\n");
    assert.equal(await Deno.readTextFile(`${directory}/a.prom`), "one\n");
    await replaceFile(`${directory}/a.prom`, "two\n");
    assert.equal(await Deno.readTextFile(`${directory}/a.prom`), "two\n");
    assert.deepEqual(namesIn(directory), ["a.prom"]);
  }));

Deno.test("replaceFile() shows its readers the old text or the new one, whole", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/a.prom`;
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
  withDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/a.prom`);
    await Deno.writeTextFile(`${directory}/a.prom/kept`, "");
    await assert.rejects(() => replaceFile(`${directory}/a.prom`, "text"));
    assert.deepEqual(namesIn(directory), ["a.prom"]);
    await assert.rejects(() => replaceFile(`${directory}/none/a.prom`, "text"), Deno.errors.NotFound);
  }));

Deno.test("replaceFile() writes through no link, and is not held up by what a killed process left", () =>
  withDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/other`, "mine");
    await Deno.symlink(`${directory}/other`, `${directory}/a.prom.tmp`);
    await replaceFile(`${directory}/a.prom`, "one");
    await Deno.writeTextFile(`${directory}/a.prom.tmp`, "half of a te");
    await replaceFile(`${directory}/a.prom`, "two");
    assert.equal(await Deno.readTextFile(`${directory}/other`), "mine");
    assert.equal(await Deno.readTextFile(`${directory}/a.prom`), "two");
    assert.deepEqual(namesIn(directory), ["a.prom", "other"]);
  }));

function namesIn(directory: string): readonly string[] {
  return [...Deno.readDirSync(directory)].map(({ name }) => name).sort();
}

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_replace_" });
  try {
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
