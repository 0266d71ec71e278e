import { basename, dirname, resolve } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { FileFacts } from "../../src/domain/system.ts";
import type { PathFacts } from "../../src/domain/stores.ts";
import { temporaryPathOf } from "../../src/shared/regular_file.ts";

/** A file, a directory, or a symlink. */
export interface Node {
  readonly kind: "file" | "directory" | "symlink" | "other";
  bytes: Uint8Array;
  /** The target of a symlink. */
  readonly target: string;
  mode: number;
  ownerId: number;
  modifiedAtMs: number;
  /** What SQLite has written to the file; `null`: nothing. */
  database: DatabaseSync | null;
  /** What is wrong with the database. */
  damage: "header" | "tables" | null;
  /** Called when it is no longer at its path. */
  onGone: () => void;
}

export interface MemoryFilesOptions {
  readonly userId: number;
  /** The wall time of the machine. */
  nowMs(): number;
}

const EMPTY = new Uint8Array();
const UMASK = 0o022;
const [READ, WRITE, ENTER] = [4, 2, 1];

/**
 * The file system of a machine. Every method is done at once, and throws what the runtime throws. The user may do what
 * the permissions allow; the machine itself (`put`, `edit`, `textOf`) may do everything.
 */
export class MemoryFiles {
  readonly #nodes = new Map<string, Node>();
  readonly #options: MemoryFilesOptions;
  /** Whether the disk accepts no more bytes. */
  isFull = false;
  /** Whether nothing on the disk can be changed. */
  isReadOnly = false;

  constructor(options: MemoryFilesOptions) {
    this.#options = options;
    this.#nodes.set("/", this.#create("directory", { ownerId: 0, mode: 0o755 }));
  }

  /** Makes or replaces a file, and the directories above it, as an administrator does. */
  put(path: string, content: string | Uint8Array, { mode = 0o600 }: { readonly mode?: number } = {}): void {
    this.makeDirectory(dirname(path));
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const old = this.#nodes.get(path);
    this.#nodes.set(path, this.#create("file", { bytes, mode: old?.mode ?? mode }));
    old?.onGone();
  }

  makeDirectory(path: string, mode = 0o755): void {
    if (this.#nodes.has(path)) return;
    this.makeDirectory(dirname(path), mode);
    this.#nodes.set(path, this.#create("directory", { mode }));
  }

  link(path: string, target: string): void {
    this.#nodes.set(path, this.#create("symlink", { target }));
  }

  has(path: string): boolean {
    return this.#nodes.has(path);
  }

  delete(path: string): void {
    for (const [other, { onGone }] of this.#nodes) {
      if (other !== path && !other.startsWith(`${path}/`)) continue;
      this.#nodes.delete(other);
      onGone();
    }
  }

  textOf(path: string): string {
    return new TextDecoder().decode(this.node(path).bytes);
  }

  /** The file itself, whatever its permissions. */
  node(path: string): Node {
    return this.#find(path).node;
  }

  setMode(path: string, mode: number): void {
    this.node(path).mode = mode;
  }

  facts(path: string): FileFacts {
    const { node } = this.#enter(path);
    const { mode, ownerId, modifiedAtMs } = node;
    const kind = node.kind === "symlink" ? "other" : node.kind;
    return { kind, sizeBytes: sizeOf(node), modifiedAtMs, mode, ownerId };
  }

  /** The file at a path, a symlink as such; `null` if there is none. */
  look(path: string): PathFacts | null {
    let node: Node | undefined;
    try {
      const directory = this.#find(dirname(path)).path;
      this.#mayEnter(directory);
      node = this.#nodes.get(resolve(directory, basename(path)));
    } catch (error) {
      // Nothing is in a directory that is not there.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    return node === undefined ? null : { kind: node.kind, sizeBytes: sizeOf(node), ownerId: node.ownerId };
  }

  read(path: string): Uint8Array {
    const { node } = this.#enter(path);
    if (node.kind === "directory") throw failure("EISDIR", `Is a directory (os error 21): open '${path}'`);
    this.#may(node, READ, path);
    return node.database === null || node.damage === "header" ? node.bytes : headerOf(node.database);
  }

  list(directory: string): readonly string[] {
    const { path, node } = this.#enter(directory);
    if (node.kind !== "directory") {
      throw failure("ENOTDIR", `Not a directory (os error 20): readdir '${directory}'`);
    }
    this.#may(node, READ, directory);
    const start = path === "/" ? path : `${path}/`;
    return [...this.#nodes.keys()].filter((other) => other.startsWith(start) && other !== path)
      .map((other) => other.slice(start.length)).filter((name) => !name.includes("/"));
  }

  realPath(path: string): string {
    return this.#enter(path).path;
  }

  touch(path: string): void {
    const found = this.#nodes.get(path);
    if (found === undefined) return void this.create(path, { mode: 0o666 & ~UMASK });
    this.#change(path, this.node(path)).modifiedAtMs = this.#options.nowMs();
  }

  /** Makes an empty file, or one with a content; fails if there is anything. */
  create(
    path: string,
    { mode, bytes = EMPTY }: { readonly mode: number; readonly bytes?: Uint8Array },
  ): void {
    const directory = this.#mayEnter(dirname(path));
    if (this.#nodes.has(path)) {
      throw new Deno.errors.AlreadyExists(`File exists (os error 17): open '${path}'`);
    }
    this.#change(dirname(path), directory);
    if (bytes.length > 0) this.#needSpace(path);
    this.#nodes.set(path, this.#create("file", { bytes, mode }));
  }

  createDirectory(path: string): void {
    if (this.#nodes.has(path)) return;
    this.createDirectory(dirname(path));
    this.#change(dirname(path), this.#mayEnter(dirname(path)));
    this.#nodes.set(path, this.#create("directory", { mode: 0o700 }));
  }

  write(path: string, text: string, { overwrite }: { readonly overwrite: boolean }): void {
    const bytes = new TextEncoder().encode(text);
    if (!overwrite || !this.#nodes.has(path)) {
      return void this.create(path, { mode: 0o666 & ~UMASK, bytes });
    }
    const node = this.#change(path, this.#enter(path).node);
    this.#needSpace(path);
    node.bytes = bytes;
    node.modifiedAtMs = this.#options.nowMs();
  }

  replace(path: string, text: string): void {
    this.#putInPlace(path, text, 0o666 & ~UMASK);
  }

  rewrite(path: string, edit: (stored: Uint8Array) => string): void {
    const target = this.realPath(path);
    const { mode } = this.node(target);
    this.#putInPlace(target, edit(this.read(target)), mode);
  }

  rename(from: string, to: string): void {
    const directory = this.#mayEnter(dirname(from));
    const node = this.#nodes.get(from);
    if (node === undefined) throw notFound(from);
    this.#change(dirname(from), directory);
    const old = this.#nodes.get(to);
    this.#nodes.delete(from);
    this.#nodes.set(to, node);
    node.onGone();
    old?.onGone();
  }

  #putInPlace(path: string, text: string, mode: number): void {
    const temporary = temporaryPathOf(path);
    this.#change(dirname(path), this.#mayEnter(dirname(path)));
    this.#nodes.delete(temporary);
    this.create(temporary, { mode, bytes: new TextEncoder().encode(text) });
    this.rename(temporary, path);
  }

  /** Fails as writing does if there is no space, and as changing does if the disk is read-only. */
  #needSpace(path: string): void {
    if (this.isFull) throw failure("ENOSPC", `No space left on device (os error 28): open '${path}'`);
  }

  #change(path: string, node: Node): Node {
    if (this.isReadOnly) throw failure("EROFS", `Read-only file system (os error 30): open '${path}'`);
    this.#may(node, WRITE, path);
    return node;
  }

  #may(node: Node, access: number, path: string): void {
    if (!this.allows(node, access)) {
      throw new Deno.errors.PermissionDenied(`Permission denied (os error 13): open '${path}'`);
    }
  }

  /** Whether the user of the machine may read (4), write (2) or enter (1) a file. */
  allows({ mode, ownerId }: Node, access: number): boolean {
    const { userId } = this.#options;
    const bits = userId === ownerId ? mode >> 6 : mode;
    return userId === 0 || (bits & access) === access;
  }

  /** Goes to a path as the user: each directory on the way must be one that they may enter. */
  #enter(path: string): { readonly path: string; readonly node: Node } {
    const found = this.#find(path);
    this.#mayEnter(dirname(found.path));
    return found;
  }

  #mayEnter(directory: string): Node {
    if (directory !== "/") this.#mayEnter(dirname(directory));
    const { node } = this.#find(directory);
    if (node.kind !== "directory") {
      throw failure("ENOTDIR", `Not a directory (os error 20): stat '${directory}'`);
    }
    this.#may(node, ENTER, directory);
    return node;
  }

  #find(path: string, linksLeft = 10): { readonly path: string; readonly node: Node } {
    const direct = this.#nodes.get(path);
    if (direct !== undefined && direct.kind !== "symlink") return { path, node: direct };
    const absolute = resolve("/", path);
    const node = this.#nodes.get(absolute);
    if (node?.kind === "symlink" && linksLeft > 0) {
      return this.#find(resolve(dirname(absolute), node.target), linksLeft - 1);
    }
    if (node !== undefined) return { path: absolute, node };
    // One of its directories may be a symlink.
    if (absolute === "/" || linksLeft === 0) throw notFound(path);
    const { path: directory } = this.#find(dirname(absolute), linksLeft - 1);
    if (directory === dirname(absolute)) throw notFound(path);
    return this.#find(`${directory}/${basename(absolute)}`, linksLeft - 1);
  }

  #create(kind: Node["kind"], facts: Partial<Node>): Node {
    return {
      kind,
      bytes: EMPTY,
      target: "",
      mode: 0o600,
      ownerId: this.#options.userId,
      modifiedAtMs: this.#options.nowMs(),
      database: null,
      damage: null,
      onGone: () => {},
      ...facts,
    };
  }
}

function notFound(path: string): Error {
  return new Deno.errors.NotFound(`No such file or directory (os error 2): open '${path}'`);
}

/** An error with the system's code, as the runtime makes it. */
export function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The size of a page of a database. */
const PAGE_BYTES = 4096;

function sizeOf({ kind, bytes, database }: Node): number {
  if (kind === "directory") return PAGE_BYTES;
  if (database === null) return bytes.length;
  // One whose first transaction did not end is empty.
  return PAGE_BYTES * pragmaOf(database, "page_count");
}

/** The statements of each database, which all its connections share. */
const STATEMENTS = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** Returns the statement of a text. */
export function prepared(database: DatabaseSync, sql: string): StatementSync {
  let statements = STATEMENTS.get(database);
  if (statements === undefined) STATEMENTS.set(database, statements = new Map());
  let statement = statements.get(sql);
  if (statement === undefined) statements.set(sql, statement = database.prepare(sql));
  return statement;
}

function pragmaOf(database: DatabaseSync, name: string): number {
  return Number(prepared(database, `PRAGMA ${name}`).get()?.[name]);
}

const HEADER_BYTES = 100;
const USER_VERSION_OFFSET = 60;
const APPLICATION_ID_OFFSET = 68;

/** The beginning of a database's file (sqlite.org/fileformat2.html, section 1.3). */
function headerOf(database: DatabaseSync): Uint8Array {
  const header = new Uint8Array(HEADER_BYTES);
  header.set(new TextEncoder().encode("SQLite format 3\0"));
  const view = new DataView(header.buffer);
  view.setUint32(USER_VERSION_OFFSET, pragmaOf(database, "user_version"));
  view.setUint32(APPLICATION_ID_OFFSET, pragmaOf(database, "application_id"));
  return header;
}
