export const ANSWER_BYTES_MAX = 64 * 1024;

/** The part of a response that was read, and whether it contains the expected text. */
export interface AnswerSearch {
  readonly found: boolean;
  /** Whether more has come than is read. */
  readonly isCut: boolean;
  /** How much has come, in bytes. */
  readonly length: number;
  add(bytes: Uint8Array): void;
  /** Returns the beginning of the received bytes, decoded as UTF-8. */
  text(): string;
}

/**
 * Searches for a text in a response that arrives in parts of any size. It compares bytes, so that any response can be
 * read, and compares each byte about once, so that a response in many parts costs no more than a whole one.
 */
export function searchAnswer(expected: string): AnswerSearch {
  const wanted = new TextEncoder().encode(expected);
  const answer = new Uint8Array(ANSWER_BYTES_MAX);
  let length = 0;
  let found = false;
  let isCut = false;
  return {
    get found() {
      return found;
    },
    get isCut() {
      return isCut;
    },
    get length() {
      return length;
    },
    add(bytes) {
      // The expected text may have begun in an earlier part.
      const from = Math.max(0, length - wanted.length + 1);
      const part = bytes.subarray(0, ANSWER_BYTES_MAX - length);
      answer.set(part, length);
      length += part.length;
      isCut ||= part.length < bytes.length;
      found ||= holds(answer.subarray(from, length), wanted);
    },
    text: () => new TextDecoder().decode(answer.subarray(0, length)),
  };
}

function holds(bytes: Uint8Array, wanted: Uint8Array): boolean {
  const [first] = wanted;
  if (first === undefined) return true;
  for (let start = bytes.indexOf(first); start >= 0; start = bytes.indexOf(first, start + 1)) {
    if (wanted.every((byte, index) => bytes[start + index] === byte)) return true;
  }
  return false;
}
