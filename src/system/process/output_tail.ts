import { joinBytes } from "../../shared/join_bytes.ts";

export interface OutputTail {
  add(source: string, bytes: Uint8Array): void;
  /** Returns the kept output, decoded as UTF-8; truncated at the start of a line if there is one. */
  text(): string;
}

/**
 * Keeps the last `bytesMax` bytes; memory use is bounded by twice that whatever comes. Where the source changes in
 * the middle of a line, a new line begins, so that two sources do not run into one another.
 */
export function createOutputTail(bytesMax: number): OutputTail {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let isCut = false;
  let lastSource: string | null = null;
  let isInLine = false;

  const keep = (piece: Uint8Array): void => {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes <= 2 * bytesMax && pieces.length <= PIECES_MAX) return;
    const whole = joinBytes(pieces);
    isCut ||= whole.length > bytesMax;
    pieces = [whole.slice(-bytesMax)];
    bytes = Math.min(whole.length, bytesMax);
  };

  return {
    add: (source, given) => {
      if (given.length === 0) return;
      if (isInLine && lastSource !== source) keep(LINE_FEED);
      lastSource = source;
      isInLine = given.at(-1) !== LINE_FEED[0];
      if (given.length < bytesMax) return keep(given.slice());
      // A flood: earlier output does not matter any more, and copying all of it would take time.
      isCut ||= bytes + given.length > bytesMax;
      pieces = [given.subarray(-bytesMax)];
      bytes = bytesMax;
    },
    text: () => {
      const whole = joinBytes(pieces);
      const isWhole = !isCut && whole.length <= bytesMax;
      const text = new TextDecoder().decode(whole.subarray(-bytesMax));
      const newlineAt = text.indexOf("\n");
      return isWhole || newlineAt < 0 || newlineAt === text.length - 1 ? text : text.slice(newlineAt + 1);
    },
  };
}

/** A command that writes byte by byte makes many. */
const PIECES_MAX = 1024;

const LINE_FEED = new Uint8Array([10]);
