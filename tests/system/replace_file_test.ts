import assert from "node:assert/strict";
import { replaceFile, rewriteFile } from "../../src/system/files.ts";
import { tempDirectory } from "../../testing/builders.ts";

Deno.test("replaceFile() creates a file, and replaces it", () =>
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
    const texts = ["a", "b"].map((letter) => letter.repeat(200_000));
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
    for (let round = 0; round < 8; round++) await replaceFile(path, texts[round % 2] ?? "");
    isOver = true;
    assert.ok(await reading > 0);
  }));

Deno.test("replaceFile() keeps the old file when it cannot write, and nothing else", () =>
  withDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/a.prom`);
    await Deno.writeTextFile(`${directory}/a.prom/kept`, "");
    await assert.rejects(() => replaceFile(`${directory}/a.prom`, "text"));
    assert.deepEqual(namesIn(directory), ["a.prom"]);
    await assert.rejects(() => replaceFile(`${directory}/none/a.prom`, "text"), Deno.errors.NotFound);
  }));

Deno.test("replaceFile() writes through no link, and ignores leftovers of a killed process", () =>
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

Deno.test("rewriteFile() keeps the permissions and the link that leads to the file", () =>
  withDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/real`);
    const path = `${directory}/real/config`;
    await Deno.writeTextFile(path, "one");
    await Deno.symlink("real/config", `${directory}/link`);
    for (const mode of [0o600, 0o640, 0o444, 0o4755]) {
      await Deno.chmod(path, mode);
      await rewriteFile(`${directory}/link`, () => `mode ${mode}`);
      assert.equal(await Deno.readTextFile(path), `mode ${mode}`);
      assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o7777, mode);
    }
    assert.ok((await Deno.lstat(`${directory}/link`)).isSymlink);
    assert.deepEqual([namesIn(directory), namesIn(`${directory}/real`)], [["link", "real"], ["config"]]);
  }));

Deno.test({
  name: "rewriteFile() keeps the owner and the group",
  // Only root can make a file of another user.
  ignore: Deno.uid() !== 0,
  fn: () =>
    withDirectory(async (directory) => {
      const path = `${directory}/config`;
      await Deno.writeTextFile(path, "one", { mode: 0o640 });
      await Deno.chown(path, 1, 2);
      await rewriteFile(path, () => "two");
      const { uid, gid, mode } = await Deno.stat(path);
      assert.deepEqual([uid, gid, (mode ?? 0) & 0o7777], [1, 2, 0o640]);
    }),
});

Deno.test("rewriteFile() creates no file, and leaves no temporary file when it cannot write", () =>
  withDirectory(async (directory) => {
    await assert.rejects(() => rewriteFile(`${directory}/none`, () => "text"), Deno.errors.NotFound);
    await Deno.mkdir(`${directory}/directory`);
    await Deno.writeTextFile(`${directory}/directory/kept`, "");
    await assert.rejects(() => rewriteFile(`${directory}/directory`, () => "text"));
    assert.deepEqual(namesIn(directory), ["directory"]);
  }));

function namesIn(directory: string): readonly string[] {
  return [...Deno.readDirSync(directory)].map(({ name }) => name).sort();
}

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  await using temporary = await tempDirectory();
  await use(temporary.path);
}

Deno.test("rewriteFile() loses no concurrent edit", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/config`;
    await Deno.writeTextFile(path, "");
    const letters = [..."abcdefghijklmnopqrst"];
    await Promise.all(
      letters.map((letter) => rewriteFile(path, (stored) => new TextDecoder().decode(stored) + letter)),
    );
    assert.deepEqual([...await Deno.readTextFile(path)].sort(), letters);
    assert.deepEqual(namesIn(directory), ["config"]);
  }));
