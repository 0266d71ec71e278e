import type { Connection } from "../domain/connections.ts";
import { joinBytes } from "../shared/join_bytes.ts";

/** Bytes; `null`: the connection ended before them; `too_long`: they are more than are read. */
export type TakenBytes = Uint8Array | "too_long" | null;

/** Reads a connection in the pieces of a protocol. Many small chunks cost no more than few large ones. */
export class ConnectionReader {
  readonly #connection: Connection;
  #unread: Uint8Array = new Uint8Array();
  #leftBytes: number;

  /** `bytesMax`: of all that is read. */
  constructor(connection: Connection, bytesMax: number) {
    this.#connection = connection;
    this.#leftBytes = bytesMax;
  }

  /** Whether a chunk had more than was taken. */
  get hasUnread(): boolean {
    return this.#unread.length > 0;
  }

  /** The greatest count that may still be taken. */
  get takenMax(): number {
    return this.#leftBytes + this.#unread.length;
  }

  async take(count: number): Promise<TakenBytes> {
    if (count > this.takenMax) return "too_long";
    const parts = [this.#unread];
    let missing = count - this.#unread.length;
    while (missing > 0) {
      const chunk = await this.#read();
      if (chunk === null) return null;
      parts.push(chunk);
      missing -= chunk.length;
    }
    const all = parts.length === 1 ? this.#unread : joinBytes(parts);
    this.#unread = all.subarray(count);
    return all.subarray(0, count);
  }

  /** Takes the bytes in front of `end`, at most `bytesMax`, and leaves `end` out. */
  async takeUntil(end: Uint8Array, bytesMax: number): Promise<TakenBytes> {
    for (let from = 0;;) {
      const at = indexOf(this.#unread, end, from);
      if (at > bytesMax || at < 0 && this.#unread.length > bytesMax + end.length) return "too_long";
      if (at >= 0) {
        const taken = this.#unread.subarray(0, at);
        this.#unread = this.#unread.subarray(at + end.length);
        return taken;
      }
      from = Math.max(0, this.#unread.length - end.length + 1);
      const chunk = await this.#read();
      if (chunk === null) return null;
      if (this.#leftBytes < 0) return "too_long";
      this.#unread = joinBytes([this.#unread, chunk]);
    }
  }

  async #read(): Promise<Uint8Array | null> {
    const chunk = await this.#connection.read();
    this.#leftBytes -= chunk?.length ?? 0;
    return chunk;
  }
}

function indexOf(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const [first = 0] = wanted;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (wanted.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}
