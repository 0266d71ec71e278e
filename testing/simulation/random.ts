/** Numbers from a seed: the same ones each time, and unrelated ones for another seed or another name. */
export class Random {
  #state: number;

  constructor(seed: number, name = "") {
    this.#state = (seed ^ hash(name)) | 0;
  }

  /** A number of 0 or more, below 1 (Tommy Ettinger, "mulberry32"). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** @throws {RangeError} If the list is empty. */
  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new RangeError("cannot pick from an empty list");
    return item;
  }

  /** A version 4 UUID. */
  uuid(): string {
    const hex = (): string => Math.floor(this.next() * 2 ** 32).toString(16).padStart(8, "0");
    const [one, two, three, four] = [hex(), hex(), hex(), hex()];
    const variant = "89ab"[this.between(0, 3)];
    return `${one}-${two.slice(0, 4)}-4${two.slice(5)}-${variant}${three.slice(1, 4)}-${
      three.slice(4)
    }${four}`;
  }
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value;
}
