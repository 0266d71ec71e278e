import { pause } from "../../shared/deadline.ts";
import type { Clock } from "../../domain/clock.ts";

/** A text that was rendered, with its validator for browsers. */
interface Rendered {
  readonly bytes: Uint8Array;
  /** With its quotes (RFC 9110, section 8.8.3). */
  readonly etag: string;
}

interface Entry {
  readonly rendered: Promise<Rendered>;
  /** Monotonic time until which it is sent again; `Infinity` while it is being rendered. */
  validUntilMs: number;
}

const VALID_MS = 1_000;
/** A text that took longer to render is sent again for longer, so that rendering costs 5 % of the time at most. */
const VALID_TIMES = 20;
const ENTRIES_MAX = 32;

/**
 * Renders texts one at a time, and sends each for some time. After each, a pause as long as that took leaves the thread to the
 * checks, however many clients ask for however many texts.
 */
export class RenderCache {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the text of a key, rendered lately or now. */
  get(key: string, render: () => Promise<string>): Promise<Rendered> {
    const found = this.#entries.get(key);
    if (found !== undefined && this.#clock.monotonicMs() < found.validUntilMs) return found.rendered;
    const turn = this.#last.then(() => this.#render(render));
    const rendered = turn.then(({ text }) => ({
      bytes: new TextEncoder().encode(text),
      etag: `"${this.#clock.wallMs().toString(36)}-${this.#count++}"`,
    }));
    const entry: Entry = { rendered, validUntilMs: Infinity };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    this.#last = turn.then(({ tookMs }) => {
      entry.validUntilMs = this.#clock.monotonicMs() + Math.max(VALID_MS, VALID_TIMES * tookMs);
      return pause(this.#clock, tookMs);
    }, () => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    this.#limit();
    return rendered;
  }

  /** Drops every text: its inputs have changed. */
  clear(): void {
    this.#entries.clear();
  }

  async #render(render: () => Promise<string>): Promise<{ readonly text: string; readonly tookMs: number }> {
    const beganMs = this.#clock.monotonicMs();
    const text = await render();
    return { text, tookMs: this.#clock.monotonicMs() - beganMs };
  }

  #limit(): void {
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= ENTRIES_MAX) return;
      this.#entries.delete(key);
    }
  }
}
