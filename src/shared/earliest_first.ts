/** What comes at a time; of those of one time, the one with the lower order comes first. */
export interface Timed {
  readonly atMs: number;
  readonly order: number;
}

/** A binary heap: the first item is at index 0, the two after that of index i are at 2 i + 1 and 2 i + 2. */
export class EarliestFirst<Item extends Timed> {
  readonly #items: Item[] = [];

  get first(): Item | undefined {
    return this.#items[0];
  }

  add(item: Item): void {
    let index = this.#items.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfBefore(index, parent)) return;
      index = parent;
    }
  }

  /** Removes the first item if it is due by then. */
  take(untilMs: number): Item | null {
    const [first] = this.#items;
    if (first === undefined || first.atMs > untilMs) return null;
    const last = this.#items.pop();
    if (last === undefined || last === first) return first;
    this.#items[0] = last;
    for (let index = 0;;) {
      const left = 2 * index + 1;
      const child = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#swapIfBefore(child, index)) return first;
      index = child;
    }
  }

  #isBefore(index: number, other: number): boolean {
    const [one, two] = [this.#items[index], this.#items[other]];
    if (one === undefined || two === undefined) return false;
    return one.atMs === two.atMs ? one.order < two.order : one.atMs < two.atMs;
  }

  #swapIfBefore(index: number, other: number): boolean {
    const [one, two] = [this.#items[index], this.#items[other]];
    if (one === undefined || two === undefined || !this.#isBefore(index, other)) return false;
    this.#items[index] = two;
    this.#items[other] = one;
    return true;
  }
}
