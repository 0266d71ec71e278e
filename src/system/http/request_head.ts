import type { ByteReader } from "./http_bytes.ts";
import { parseField, type ResponseHead } from "./http_head.ts";

export interface RequestHead extends Pick<ResponseHead, "fields" | "minorVersion"> {
  readonly method: string;
  /** Path and query; begins with a slash. */
  readonly target: string;
}

/** Thrown when a request is malformed or too large; the server responds with its status. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: number;

  /** The message is for people; no final period. */
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const HEAD_BYTES_MAX = 16_384;

const REQUEST_LINE = /^([A-Z]{1,20}) (\/[\x21-\x7e]*) HTTP\/1\.([01])$/;

/**
 * Reads the head of a request (RFC 9112, sections 2 to 5); `null`: the client left before it.
 *
 * @throws {RequestError} If it is malformed or too large.
 */
export async function readRequestHead(bytes: ByteReader): Promise<RequestHead | null> {
  let leftBytes = HEAD_BYTES_MAX;
  const nextLine = async (): Promise<string | null> => {
    for (;;) {
      const line = bytes.line();
      leftBytes -= line === null ? 0 : line.length + 1;
      if (leftBytes < (line === null ? bytes.size : 0)) {
        throw new RequestError(431, `the request head has more than ${HEAD_BYTES_MAX} bytes`);
      }
      if (line !== null) return line.endsWith("\r") ? line.slice(0, -1) : line;
      if (!await bytes.fill()) return null;
    }
  };
  const first = await nextLine();
  if (first === null) return null;
  const [, method, target, minorVersion] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined) {
    throw new RequestError(400, "this is not a request of HTTP/1.1");
  }
  const fields: (readonly [name: string, value: string])[] = [];
  for (let line = await nextLine(); line !== ""; line = await nextLine()) {
    if (line === null) return null;
    const field = parseField(line);
    if (field === null) throw new RequestError(400, "a header is malformed");
    fields.push(field);
  }
  return { method, target, fields, minorVersion: minorVersion === "0" ? "0" : "1" };
}
