import assert from "node:assert/strict";
import { createStoreFiles, replaceFile, rewriteFile } from "../../src/system/files.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { makePipe } from "../support/make_pipe.ts";
import { provided } from "../support/concurrent_tests.ts";

const test = provided(withDirectory, Deno.test);

test("replaceFile() creates a file, and replaces it", async (directory) => {
  await replaceFile(`${directory}/a.prom`, "one\n");
  assert.equal(await Deno.readTextFile(`${directory}/a.prom`), "one\n");
  await replaceFile(`${directory}/a.prom`, "two\n");
  assert.equal(await Deno.readTextFile(`${directory}/a.prom`), "two\n");
  assert.deepEqual(namesIn(directory), ["a.prom"]);
});

test("replaceFile() shows its readers the old text or the new one, whole", async (directory) => {
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
});

test("replaceFile() keeps the old file when it cannot write, and nothing else", async (directory) => {
  await Deno.mkdir(`${directory}/a.prom`);
  await Deno.writeTextFile(`${directory}/a.prom/kept`, "");
  await assert.rejects(() => replaceFile(`${directory}/a.prom`, "text"));
  assert.deepEqual(namesIn(directory), ["a.prom"]);
  await assert.rejects(() => replaceFile(`${directory}/none/a.prom`, "text"), Deno.errors.NotFound);
});

test("replaceFile() writes through no link, and ignores leftovers of a killed process", async (directory) => {
  await Deno.writeTextFile(`${directory}/other`, "mine");
  await Deno.symlink(`${directory}/other`, `${directory}/a.prom.tmp`);
  await replaceFile(`${directory}/a.prom`, "one");
  await Deno.writeTextFile(`${directory}/a.prom.tmp`, "half of a te");
  await replaceFile(`${directory}/a.prom`, "two");
  assert.equal(await Deno.readTextFile(`${directory}/other`), "mine");
  assert.equal(await Deno.readTextFile(`${directory}/a.prom`), "two");
  assert.deepEqual(namesIn(directory), ["a.prom", "other"]);
});

test("rewriteFile() keeps the permissions and the link that leads to the file", async (directory) => {
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
});

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

test("rewriteFile() creates no file, and leaves no temporary file when it cannot write", async (directory) => {
  await assert.rejects(() => rewriteFile(`${directory}/none`, () => "text"), Deno.errors.NotFound);
  await Deno.mkdir(`${directory}/directory`);
  await Deno.writeTextFile(`${directory}/directory/kept`, "");
  await assert.rejects(() => rewriteFile(`${directory}/directory`, () => "text"));
  assert.deepEqual(namesIn(directory), ["directory"]);
});

function namesIn(directory: string): readonly string[] {
  return [...Deno.readDirSync(directory)].map(({ name }) => name).sort();
}

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  await using temporary = await tempDirectory();
  await use(temporary.path);
}

test("rewriteFile() loses no concurrent edit", async (directory) => {
  const path = `${directory}/config`;
  await Deno.writeTextFile(path, "");
  const letters = [..."abcdefghijklmnopqrst"];
  await Promise.all(
    letters.map((letter) => rewriteFile(path, (stored) => new TextDecoder().decode(stored) + letter)),
  );
  assert.deepEqual([...await Deno.readTextFile(path)].sort(), letters);
  assert.deepEqual(namesIn(directory), ["config"]);
});

const files = createStoreFiles(createRealClock());

test("look() returns the type of a path, and follows no link", async (directory) => {
  await Deno.writeTextFile(`${directory}/file`, "four");
  await Deno.symlink(`${directory}/file`, `${directory}/link`);
  await Deno.symlink(`${directory}/missing`, `${directory}/dangling`);
  await makePipe(`${directory}/pipe`);
  const kindOf = async (name: string): Promise<string | undefined> =>
    (await files.look(`${directory}/${name}`))?.kind;
  assert.deepEqual(await files.look(`${directory}/file`), {
    kind: "file",
    sizeBytes: 4,
    ownerId: Deno.uid(),
  });
  assert.equal(await kindOf("link"), "symlink");
  assert.equal(await kindOf("dangling"), "symlink");
  assert.equal(await kindOf("pipe"), "other");
  assert.equal(await kindOf(""), "directory");
  assert.equal(await files.look(`${directory}/missing`), null);
  await assert.rejects(() => files.look(`${directory}/file/below`), Deno.errors.NotADirectory);
});

test("readStart() reads up to the requested number of bytes", async (directory) => {
  await Deno.writeFile(`${directory}/file`, new Uint8Array([1, 2, 3]));
  assert.deepEqual([...await files.readStart(`${directory}/file`, 2)], [1, 2]);
  assert.deepEqual([...await files.readStart(`${directory}/file`, 100)], [1, 2, 3]);
  await assert.rejects(() => files.readStart(`${directory}/missing`, 1), Deno.errors.NotFound);
});

test("createFile() creates a file for its owner alone, unless the path exists", async (directory) => {
  await files.createFile(`${directory}/file`);
  assert.equal(((await Deno.stat(`${directory}/file`)).mode ?? 0) & 0o777, 0o600);
  await Deno.symlink(`${directory}/missing`, `${directory}/dangling`);
  for (const name of ["file", "dangling"]) {
    await assert.rejects(() => files.createFile(`${directory}/${name}`), Deno.errors.AlreadyExists);
  }
  assert.equal(await files.look(`${directory}/missing`), null);
});

test("createDirectory() creates directories for their owner alone, and keeps existing ones", async (directory) => {
  await Deno.mkdir(`${directory}/a`, { mode: 0o755 });
  await files.createDirectory(`${directory}/a/b/c`);
  await files.createDirectory(`${directory}/a/b/c`);
  const modeOf = async (name: string): Promise<number> =>
    ((await Deno.stat(`${directory}/${name}`)).mode ?? 0) & 0o777;
  assert.deepEqual([await modeOf("a"), await modeOf("a/b"), await modeOf("a/b/c")], [0o755, 0o700, 0o700]);
});
