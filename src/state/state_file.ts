/** The file of a state before the database has a look at it. */
import { missingUserId } from "../domain/runtime_permissions.ts";
import { COMPANIONS, type PathFacts, type StoreFiles } from "../domain/stores.ts";
import { StoreError } from "../domain/store.ts";
import { newerVersion, STEPS } from "./sql/tables.ts";
import { APPLICATION_ID, NewerVersionError } from "./sqlite/sqlite_connection.ts";

/** A file that is no state that a monitor can have left like this. */
export class DamagedFileError extends Error {
  override readonly name = "DamagedFileError";
}

interface FileAccess {
  readonly files: StoreFiles;
  /** The user that runs this; 0 is root. `null` on systems without ids, and if the id may not be read. */
  readonly userId: number | null;
}

/**
 * Returns the type of a state's path; `null` if it does not exist.
 *
 * Rejects, for the file and its companions alike, files that another user may have created there: a symlink (the
 * database would follow it and write to its target), or a file of another user (the database would replay a planted
 * -wal). Root may use the state of any user.
 *
 * @throws {StoreError} If it is rejected.
 * @throws {Deno.errors.NotCapable} If the owner of the file cannot be read.
 */
export async function inspectPlace(path: string, { files, userId }: FileAccess): Promise<PathFacts | null> {
  const [file = null, ...companions] = await Promise.all(
    ["", ...COMPANIONS].map((companion) => files.look(path + companion)),
  );
  if (file !== null) {
    refuseKind(path, path, file);
    if (userId !== 0) refuseOwner(path, path, { file, owners: [userId], userId });
  }
  companions.forEach((found, index) => {
    if (found === null) return;
    const companionPath = `${path}${COMPANIONS[index]}`;
    refuseKind(path, companionPath, found);
    refuseOwner(path, companionPath, { file: found, owners: [userId, file?.ownerId ?? null], userId });
  });
  return file;
}

/**
 * Reads the header (sqlite.org/fileformat2.html, section 1.3) without the database, which might write to a file
 * that is not ours just by opening and closing it.
 *
 * @throws {DamagedFileError} If it is no header of a database.
 * @throws {NewerVersionError} If a newer monitor wrote it.
 * @throws {StoreError} If another program wrote it.
 */
export async function inspectHeader(path: string, files: StoreFiles): Promise<void> {
  const header = await files.readStart(path, HEADER_BYTES);
  const magic = new TextEncoder().encode("SQLite format 3\0");
  if (header.length < HEADER_BYTES || magic.some((byte, index) => header[index] !== byte)) {
    throw new DamagedFileError("the file is not a database");
  }
  const view = new DataView(header.buffer, header.byteOffset);
  if (view.getUint32(APPLICATION_ID_OFFSET) !== APPLICATION_ID) {
    throw refusal(path, "it is a database of another program", "other");
  }
  const version = view.getUint32(USER_VERSION_OFFSET);
  if (version > STEPS.length) throw new NewerVersionError(newerVersion(version, STEPS.length));
}

/**
 * Examines the companions of an empty file. It may be new; but a journal with contents is written after the file's
 * first page, and the database would delete it. Another process may be filling the file at this moment, so the file
 * is examined again after the journal.
 *
 * @throws {DamagedFileError} If the file has lost its contents.
 */
export async function inspectEmptyFile(path: string, files: StoreFiles): Promise<void> {
  const journal = await files.look(`${path}-wal`);
  if (journal === null || journal.sizeBytes === 0) return;
  const file = await files.look(path);
  if (file?.sizeBytes === 0) throw new DamagedFileError("the file is empty, its journal is not");
}

const HEADER_BYTES = 100;
const USER_VERSION_OFFSET = 60;
const APPLICATION_ID_OFFSET = 68;

function refuseKind(path: string, found: string, { kind }: PathFacts): void {
  if (kind === "file") return;
  const what = kind === "symlink"
    ? "a symlink, which is not followed"
    : `a ${kind === "directory" ? kind : "device or a pipe"}`;
  throw refusal(path, `"${found}" is ${what}; name a file`, "denied");
}

function refuseOwner(
  path: string,
  found: string,
  { file, owners, userId }: {
    readonly file: PathFacts;
    readonly owners: readonly (number | null)[];
    readonly userId: number | null;
  },
): void {
  if (file.ownerId === null || owners.includes(file.ownerId)) return;
  if (userId === null) throw missingUserId("ownership of files");
  throw refusal(
    path,
    `"${found}" belongs to another user (id ${file.ownerId}); run as that user, or name another file`,
    "denied",
  );
}

function refusal(path: string, reason: string, failure: "denied" | "other"): StoreError {
  return new StoreError(`cannot open state "${path}": ${reason}`, failure);
}
