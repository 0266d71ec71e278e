import assert from "node:assert/strict";
import { StoreError, type StoreFailure } from "../../../src/domain/store.ts";
import { explainStoreFailure } from "../../../src/state/sqlite/store_failure.ts";
import { testRows } from "../../support/rows.ts";

Deno.test("explainStoreFailure() suggests a fix", async (t) => {
  const table: Readonly<Record<string, { error: Error; failure: StoreFailure; reason: string }>> = {
    "no permission": {
      error: databaseError("access permission denied", 3),
      failure: "denied",
      reason: "permission denied; make the file and its directory writable for this user",
    },
    "busy": {
      error: databaseError("database is locked", 5),
      failure: "busy",
      reason: "locked by another process for too long; run it again",
    },
    "busy, with an extended code": {
      error: databaseError("database is locked", 517),
      failure: "busy",
      reason: "locked by another process for too long; run it again",
    },
    "read-only": {
      error: databaseError("attempt to write a readonly database", 8),
      failure: "denied",
      reason: "read-only; make the file and its directory writable for this user",
    },
    "an input or output error": {
      error: databaseError("disk I/O error", 778),
      failure: "other",
      reason:
        "the disk reports an error (disk I/O error, code 778); check the disk, its quota and the system log",
    },
    "no space for the shared memory": {
      error: databaseError("disk I/O error", 4874),
      failure: "full",
      reason: "the disk is full; free some space",
    },
    "corrupt": {
      error: databaseError("database disk image is malformed", 11),
      failure: "damaged",
      reason: "the file is damaged",
    },
    "a corrupt index, with an extended code": {
      error: databaseError("database disk image is malformed", 779),
      failure: "damaged",
      reason: "the file is damaged",
    },
    "full": {
      error: databaseError("database or disk is full", 13),
      failure: "full",
      reason: "the disk is full; free some space",
    },
    "cannot open": {
      error: databaseError("unable to open database file", 14),
      failure: "denied",
      reason:
        "the file, its -wal or its -shm cannot be opened; make them and the directory writable for this user",
    },
    "cannot open, by the constructor": {
      error: databaseError("unable to open database file: /state"),
      failure: "denied",
      reason:
        "the file, its -wal or its -shm cannot be opened; make them and the directory writable for this user",
    },
    "no database": {
      error: databaseError("file is not a database", 26),
      failure: "damaged",
      reason: "the file is not a database",
    },
    "anything else": {
      error: databaseError("out of memory", 7),
      failure: "other",
      reason: "out of memory (code 7)",
    },
    "a missing permission of the runtime": {
      error: new Deno.errors.NotCapable(
        'Requires write access to "/state", run again with the --allow-write flag',
      ),
      failure: "denied",
      reason: 'missing permission: Requires write access to "/state", run again with the --allow-write flag',
    },
    "a missing permission of the system": {
      error: new Deno.errors.PermissionDenied("Permission denied (os error 13)"),
      failure: "denied",
      reason: "permission denied; make the file and its directory writable for this user",
    },
    "no space for a file": {
      error: systemError("No space left on device (os error 28)", "ENOSPC"),
      failure: "full",
      reason: "the disk is full; free some space",
    },
    "an exhausted quota": {
      error: systemError("Disk quota exceeded (os error 122)", "EDQUOT"),
      failure: "full",
      reason: "the disk quota is exceeded; free some space",
    },
    "a read-only disk": {
      error: systemError("Read-only file system (os error 30)", "EROFS"),
      failure: "denied",
      reason: "read-only; make the file and its directory writable for this user",
    },
    "another error of the system": {
      error: systemError("Too many open files (os error 24)", "EMFILE"),
      failure: "other",
      reason: "Too many open files (os error 24)",
    },
  };
  await testRows(t, table, ({ error, failure, reason }) => {
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

Deno.test("explainStoreFailure() does not classify a bug as a failure of the state", async (t) => {
  const table: Readonly<Record<string, { error: unknown }>> = {
    "a type error": { error: new TypeError("x is undefined") },
    "a wrong argument": { error: systemError("cannot be bound", "ERR_INVALID_ARG_TYPE") },
    "no error at all": { error: "text" },
  };
  await testRows(t, table, ({ error }) => {
    assert.equal(explainStoreFailure(error, { action: "write", path: "/state" }), null);
  });
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
