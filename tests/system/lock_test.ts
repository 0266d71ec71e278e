import assert from "node:assert/strict";
import { StoreError, type StoreFailure } from "../../src/domain/store.ts";
import { acquireLock, isLocked, lockHolder } from "../../src/system/lock.ts";
import { SOURCE_FLAGS } from "../../testing/source.ts";
import { inTime } from "../life/in_time.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { makePipe } from "../support/make_pipe.ts";
import { startChild } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { provided } from "../support/concurrent_tests.ts";

const test = provided(withLockPath, Deno.test);

test("acquireLock() admits one process at a time", (path) => {
  const lock = acquireLock(path);
  assert.ok(lock !== null);
  assert.equal(acquireLock(path), null);
  assert.equal(acquireLock(path), null);
  lock.release();
  lock.release();
  const next = acquireLock(path);
  assert.ok(next !== null);
  assert.equal(acquireLock(path), null);
  next.release();
});

test("acquireLock() creates a file for its owner alone with the id of its holder", (path) => {
  const deep = `${path}.d/deep/state.lock`;
  const lock = acquireLock(deep);
  assert.equal((Deno.statSync(deep).mode ?? 0) & 0o777, 0o600);
  assert.equal((Deno.statSync(`${path}.d/deep`).mode ?? 0) & 0o777, 0o700);
  assert.equal(lockHolder(deep), Deno.pid);
  lock?.release();
});

test("isLocked() returns whether a process has a lock, and blocks no other process", async (path) => {
  assert.equal(isLocked(path), false, "no file");
  const lock = acquireLock(path);
  assert.equal(isLocked(path), true);
  assert.equal(isLocked(path), true);
  lock?.release();
  assert.equal(isLocked(path), false);
  const looking = await startLooking(path);
  try {
    for (let round = 0; round < 50; round++) {
      const taken = acquireLock(path);
      assert.notEqual(taken, null, `round ${round}`);
      taken?.release();
    }
  } finally {
    await looking.kill();
  }
});

test("lockHolder() returns nothing for a file without an id, which a lock writes over", async (path) => {
  assert.equal(lockHolder(path), null);
  for (const text of ["", "me", "0", "12345678901", "999999999999\nand more"]) {
    await Deno.writeTextFile(path, text);
    assert.equal(lockHolder(path), null, text);
  }
  acquireLock(path)?.release();
  assert.equal(lockHolder(path), Deno.pid);
});

test("acquireLock() fails while another process has the lock, and succeeds once that was killed", async (path) => {
  const other = await startHolder(path);
  try {
    assert.equal(acquireLock(path), null);
    assert.equal(lockHolder(path), other.processId);
  } finally {
    await other.kill();
  }
  // The command that it had started still runs; a lock that it had inherited would remain too.
  Deno.kill(other.childId, "SIGCONT");
  const lock = acquireLock(path);
  assert.ok(lock !== null);
  assert.equal(lockHolder(path), Deno.pid);
  lock.release();
  Deno.kill(other.childId, "SIGKILL");
});

test("acquireLock() locks the present file, not a removed one", (path) => {
  const lock = acquireLock(path);
  Deno.removeSync(path);
  const next = acquireLock(path);
  assert.ok(next !== null);
  assert.equal(acquireLock(path), null);
  lock?.release();
  assert.equal(acquireLock(path), null);
  next.release();
});

Deno.test({
  name: "acquireLock() rejects places for which the runtime wants all permissions, and suggests another path",
  ignore: Deno.build.os !== "linux",
  permissions: { read: true, write: true },
  fn: () => {
    for (const path of ["/proc/monitor.lock", "/sys/monitor.lock", "/dev/monitor.lock"]) {
      const reason = "/proc, /sys and /dev are not for files; set --state to another path";
      assert.throws(() => acquireLock(path), (error) => {
        assert.ok(error instanceof StoreError);
        assert.equal(error.message, `cannot lock "${path}": ${reason}`);
        assert.equal(error.cause, undefined, "it is no missing permission");
        return true;
      });
    }
  },
});

Deno.test("isInPlace() notices that the locked file was removed or replaced, and nothing else", async (t) => {
  const replace = (path: string, to: string, make: () => void): void => {
    Deno.renameSync(path, to);
    make();
  };
  const rows: Rows<[isInPlace: boolean, change: (path: string) => void]> = {
    "nothing happened": [true, () => {}],
    "other permissions": [true, (path) => Deno.chmodSync(path, 0o644)],
    "other content": [true, (path) => Deno.writeTextFileSync(path, "1\n")],
    "removed": [false, (path) => Deno.removeSync(path)],
    "another file in its place": [
      false,
      (path) => replace(path, `${path}.old`, () => Deno.writeTextFileSync(path, "")),
    ],
    "a link to it in its place": [
      false,
      (path) => replace(path, `${path}.old`, () => Deno.symlinkSync(`${path}.old`, path)),
    ],
    "its directory renamed": [false, (path) => {
      const directory = path.slice(0, path.lastIndexOf("/"));
      replace(directory, `${directory}.old`, () => Deno.mkdirSync(directory));
    }],
  };
  await testRows(t, rows, ([isInPlace, change]) =>
    withLockPath(async (path) => {
      const deep = `${path}.d/state.lock`;
      const lock = acquireLock(deep);
      change(deep);
      assert.equal(await lock?.isInPlace(), isInPlace);
      lock?.release();
    }));
});

Deno.test("acquireLock() rejects paths that are no file, and writes nothing to the target of a symlink", async (t) => {
  const precious = (link: (old: string, path: string) => void) => (path: string): void => {
    Deno.writeTextFileSync(`${path}.target`, "precious");
    link(`${path}.target`, path);
  };
  type Make = (path: string) => void | Promise<void>;
  const rows: Rows<[make: Make, reason: RegExp]> = {
    "a symlink": [precious(Deno.symlinkSync), /: it is a symlink, not a file$/],
    "a symlink to nothing": [
      (path) => Deno.symlinkSync(`${path}.missing`, path),
      /: it is a symlink, not a file$/,
    ],
    "another name of a file": [precious(Deno.linkSync), /: it is a hard link$/],
    "a directory": [(path) => Deno.mkdirSync(path), /: it is a directory, not a file$/],
    "a pipe": [makePipe, /: it is a device or a pipe, not a file$/],
  };
  await testRows(t, rows, ([make, reason], name) =>
    withLockPath(async (path) => {
      await make(path);
      if (name === "a pipe") assert.equal(isLocked(path), false);
      assert.throws(() => acquireLock(path), failing("denied", reason));
      if (name === "a symlink") assert.equal(Deno.readTextFileSync(`${path}.target`), "precious");
      assert.throws(() => Deno.lstatSync(`${path}.missing`), Deno.errors.NotFound);
    }));
  await withLockPath((path) => {
    Deno.writeTextFileSync(path, "");
    assert.throws(
      () => acquireLock(`${path}/state.lock`),
      failing("other", /leads through something that is not a directory/),
    );
  });
});

Deno.test({
  name: "acquireLock() names the missing permission of the runtime",
  permissions: { read: false, write: false },
  fn: () => {
    assert.throws(
      () => acquireLock("/nowhere/state.lock"),
      failing("denied", /: missing permission: Requires read access to .*--allow-read/),
    );
  },
});

interface Holder {
  readonly processId: number;
  /** A command that the holder has started and that outlives it. */
  readonly childId: number;
  kill(): Promise<void>;
}

function startHolder(path: string): Promise<Holder> {
  return startProgram(
    `
    const lock = acquireLock(Deno.args[0]);
    const child = new Deno.Command("sleep", { args: ["600"], stdin: "null", stdout: "null", stderr: "null" }).spawn();
    console.log(lock === null ? "refused" : [Deno.pid, child.pid].join(" "));
    setInterval(() => {}, 1000);`,
    path,
  );
}

function startLooking(path: string): Promise<Holder> {
  return startProgram(
    `
    console.log([Deno.pid, 0].join(" "));
    setInterval(() => isLocked(Deno.args[0]), 1);`,
    path,
  );
}

async function startProgram(body: string, path: string): Promise<Holder> {
  const lockModule = new URL("../../src/system/lock.ts", import.meta.url).href;
  const program = `import { acquireLock, isLocked } from ${JSON.stringify(lockModule)};${body}`;
  const holder = startChild(Deno.execPath(), ["eval", ...SOURCE_FLAGS, program, path], { stdout: "piped" });
  const reader = holder.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await inTime("the holder of the lock", reader.read());
  const [processId = 0, childId = 0] = value.trim().split(" ").map(Number);
  return {
    processId,
    childId,
    kill: async () => {
      holder.kill("SIGKILL");
      await inTime("the end of the holder", holder.status);
      await reader.cancel();
    },
  };
}

function failing(failure: StoreFailure, reason: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreError, String(error));
    assert.match(error.message, /^cannot lock "/);
    assert.match(error.message, reason);
    assert.equal(error.failure, failure);
    return true;
  };
}

async function withLockPath(use: (path: string) => void | Promise<void>): Promise<void> {
  await using temporary = await tempDirectory();
  await use(`${temporary.path}/state.lock`);
}
