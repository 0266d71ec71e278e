/** The parts of a TLS connection that arrived unchanged, by its records (RFC 8446, section 5.1). */
import type { Passage } from "./fault_proxy.ts";

const HEADER_BYTES = 5;

/** Returns how long each whole record at the beginning is, its header included. */
export function recordBytes(bytes: readonly number[]): readonly number[] {
  const found: number[] = [];
  for (let start = 0; start + HEADER_BYTES <= bytes.length;) {
    const size = HEADER_BYTES + 256 * (bytes[start + 3] ?? 0) + (bytes[start + 4] ?? 0);
    if (start + size > bytes.length) break;
    found.push(size);
    start += size;
  }
  return found;
}

/** The type and the version of a record, which are not authenticated: the encrypted part is. */
const LABEL_BYTES = 3;

/** Returns how many records arrived as they were sent, from the first on. */
export function unharmedRecords({ sent, arrived }: Passage): number {
  let count = 0;
  let start = 0;
  for (const size of recordBytes(sent)) {
    for (let index = 0; index < size; index++) {
      const byte = arrived[start + index];
      if (byte === undefined || index >= LABEL_BYTES && byte !== sent[start + index]) return count;
    }
    count++;
    start += size;
  }
  return count;
}

/** The type of a record of the handshake, which stands in no line of clear text. */
const HANDSHAKE = 22;

/** Returns the data after a clear-text session that has led to TLS; all of it if TLS was there from the start. */
export function behindClearText({ sent, arrived, end }: Passage): Passage {
  const from = (bytes: readonly number[]): readonly number[] => {
    const start = bytes.indexOf(HANDSHAKE);
    return start < 0 ? [] : bytes.slice(start);
  };
  return { sent: from(sent), arrived: from(arrived), end };
}
