import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { createStoreFiles } from "../../src/system/store_files.ts";
import { makePipe } from "../support/make_pipe.ts";

const files = createStoreFiles(createRealClock());

Deno.test("look() tells what stands at a path, and follows nothing", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "four");
    await Deno.symlink(`${folder}/file`, `${folder}/link`);
    await Deno.symlink(`${folder}/missing`, `${folder}/dangling`);
    await makePipe(`${folder}/pipe`);
    const kindOf = async (name: string): Promise<string | undefined> =>
      (await files.look(`${folder}/${name}`))?.kind;
    assert.deepEqual(await files.look(`${folder}/file`), { kind: "file", sizeBytes: 4, ownerId: Deno.uid() });
    assert.equal(await kindOf("link"), "symlink");
    assert.equal(await kindOf("dangling"), "symlink");
    assert.equal(await kindOf("pipe"), "other");
    assert.equal(await kindOf(""), "folder");
    assert.equal(await files.look(`${folder}/missing`), null);
    await assert.rejects(() => files.look(`${folder}/file/below`), Deno.errors.NotADirectory);
  }));

Deno.test("readStart() reads so many bytes or as many as there are", () =>
  withFolder(async (folder) => {
    await Deno.writeFile(`${folder}/file`, new Uint8Array([1, 2, 3]));
    assert.deepEqual([...await files.readStart(`${folder}/file`, 2)], [1, 2]);
    assert.deepEqual([...await files.readStart(`${folder}/file`, 100)], [1, 2, 3]);
    await assert.rejects(() => files.readStart(`${folder}/missing`, 1), Deno.errors.NotFound);
  }));

Deno.test("createFile() makes a file for its owner alone, where nothing is", () =>
  withFolder(async (folder) => {
    await files.createFile(`${folder}/file`);
    assert.equal(((await Deno.stat(`${folder}/file`)).mode ?? 0) & 0o777, 0o600);
    await Deno.symlink(`${folder}/missing`, `${folder}/dangling`);
    for (const name of ["file", "dangling"]) {
      await assert.rejects(() => files.createFile(`${folder}/${name}`), Deno.errors.AlreadyExists);
    }
    assert.equal(await files.look(`${folder}/missing`), null);
  }));

Deno.test("createFolder() makes folders for their owner alone, and leaves those that are there", () =>
  withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/a`, { mode: 0o755 });
    await files.createFolder(`${folder}/a/b/c`);
    await files.createFolder(`${folder}/a/b/c`);
    const modeOf = async (name: string): Promise<number> =>
      ((await Deno.stat(`${folder}/${name}`)).mode ?? 0) & 0o777;
    assert.deepEqual([await modeOf("a"), await modeOf("a/b"), await modeOf("a/b/c")], [0o755, 0o700, 0o700]);
  }));

Deno.test("rename() gives a file another name", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/one`, "text");
    await files.rename(`${folder}/one`, `${folder}/other`);
    assert.equal(await Deno.readTextFile(`${folder}/other`), "text");
    assert.equal(await files.look(`${folder}/one`), null);
  }));

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "monitor-files-" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
