/** The rows of a page from one rendering to the next, so that a rendering and an update cost only those that changed. */
import type { Markup } from "../markup.ts";
import type { PageCheck } from "./snapshot.ts";

/** A row, in the version in which it last changed. */
export interface PageRow {
  readonly name: string;
  readonly html: string;
  readonly version: number;
}

interface Kept extends PageRow {
  readonly status: PageCheck;
}

export class PageRows {
  readonly #kept = new Map<string, Kept>();
  #version = 0;

  /** Begins a rendering. */
  begin(): number {
    return ++this.#version;
  }

  /** Returns the row of a check, which is rendered only if it may have changed. */
  get(status: PageCheck, render: () => Markup): PageRow {
    const { name } = status.check;
    const kept = this.#kept.get(name);
    if (kept !== undefined && isSame(status, kept.status)) return kept;
    const html = render().toString();
    const version = kept?.html === html ? kept.version : this.#version;
    const row = { name, html, version, status };
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
