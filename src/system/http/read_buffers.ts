/** Buffers to read into, used again and again: to make one costs more than to read a small response. */

const BUFFER_BYTES = 16_384;
const KEPT_MAX = 64;

const kept: ArrayBuffer[] = [];

/** Returns an unused buffer; its content has no meaning. */
export function takeBuffer(): ArrayBuffer {
  return kept.pop() ?? new ArrayBuffer(BUFFER_BYTES);
}

/** Lets others use a buffer. Nothing may read or write it any more, the runtime included. */
export function giveBuffer(buffer: ArrayBuffer): void {
  if (buffer.byteLength === BUFFER_BYTES && kept.length < KEPT_MAX) kept.push(buffer);
}
