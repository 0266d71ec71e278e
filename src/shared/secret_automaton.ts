/**
 * Finds many sequences of units in one pass: a trie with failure links (A. V. Aho and M. J. Corasick, "Efficient string
 * matching", 1975). A node stands for the units from the root to it, a failure link for the longest end of these that is
 * a beginning too. There may be millions of nodes, so they are numbers in arrays.
 */
export class SecretAutomaton {
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
