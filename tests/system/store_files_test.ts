import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { createStoreFiles } from "../../src/system/files.ts";
import { makePipe } from "../support/make_pipe.ts";
import { tempDirectory } from "../../testing/builders.ts";

const files = createStoreFiles(createRealClock());

Deno.test("look() returns the type of a path, and follows no link", () =>
  withDirectory(async (directory) => {
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
  }));

Deno.test("readStart() reads up to the requested number of bytes", () =>
  withDirectory(async (directory) => {
    await Deno.writeFile(`${directory}/file`, new Uint8Array([1, 2, 3]));
    assert.deepEqual([...await files.readStart(`${directory}/file`, 2)], [1, 2]);
    assert.deepEqual([...await files.readStart(`${directory}/file`, 100)], [1, 2, 3]);
    await assert.rejects(() => files.readStart(`${directory}/missing`, 1), Deno.errors.NotFound);
  }));

Deno.test("createFile() creates a file for its owner alone, unless the path exists", () =>
  withDirectory(async (directory) => {
    await files.createFile(`${directory}/file`);
    assert.equal(((await Deno.stat(`${directory}/file`)).mode ?? 0) & 0o777, 0o600);
    await Deno.symlink(`${directory}/missing`, `${directory}/dangling`);
    for (const name of ["file", "dangling"]) {
      await assert.rejects(() => files.createFile(`${directory}/${name}`), Deno.errors.AlreadyExists);
    }
    assert.equal(await files.look(`${directory}/missing`), null);
  }));

Deno.test("createDirectory() creates directories for their owner alone, and keeps existing ones", () =>
  withDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/a`, { mode: 0o755 });
    await files.createDirectory(`${directory}/a/b/c`);
    await files.createDirectory(`${directory}/a/b/c`);
    const modeOf = async (name: string): Promise<number> =>
      ((await Deno.stat(`${directory}/${name}`)).mode ?? 0) & 0o777;
    assert.deepEqual([await modeOf("a"), await modeOf("a/b"), await modeOf("a/b/c")], [0o755, 0o700, 0o700]);
  }));

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  await using temporary = await tempDirectory();
  await use(temporary.path);
}
