import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { fileTouchKind } from "../../src/channels/file_touch.ts";
import type { Delivery } from "../../src/domain/delivery.ts";
import { createFiles } from "../../src/system/files.ts";
import {
  deliverOver,
  type DeliveryFindings,
  type DeliverySettings,
  failure,
} from "../support/channel_delivery.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { makePipe } from "../support/make_pipe.ts";
import { testWith } from "../../testing/tools.ts";
import { runWithoutRights } from "../support/without_rights.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { provided } from "../support/concurrent_tests.ts";

const test = provided(inDirectory, Deno.test);

const LONG_AGO = new Date("2001-02-03 04:05:06 UTC");

function touch(path: string, settings?: DeliverySettings): Promise<DeliveryFindings> {
  return deliverOver(fileTouchKind, { kind: "file_touch", key: "k", parameters: { path } }, settings);
}

function refusal(path: string, reason: string, retryable = false): Delivery {
  return failure(`cannot touch "${path}": ${reason}`, { retryable });
}

async function inDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  await using temporary = await tempDirectory();
  await use(temporary.path);
}

test("fileTouchKind creates a missing file, empty, also through a symlink", async (directory) => {
  await Deno.symlink(`${directory}/target`, `${directory}/link`);
  for (const [path, file] of [["new", "new"], ["link", "target"]]) {
    const { delivery, steps } = await touch(`${directory}/${path}`);
    assert.deepEqual([delivery, steps], [{ delivered: true, note: null }, ["touched"]]);
    assert.equal((await Deno.stat(`${directory}/${file}`)).size, 0);
  }
});

test("fileTouchKind sets the modification time and keeps content and permissions", async (directory) => {
  const path = `${directory}/old`;
  await Deno.writeTextFile(path, "content", { mode: 0o600 });
  await Deno.utime(path, LONG_AGO, LONG_AGO);
  const beforeMs = Date.now();
  await touch(path);
  const { mtime, mode } = await Deno.stat(path);
  assert.ok(mtime !== null && mtime.getTime() >= beforeMs - 10, `${mtime}`);
  assert.equal((mode ?? 0) & 0o777, 0o600);
  assert.equal(await Deno.readTextFile(path), "content");
});

Deno.test("fileTouchKind rejects permanent failures with the reason", async (t) => {
  await inDirectory(async (directory) => {
    await makePipe(`${directory}/pipe`);
    const rows: Rows<[name: string, reason: string]> = {
      "a missing directory": ["missing/file", "its directory does not exist"],
      "a pipe that nobody reads": ["pipe", "it is a pipe or a socket without a reader"],
    };
    await testRows(t, rows, async ([name, reason]) => {
      const path = `${directory}/${name}`;
      assert.deepEqual((await touch(path)).delivery, refusal(path, reason));
    });
  });
});

test("fileTouchKind rejects what a user without privileges may not write", async (directory) => {
  await Deno.chmod(directory, 0o755);
  await Deno.mkdir(`${directory}/mine`);
  await Deno.chmod(`${directory}/mine`, 0o555);
  await writeOld(`${directory}/closed`, { content: "", mode: 0o444 });
  for (const path of [`${directory}/mine/new`, `${directory}/closed`]) {
    assert.deepEqual(await touchUnprivileged(path), refusal(path, "permission denied"));
  }
});

testWith("root")(
  "fileTouchKind as a user without privileges, with files of another user",
  (t) =>
    inDirectory(async (directory) => {
      await Deno.chmod(directory, 0o755);
      for (const content of ["", "content"]) {
        const path = `${directory}/${content === "" ? "empty" : "full"}`;
        await writeOld(path, { content, mode: 0o666 });
        await Deno.chown(path, 65534, 65534);
      }
      await t.step("touches an empty file that they may write", async () => {
        const path = `${directory}/empty`;
        assert.deepEqual(await touchUnprivileged(path), { delivered: true, note: null });
        const { mtime } = await Deno.stat(path);
        assert.ok(mtime !== null && mtime.getTime() > LONG_AGO.getTime());
      });
      await t.step("does not truncate a file of another user", async () => {
        const path = `${directory}/full`;
        const reason = "it belongs to another user, or cannot be changed";
        assert.deepEqual(await touchUnprivileged(path), refusal(path, reason));
        assert.equal(await Deno.readTextFile(path), "content");
      });
    }),
);

Deno.test({
  name: "fileTouchKind names the flag of a permission that was not granted",
  permissions: { write: ["/nowhere"], read: true, sys: true },
  fn: async () => {
    const path = "/tmp/never_made";
    assert.deepEqual((await touch(path)).delivery, refusal(path, "grant --allow-write=/tmp/never_made"));
  },
});

Deno.test("fileTouchKind retries if the disk is full", async () => {
  const full = (): Promise<never> =>
    Promise.reject(
      Object.assign(new Error("ENOSPC: no space left on device, open '/a/b'"), { code: "ENOSPC" }),
    );
  const { delivery } = await touch("/a/b", {
    system: { files: { ...createFiles(createRealClock()), touch: full } },
  });
  assert.deepEqual(delivery, refusal("/a/b", "the disk is full", true));
});

Deno.test("fileTouchKind aborts with its signal if a file system hangs", async () => {
  const abort = new AbortController();
  const hang = (): Promise<never> =>
    new Promise(() => queueMicrotask(() => abort.abort(new Error("time is up"))));
  await assert.rejects(
    touch("/a", {
      signal: abort.signal,
      system: { files: { ...createFiles(createRealClock()), touch: hang } },
    }),
    /^Error: time is up$/,
  );
});

async function writeOld(
  path: string,
  { content, mode }: { readonly content: string; readonly mode: number },
): Promise<void> {
  await Deno.writeTextFile(path, content);
  await Deno.chmod(path, mode);
  await Deno.utime(path, LONG_AGO, LONG_AGO);
}

async function touchUnprivileged(path: string): Promise<Delivery> {
  return JSON.parse(await runWithoutRights(new URL("../fixtures/touch_file.ts", import.meta.url), path));
}
