/** Random decisions that are the same for the same seed. */
export interface Random {
  /** 0 or more, below 1. */
  next(): number;
  /** 0 or more, below `end`. */
  below(end: number): number;
  /** `true` once in so many times. */
  oneIn(count: number): boolean;
  /** One of some values. */
  pick<T>(values: readonly [T, ...T[]]): T;
}

/** Makes one; a name sets it apart from others of the same seed. */
export function createRandom(seed: number, name: string): Random {
  const next = mulberry32([...name].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), seed));
  const below = (end: number): number => next() * end;
  return {
    next,
    below,
    oneIn: (count) => below(count) < 1,
    pick: (values) => values[Math.floor(below(values.length))] ?? values[0],
  };
}

/** By Tommy Ettinger, public domain. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
