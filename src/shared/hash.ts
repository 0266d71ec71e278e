const OFFSET_BASIS = 0x811c9dc5;
/** So that the words of a longer hash begin apart. */
const SEED_STEP = 0x9e3779b9;

/**
 * FNV-1a over UTF-16 code units, then the last step of Austin Appleby's MurmurHash3, so that texts that differ in their
 * last character are far apart. It is no protection against chosen texts.
 */
export function hash32(text: string, seed = OFFSET_BASIS): number {
  let hash = seed;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return mix32(hash);
}

/** The last step of MurmurHash3: numbers that differ in one bit become numbers that are far apart. */
export function mix32(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}

/** Hashes a text to so many hexadecimal digits, a multiple of 8. */
export function hashHex(text: string, digits: 8 | 16 | 32): string {
  const words = Array.from(
    { length: digits / 8 },
    (_, index) => hash32(text, OFFSET_BASIS + index * SEED_STEP),
  );
  return words.map((word) => word.toString(16).padStart(8, "0")).join("");
}

/** Hashes a text to an id in the form of a UUID. */
export function hashId(text: string): string {
  const digits = hashHex(text, 32);
  return [0, 8, 12, 16, 20].map((start, index, starts) => digits.slice(start, starts[index + 1])).join("-");
}

/** Compares a received text with a secret, in a time that depends only on the length of the received text. */
export function isSameSecret(sent: string, secret: string): boolean {
  let difference = sent.length ^ secret.length;
  for (let index = 0; index < sent.length; index++) {
    difference |= sent.charCodeAt(index) ^ secret.charCodeAt(index % secret.length);
  }
  return difference === 0;
}
