/** Removes secrets from texts that came from outside, in each form in which they may have been echoed. */
import type { CapturedText, Processes } from "../domain/processes.ts";
import { lazily } from "./lazily.ts";
import {
  BLANK,
  createBase64Reader,
  createTextReader,
  ESCAPE_LENGTH_MAX,
  isCutEscape,
  isInvisible,
  type ReadUnit,
  type ReadUnits,
  SKIPPED,
  unitsOf,
} from "./secret_units.ts";

const REDACTED = "[secret]";

/** Shorter values are common words and parts of numbers: to hide them would tear up most texts. */
export const SECRET_LENGTH_MIN = 4;

/**
 * Removes secrets from a text. Call it with the text as it was received: splitting, trimming, truncating or escaping
 * may hide a part of a secret from it; `isCut` if its end was truncated. Redacting twice is safe.
 */
export type Redact = (text: string, options?: { readonly isCut?: boolean }) => string;

export function redactProcesses(processes: Processes, redact: Redact): Processes {
  return {
    run: async (command, signal) => {
      const end = await processes.run(command, signal);
      if (end.ended === "not_started") return end;
      // A terminated process may have been writing.
      const isEnded = end.ended !== "exited";
      const without = ({ text, truncated }: CapturedText): CapturedText => ({
        text: redact(text, { isCut: truncated || isEnded }),
        truncated,
      });
      return { ...end, stdout: without(end.stdout), stderr: without(end.stderr) };
    },
  };
}

/** Returns whether a value is long enough to be taken out of texts: 4 visible characters, blanks at its ends apart. */
export function isRedactable(secret: string): boolean {
  const visible = [...secret.trim()].filter((character) => !isInvisible(character.codePointAt(0) ?? 0));
  return visible.length >= SECRET_LENGTH_MIN;
}

/**
 * Returns a function that removes secrets from texts. Each is found as it is, by the line if it has several, with
 * other white space, without its invisible characters, with all or some characters escaped as in URLs, JSON and HTML,
 * and in base64. The first four characters or more of one are removed in front of an ellipsis and at the truncated
 * end of the text.
 *
 * One pass finds all of them, so the time depends on the length of the text alone.
 */
export function createRedactor(secrets: Iterable<string>): Redact {
  const texts = new Set<string>();
  const encoded = new Set<string>();
  for (const secret of secrets) {
    for (const text of [secret, ...secret.split(/\r?\n/)]) if (isRedactable(text)) texts.add(text.trim());
    if (!isRedactable(secret)) continue;
    for (const text of [secret, secret.trim()]) encoded.add(new TextEncoder().encode(text).toBase64());
  }
  if (texts.size === 0) return (text) => text;
  const createAutomata = lazily(() => ({
    texts: new SecretAutomaton(
      [...texts].flatMap((text) => [false, true].map((withBlanks) => unitsOf(text, { withBlanks }))),
    ),
    encoded: new SecretAutomaton(
      [...encoded].flatMap((text) => [text, text.replace(/=+$/, "")]).map((text) => unitsOf(text, NO_BLANKS)),
    ),
  }));
  return (text, { isCut = false } = {}) => {
    const automata = createAutomata();
    const whole = { text, isCut };
    return hide(text, [
      ...findSpans(whole, automata.texts, createTextReader(text)),
      ...findSpans(whole, automata.encoded, createBase64Reader(text)),
    ]);
  };
}

const NO_BLANKS = { withBlanks: false };

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Hides spans; those that overlap are one. */
function hide(text: string, spans: readonly Span[]): string {
  const joined: Span[] = [];
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    const last = joined.at(-1);
    if (last === undefined || start >= last.end) joined.push({ start, end });
    else joined[joined.length - 1] = { start: last.start, end: Math.max(last.end, end) };
  }
  const parts = joined.map(({ start }, index) => text.slice(joined[index - 1]?.end ?? 0, start) + REDACTED);
  return parts.join("") + text.slice(joined.at(-1)?.end ?? 0);
}

interface Whole {
  readonly text: string;
  readonly isCut: boolean;
}

/** One way to read the text so far, as the last of its units. */
interface Path {
  readonly node: number;
  /** Where its last unit begins. */
  readonly from: number;
  /** What was read before; `null`: nothing that belongs to the secret. */
  readonly before: Path | null;
  /** The secret that ends here; `null`: none does. */
  readonly found: { readonly start: number; readonly length: number } | null;
}

/** More ways to read the same characters are none of a sane text: it is hidden from there on. */
const PATHS_MAX = 32;

const NO_PATHS: readonly Path[] = [];

/** Finds the secrets of an automaton, all in one pass. A character may be read in several ways, so there are several paths. */
function findSpans({ text, isCut }: Whole, automaton: SecretAutomaton, read: ReadUnits): readonly Span[] {
  const spans: Span[] = [];
  const marks = positionsIn(text, REDACTED);
  const begins = automaton.begins;
  const waiting = new Map<number, Path[]>();
  const wait = (path: Path, end: number): void => {
    const paths = waiting.get(end);
    if (paths === undefined) waiting.set(end, [path]);
    else if (!paths.some(({ node }) => node === path.node)) paths.push(path);
  };
  for (let at = 0; at <= text.length; at++) {
    const code = text.charCodeAt(at);
    // Most positions of most texts.
    if (waiting.size === 0 && begins[code] === 0) continue;
    const paths = waiting.get(at) ?? NO_PATHS;
    waiting.delete(at);
    if (paths.length > PATHS_MAX) {
      const starts = paths.map((path) => startOf(path, automaton.depth(path.node)));
      return [...spans, { start: Math.min(...starts), end: text.length }];
    }
    for (const path of paths) {
      const length = automaton.depth(path.node);
      const end = length < SECRET_LENGTH_MIN ? null : cutAfter({ text, isCut }, at);
      const start = end === null ? at : startOf(path, length);
      if (end !== null && !marks.has(start)) spans.push({ start, end });
    }
    if (at === text.length) break;
    for (const { unit, end } of read(at)) {
      for (const path of paths) {
        const isKept = unit === SKIPPED || unit === BLANK && automaton.isLast(path.node, BLANK);
        if (isKept) wait(path, end);
        else step(path, { unit, from: at, end });
      }
      if (paths.length === 0 && unit !== SKIPPED) step(null, { unit, from: at, end });
    }
  }
  return spans;

  function step(before: Path | null, { unit, from, end }: ReadUnit & { readonly from: number }): void {
    const node = automaton.next(before?.node ?? SecretAutomaton.ROOT, unit);
    if (node === SecretAutomaton.ROOT) return;
    const path = { node, from, before: automaton.depth(node) > 1 ? before : null, found: null };
    const found = findHere(path);
    if (found !== null) spans.push({ start: found.start, end });
    wait({ ...path, found }, end);
  }

  function findHere(path: Path): Path["found"] {
    for (
      let node = automaton.foundAt(path.node);
      node !== SecretAutomaton.ROOT;
      node = automaton.shorter(node)
    ) {
      const length = automaton.depth(node);
      const last = path.before?.found ?? null;
      // It continues the secret that ended one unit before, so that long ones are not walked through again.
      const start = last !== null && length > 1 && length <= last.length + 1
        ? last.start
        : startOf(path, length);
      if (!marks.has(start)) return { start, length };
    }
    return null;
  }
}

function startOf(path: Path, length: number): number {
  let first = path;
  for (let count = 1; count < length && first.before !== null; count++) first = first.before;
  return first.from;
}

/** Where a text ends that was cut at a position, or within an escape sequence there; `null`: it goes on. */
function cutAfter({ text, isCut }: Whole, position: number): number | null {
  const near = text.slice(position, position + ESCAPE_LENGTH_MAX);
  const ellipsis = near.indexOf("…");
  const isLast = ellipsis < 0 && isCut && position + near.length === text.length;
  if (ellipsis < 0 && !isLast) return null;
  const rest = isLast ? near : near.slice(0, ellipsis);
  return isCutEscape(rest) ? position + rest.length : null;
}

function positionsIn(text: string, part: string): ReadonlySet<number> {
  const positions = new Set<number>();
  for (let start = text.indexOf(part); start >= 0; start = text.indexOf(part, start + part.length)) {
    for (let offset = 0; offset < part.length; offset++) positions.add(start + offset);
  }
  return positions;
}

/**
 * Finds many sequences of units in one pass: a trie with failure links (A. V. Aho and M. J. Corasick, "Efficient string
 * matching", 1975). A node stands for the units from the root to it, a failure link for the longest end of these that is
 * a beginning too. There may be millions of nodes, so they are numbers in arrays.
 */
class SecretAutomaton {
  static readonly ROOT = 0;
  /** By code of ASCII: 0 where neither a sequence nor another spelling of its first unit begins. */
  readonly begins: Uint8Array;
  /** Small numbers of the units that occur. */
  readonly #ids = new Map<number, number>();
  readonly #parents: Int32Array;
  readonly #lastIds: Int32Array;
  readonly #depths: Int32Array;
  readonly #failures: Int32Array;
  /** The longest sequence that ends at a node, as its own node; the root: none does. */
  readonly #found: Int32Array;
  /** A hash table of the nodes by their parent and last unit; 0 is an empty place. */
  readonly #table: Int32Array;
  /** Where units lead that no edge of a node has, if the way by the failure links is long. */
  readonly #shortcuts = new Map<number, number>();

  constructor(sequences: Iterable<readonly number[]>) {
    // In order, each sequence begins like the one before it, so that the size is known in advance.
    const sorted = [...sequences].sort(compareUnits);
    const sharedLengths = sorted.map((units, index) => sharedLength(units, sorted[index - 1] ?? []));
    const size = sorted.reduce((sum, { length }, index) => sum + length - (sharedLengths[index] ?? 0), 1);
    const numbers = (length = size): Int32Array => new Int32Array(length);
    [this.#parents, this.#lastIds, this.#depths] = [numbers(), numbers(), numbers()];
    [this.#failures, this.#found] = [numbers(), numbers()];
    this.#table = numbers(2 ** Math.ceil(Math.log2(2 * size)));
    this.#lastIds[0] = -1;
    let count = 1;
    const line = [SecretAutomaton.ROOT];
    for (const [index, units] of sorted.entries()) {
      line.length = 1 + (sharedLengths[index] ?? 0);
      for (const unit of units.slice(line.length - 1)) {
        line.push(this.#addNode(count++, line.at(-1) ?? 0, unit));
      }
      const last = line.at(-1) ?? 0;
      this.#found[last] = last;
    }
    this.#link(size);
    this.begins = Uint8Array.from(
      { length: 128 },
      (_, code) =>
        Number("%\\&-_".includes(String.fromCharCode(code)) || this.next(SecretAutomaton.ROOT, code) > 0),
    );
  }

  next(node: number, unit: number): number {
    const id = this.#ids.get(unit);
    return id === undefined ? SecretAutomaton.ROOT : this.#next(node, id);
  }

  depth(node: number): number {
    return this.#depths[node] ?? 0;
  }

  /** Returns the node of the longest sequence that ends at a node, itself too; the root: none. */
  foundAt(node: number): number {
    return this.#found[node] ?? 0;
  }

  /** Returns the node of the next shorter sequence that ends there; the root: none. */
  shorter(node: number): number {
    return this.foundAt(this.#failures[node] ?? 0);
  }

  isLast(node: number, unit: number): boolean {
    return this.#lastIds[node] === this.#ids.get(unit);
  }

  #addNode(node: number, parent: number, unit: number): number {
    let id = this.#ids.get(unit);
    if (id === undefined) this.#ids.set(unit, id = this.#ids.size);
    this.#parents[node] = parent;
    this.#lastIds[node] = id;
    const depth = this.depth(parent) + 1;
    this.#depths[node] = depth;
    if (depth >= CERTAIN_LENGTH) this.#found[node] = node;
    this.#table[this.#placeOf(parent, id)] = node;
    return node;
  }

  /** The place in the table of a child, or where it would be. */
  #placeOf(parent: number, id: number): number {
    const mask = this.#table.length - 1;
    let place = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(id + 1, 0x85ebca6b)) >>> 7 & mask;
    for (let node = this.#table[place]; node !== undefined && node !== 0; node = this.#table[place]) {
      if (this.#parents[node] === parent && this.#lastIds[node] === id) break;
      place = (place + 1) & mask;
    }
    return place;
  }

  #link(size: number): void {
    const nodes = new Int32Array(size - 1);
    const places = new Int32Array(this.#depths.reduce((most, depth) => Math.max(most, depth), 0) + 1);
    for (const depth of this.#depths.subarray(1)) places[depth] = (places[depth] ?? 0) + 1;
    // Where the nodes of each depth begin.
    let sum = 0;
    for (let depth = 1; depth < places.length; depth++) {
      const count = places[depth] ?? 0;
      places[depth] = sum;
      sum += count;
    }
    for (let node = 1; node < size; node++) {
      const depth = this.depth(node);
      const place = places[depth] ?? 0;
      nodes[place] = node;
      places[depth] = place + 1;
    }
    for (const node of nodes) {
      const parent = this.#parents[node] ?? 0;
      const failure = parent === SecretAutomaton.ROOT
        ? SecretAutomaton.ROOT
        : this.#next(this.#failures[parent] ?? 0, this.#lastIds[node] ?? -1);
      this.#failures[node] = failure;
      if (this.#found[node] === 0) this.#found[node] = this.foundAt(failure);
    }
  }

  #next(from: number, id: number): number {
    let node = from;
    for (let steps = 0; steps < SHORT_WAY; steps++) {
      const child = this.#table[this.#placeOf(node, id)] ?? 0;
      if (child !== 0 || node === SecretAutomaton.ROOT) return child;
      node = this.#failures[node] ?? 0;
    }
    return this.#nextByLongWay(node, id);
  }

  /** Remembers the result for all nodes on the way, so that no text makes it go the same way again and again. */
  #nextByLongWay(from: number, id: number): number {
    const visited: number[] = [];
    for (let node = from;; node = this.#failures[node] ?? 0) {
      const key = node * this.#ids.size + id;
      const to = this.#shortcuts.get(key) ?? this.#table[this.#placeOf(node, id)] ?? 0;
      if (to === 0 && node !== SecretAutomaton.ROOT && !this.#shortcuts.has(key)) {
        visited.push(key);
        continue;
      }
      if (this.#shortcuts.size > SHORTCUTS_MAX) this.#shortcuts.clear();
      for (const one of visited) this.#shortcuts.set(one, to);
      return to;
    }
  }
}

/** A text that agrees with so many units of a secret has the secret in it, even if it goes on otherwise. */
const CERTAIN_LENGTH = 256;

const SHORT_WAY = 16;
const SHORTCUTS_MAX = 1_000_000;

function compareUnits(one: readonly number[], other: readonly number[]): number {
  const length = sharedLength(one, other);
  return (one[length] ?? -1) - (other[length] ?? -1);
}

function sharedLength(one: readonly number[], other: readonly number[]): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}
