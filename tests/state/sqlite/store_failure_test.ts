import assert from "node:assert/strict";
import { StoreError, type StoreFailure } from "../../../src/domain/store.ts";
import { explainStoreFailure } from "../../../src/state/sqlite/sqlite_connection.ts";
import { testRows } from "../../support/rows.ts";

Deno.test("explainStoreFailure() suggests a fix", async (t) => {
  const writable = "make the file and its directory writable for this user";
  const busy = "locked by another process for too long; run it again";
  const full = "the disk is full; free some space";
  const unopened =
    "the file, its -wal or its -shm cannot be opened; make them and the directory writable for this user";
  const table: Readonly<Record<string, readonly [Error, StoreFailure, reason: string]>> = {
    "no permission": [databaseError("access denied", 3), "denied", `permission denied; ${writable}`],
    "busy": [databaseError("database is locked", 5), "busy", busy],
    "read-only": [databaseError("a readonly database", 8), "denied", `read-only; ${writable}`],
    "an input or output error": [
      databaseError("disk I/O error", 778),
      "other",
      "the disk reports an error (disk I/O error, code 778); check the disk, its quota and the system log",
    ],
    "no space for the shared memory": [databaseError("disk I/O error", 4874), "full", full],
    "corrupt": [databaseError("disk image is malformed", 11), "damaged", "the file is damaged"],
    "cannot open": [databaseError("unable to open database file", 14), "denied", unopened],
    "no database": [databaseError("is not a database", 26), "damaged", "the file is not a database"],
    "a missing permission of the runtime": [
      new Deno.errors.NotCapable("Requires write access"),
      "denied",
      "missing permission: Requires write access",
    ],
    "an exhausted quota": [
      systemError("Disk quota exceeded", "EDQUOT"),
      "full",
      "the disk quota is exceeded; free some space",
    ],
    "a read-only disk": [systemError("Read-only file system", "EROFS"), "denied", `read-only; ${writable}`],
  };
  await testRows(t, table, ([error, failure, reason]) => {
    const explained = explainStoreFailure(error, { action: "write", path: "/state" });
    assert.equal(explained?.message, `cannot write state "/state": ${reason}`);
    assert.equal(explained.failure, failure);
    assert.equal(explained.cause, error);
  });
});

Deno.test("explainStoreFailure() returns an explained failure unchanged", () => {
  const error = new StoreError("cannot read it", "other");
  assert.equal(explainStoreFailure(error, { action: "read", path: "/state" }), error);
});

Deno.test("explainStoreFailure() does not classify a bug as a failure of the state", () => {
  const argument = systemError("cannot be bound", "ERR_INVALID_ARG_TYPE");
  for (const error of [new TypeError("x is undefined"), argument, "text"]) {
    assert.equal(explainStoreFailure(error, { action: "write", path: "/state" }), null);
  }
});

function databaseError(message: string, errcode?: number): Error {
  return Object.assign(new Error(message), {
    code: "ERR_SQLITE_ERROR",
    ...(errcode === undefined ? {} : { errcode }),
  });
}

function systemError(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
