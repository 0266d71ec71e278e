/** The rows of a page from one rendering to the next, so that a rendering and an update cost only those that changed. */
import { type Markup, markup } from "../markup.ts";
import { rowId } from "./render_check.ts";
import type { PageCheck, PageHistory } from "./snapshot.ts";
import { DAY_MS, HOUR_MS } from "../../shared/time_units.ts";

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

export class PageRows {
  readonly #kept = new Map<string, PageRow & { readonly status: PageCheck }>();
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

interface KeptHistory {
  readonly status: PageCheck;
  readonly history: PageHistory;
  readonly readAtMs: number;
  readonly untilMs: number;
}

/**
 * The histories of checks without details: reading those of ten thousand takes seconds. One is read again after a change of
 * its check, after a run that failed, on another day, and within an hour, spread so that not all are due together.
 */
export class PageHistories {
  readonly #kept = new Map<string, KeptHistory>();
  #reads = 0;

  /** Returns a history that still holds; `null`: it has to be read. */
  get(status: PageCheck, nowMs: number): PageHistory | null {
    const kept = this.#kept.get(status.check.name);
    if (kept === undefined || nowMs >= kept.untilMs || nowMs < kept.readAtMs) return null;
    if (Math.floor(nowMs / DAY_MS) !== Math.floor(kept.readAtMs / DAY_MS)) return null;
    return holds(status, kept.status) ? kept.history : null;
  }

  keep(status: PageCheck, history: PageHistory, nowMs: number): void {
    const spread = (this.#reads++ % SPREAD) / SPREAD;
    const untilMs = nowMs + HOUR_MS * (1 + spread) / 2;
    this.#kept.set(status.check.name, { status, history, readAtMs: nowMs, untilMs });
  }
}

const SPREAD = 360;

function holds({ record, condition, state }: PageCheck, before: PageCheck): boolean {
  if (condition !== before.condition || state !== before.state) return false;
  if (record === before.record) return true;
  return record?.last?.condition === "ok" && before.record?.last?.condition === "ok" &&
    record.condition.confirmedSinceMs === before.record.condition.confirmedSinceMs;
}
