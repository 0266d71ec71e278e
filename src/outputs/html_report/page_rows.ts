/** The rows of a page from one rendering to the next, so that a rendering and an update cost only those that changed. */
import { type Markup, markup } from "../markup.ts";
import { rowId } from "./render_check.ts";
import type { PageCheck } from "./snapshot.ts";

/** A row, in the version in which it last changed. */
export interface PageRow {
  readonly id: string;
  readonly html: string;
  readonly version: number;
}

/** A text of a page. */
export type PagePiece = string | PageRow;

export function pieceText(piece: PagePiece): string {
  return typeof piece === "string" ? piece : piece.html;
}

/** Returns a piece for a client that has the page of a version: a row that is the same is empty. */
export function newerText(piece: PagePiece, version: number): string {
  if (typeof piece === "string" || piece.version > version) return pieceText(piece);
  return markup`<li id="${piece.id}">`.toString();
}

interface Kept extends PageRow {
  readonly status: PageCheck;
}

export class PageRows {
  readonly #kept = new Map<string, Kept>();
  readonly #id: string;
  #version = 0;

  /** The id differs from that of any earlier rows. */
  constructor(id: string) {
    this.#id = id;
  }

  /** Begins a rendering, and returns its version. */
  begin(): string {
    return `${this.#id}-${++this.#version}`;
  }

  /** Returns the number of a version; `null`: it is none of these rows. */
  numberOf(version: string): number | null {
    const number = version.startsWith(`${this.#id}-`) ? Number(version.slice(this.#id.length + 1)) : NaN;
    return number <= this.#version ? number : null;
  }

  /** Returns the row of a check, which is rendered only if it may have changed. */
  get(status: PageCheck, render: () => Markup): PageRow {
    const { name } = status.check;
    const kept = this.#kept.get(name);
    if (kept !== undefined && isSame(status, kept.status)) return kept;
    const html = render().toString();
    const version = kept?.html === html ? kept.version : this.#version;
    const row = { id: kept?.id ?? rowId(name), html, version, status };
    this.#kept.set(name, row);
    return row;
  }
}

/** Returns whether a row is the same. A row with details, or of a problem, has times that pass. */
function isSame(status: PageCheck, other: PageCheck): boolean {
  return status.condition === "ok" && other.condition === "ok" && !status.isDetailed && !other.isDetailed &&
    status.record === other.record && status.days === other.days && status.state === other.state &&
    status.maintenance === null && other.maintenance === null && status.isSilenced === other.isSilenced;
}
