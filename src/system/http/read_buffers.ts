/** Buffers to read into, used again and again: to make one costs more than to read a small response. */

const BUFFER_BYTES = 16_384;
const KEPT_MAX = 64;

const kept: ArrayBuffer[] = [];

/** Returns an unused buffer; its content has no meaning. */
export function takeBuffer(): ArrayBuffer {
  return kept.pop() ?? new ArrayBuffer(BUFFER_BYTES);
}

/** Releases a buffer. It must not be read or written any more, by the runtime either. */
export function giveBuffer(buffer: ArrayBuffer): void {
  if (buffer.byteLength === BUFFER_BYTES && kept.length < KEPT_MAX) kept.push(buffer);
}
