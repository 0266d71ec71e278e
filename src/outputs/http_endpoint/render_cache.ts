import type { Clock } from "../../domain/clock.ts";
import { pause } from "../../shared/deadline.ts";
import { joinBytes } from "../../shared/text.ts";
import { type PagePiece, pieceText } from "../html_report/page_rows.ts";

/** Makes a text: whole, or in parts with pauses, with a call for the time that each step of work took. */
export type Render = (
  onWork: (workMs: number) => void,
) => Promise<string> | AsyncIterable<readonly PagePiece[]>;

export interface RenderedPart {
  readonly pieces: readonly PagePiece[];
  readonly bytes: Uint8Array;
}

/** Thrown for a text that was not rendered, since too many others were asked for after it. */
export class TooManyTextsError extends Error {
  override readonly name = "TooManyTextsError";
}

/** A text that is rendered, or being rendered, with its validator for browsers. */
class Rendering {
  /** With its quotes (RFC 9110, section 8.8.3). */
  readonly etag: string;
  #parts: RenderedPart[] = [];
  readonly #begun = Promise.withResolvers<void>();
  #next = Promise.withResolvers<void>();
  #state: "rendering" | "whole" | { readonly error: unknown } = "rendering";

  constructor(etag: string) {
    this.etag = etag;
    // It may reject before a client waits for it.
    this.#begun.promise.catch(() => {});
  }

  /** Resolves with the first part. Rejects if there is none. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Rejects with the error of the text. */
  async run(render: Render, onWork: (workMs: number) => void): Promise<void> {
    try {
      const made = render(onWork);
      if (made instanceof Promise) this.#add([await made]);
      else for await (const pieces of made) this.#add(pieces);
      this.#state = "whole";
      // One part, so that all clients share its bytes, however slowly they read.
      const [pieces, bytes] = [
        this.#parts.flatMap((part) => part.pieces),
        this.#parts.map((part) => part.bytes),
      ];
      this.#parts = [{ pieces, bytes: joinBytes(bytes) }];
    } catch (error) {
      this.#state = { error };
      this.#begun.reject(error);
      throw error;
    } finally {
      this.#next.resolve();
    }
  }

  /** Rejects those who wait for a text that is not rendered. */
  refuse(): void {
    const error = new TooManyTextsError("too many other texts were asked for");
    this.#state = { error };
    this.#begun.reject(error);
  }

  /** Returns the body of a response; while it is being rendered, in parts. */
  body(bytesOf: (part: RenderedPart) => Uint8Array): Uint8Array | AsyncIterable<Uint8Array> {
    const [part] = this.#parts;
    return this.#state === "whole" && part !== undefined ? bytesOf(part) : this.#follow(bytesOf);
  }

  async *#follow(bytesOf: (part: RenderedPart) => Uint8Array): AsyncGenerator<Uint8Array> {
    const parts = this.#parts;
    for (let index = 0;; index++) {
      while (index >= parts.length) {
        if (this.#state === "whole") return;
        if (typeof this.#state === "object") throw this.#state.error;
        await this.#next.promise;
      }
      const part = parts[index];
      if (part !== undefined) yield bytesOf(part);
    }
  }

  #add(pieces: readonly PagePiece[]): void {
    this.#parts.push({ pieces, bytes: new TextEncoder().encode(pieces.map(pieceText).join("")) });
    this.#begun.resolve();
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }
}

interface Entry {
  readonly rendering: Rendering;
  /** Monotonic time until which it is sent again; `Infinity` while it is being rendered. */
  validUntilMs: number;
}

const VALID_MS = 1_000;
/** A text that took longer to render is sent again for longer, so that rendering costs some 5 % of the time. */
const VALID_TIMES = 20;
/** The first page of many checks takes much longer than those after it. */
const VALID_MS_MAX = 30_000;
const ENTRIES_MAX = 32;
/** The server has no more connections, so no client waits for the oldest text. */
const WAITING_MAX = 256;

/**
 * Renders texts one at a time, and sends each for some time. After each, a pause as long as that took leaves the thread to the
 * checks, however many clients ask for however many texts.
 */
export class RenderCache {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting = new Set<Rendering>();
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the text of a key, rendered lately or now, once it has begun. */
  async get(key: string, render: Render): Promise<Rendering> {
    const found = this.#entries.get(key);
    const { rendering } = found !== undefined && this.#clock.monotonicMs() < found.validUntilMs
      ? found
      : this.#begin(key, render);
    await rendering.begun;
    return rendering;
  }

  /** Drops every text: its inputs have changed. */
  clear(): void {
    this.#entries.clear();
  }

  #begin(key: string, render: Render): Entry {
    const rendering = new Rendering(`"${this.#clock.wallMs().toString(36)}-${this.#count++}"`);
    const entry: Entry = { rendering, validUntilMs: Infinity };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#waiting.add(rendering);
    this.#last = this.#last.then(async () => {
      if (!this.#waiting.delete(rendering)) return;
      const beganMs = this.#clock.monotonicMs();
      let workMs = 0;
      try {
        await rendering.run(render, (stepMs) => workMs += stepMs);
      } catch {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
        return;
      }
      const tookMs = workMs || this.#clock.monotonicMs() - beganMs;
      const validMs = Math.min(VALID_MS_MAX, Math.max(VALID_MS, VALID_TIMES * tookMs));
      entry.validUntilMs = this.#clock.monotonicMs() + validMs;
      await pause(this.#clock, tookMs);
    });
    this.#limit();
    const [oldest] = this.#waiting;
    if (this.#waiting.size > WAITING_MAX && oldest !== undefined) {
      this.#waiting.delete(oldest);
      oldest.refuse();
    }
    return entry;
  }

  #limit(): void {
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= ENTRIES_MAX) return;
      this.#entries.delete(key);
    }
  }
}
