import type { RequestFailure } from "../../domain/requests.ts";
import type { ByteReader } from "./http_bytes.ts";

/** Why no whole response came; the message is one line for people. */
export class HttpError extends Error {
  override readonly name = "HttpError";

  /** The reason begins with a small letter. */
  constructor(readonly phase: RequestFailure["phase"], reason: string) {
    super(reason);
  }
}

export interface ResponseHead {
  /** 100 to 999. */
  readonly status: number;
  /** In the order in which they came, with names in small letters; each byte of a value is a character. */
  readonly fields: readonly Field[];
  /** The digit behind `HTTP/1.`. */
  readonly minorVersion: "0" | "1";
}

type Field = readonly [name: string, value: string];

/** All heads before the body together, informational responses included. */
const HEADS_BYTES_MAX = 384 * 1024;
/** `Headers` compares each name with all others, so more would keep everything else waiting. */
const FIELDS_MAX = 5000;
/** They are read in one turn of the event loop, so a server could keep everything else waiting. */
const INFORMATIONAL_MAX = 100;

const BEGINNING = "HTTP/1.";
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [\t \x21-\x7e\x80-\xff]*)?$/;

/** Reads the head of the final response (RFC 9112, 2 to 5), behind informational ones. Throws an {@linkcode HttpError}. */
export async function readHead(bytes: ByteReader): Promise<ResponseHead> {
  const takeLine = lineReader(bytes, HEADS_BYTES_MAX, () => new HttpError("head", "head is too large"));
  const more = async (): Promise<void> => {
    if (!await bytes.fill()) throw new HttpError("head", "connection closed before a response head");
  };
  for (let count = 0; count <= INFORMATIONAL_MAX; count++) {
    let first: string | null = "";
    while (first === "" || first === null) {
      refuseOther(bytes.peek(BEGINNING.length));
      if ((first = takeLine()) === null) await more();
    }
    const [, minorVersion, digits] = STATUS_LINE.exec(first) ?? [];
    if (digits === undefined) {
      const isHttp = /^HTTP\/1\.[01] /.test(first);
      throw new HttpError("head", isHttp ? "response has no valid status" : "response is not HTTP");
    }
    const fields: Field[] = [];
    for (let line = takeLine(); line !== ""; line = takeLine()) {
      if (line === null) {
        await more();
        continue;
      }
      const field = parseField(line);
      if (field === null) throw new HttpError("head", "response has a malformed header");
      if (fields.length === FIELDS_MAX) throw new HttpError("head", "head is too large");
      fields.push(field);
    }
    const status = Number(digits);
    // After 101 the connection uses another protocol, so no other head follows.
    if (status >= 200 || status === 101) {
      return { status, fields, minorVersion: minorVersion === "0" ? "0" : "1" };
    }
  }
  throw new HttpError("head", `more than ${INFORMATIONAL_MAX} informational responses (1xx)`);
}

/** Returns a function that takes the next line without its end; `null`: it has not arrived. */
function lineReader(bytes: ByteReader, bytesMax: number, tooLarge: () => Error): () => string | null {
  let leftBytes = bytesMax;
  return () => {
    const line = bytes.line();
    leftBytes -= line === null ? 0 : line.length + 1;
    if (leftBytes < (line === null ? bytes.size : 0)) throw tooLarge();
    return line?.endsWith("\r") ? line.slice(0, -1) : line;
  };
}

/** Data other than HTTP may have no lines at all. */
function refuseOther(beginning: string): void {
  if (BEGINNING.startsWith(beginning.replace(/^[\r\n]+/, ""))) return;
  throw new HttpError("head", "response is not HTTP");
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t \x21-\x7e\x80-\xff]*$/;

/**
 * Parses the name and the value of a line of a header or a trailer (RFC 9110, section 5); `null`: invalid. No expression may
 * have two parts that accept blanks, since it would take quadratic time.
 */
export function parseField(line: string): Field | null {
  const colon = line.indexOf(":");
  const [name, value] = [line.slice(0, Math.max(0, colon)), line.slice(colon + 1)];
  return NAME.test(name) && VALUE.test(value) ? [name.toLowerCase(), withoutBlanks(value)] : null;
}

/** Without those around it. `trim()` would also take bytes that are part of a character of UTF-8. */
function withoutBlanks(value: string): string {
  const isBlank = (index: number): boolean => value[index] === " " || value[index] === "\t";
  let start = 0;
  let end = value.length;
  while (isBlank(start)) start++;
  while (end > start && isBlank(end - 1)) end--;
  return value.slice(start, end);
}

/** The value of a header, those of a repeated one joined; `null`: it is not there. */
export function headerOf({ fields }: Pick<ResponseHead, "fields">, name: string): string | null {
  const values = fields.filter(([other]) => other === name);
  return values.length === 0 ? null : values.map(([, value]) => value).join(", ");
}

export interface RequestHead extends Pick<ResponseHead, "fields" | "minorVersion"> {
  readonly method: string;
  /** Path and query; begins with a slash. */
  readonly target: string;
}

/** Thrown when a request is malformed or too large; the server responds with its status. */
export class RequestError extends Error {
  override readonly name = "RequestError";

  /** The message is for people; no final period. */
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

const HEAD_BYTES_MAX = 16_384;

const REQUEST_LINE = /^([A-Z]{1,20}) (\/[\x21-\x7e]*) HTTP\/1\.([01])$/;

/** Reads the head of a request (RFC 9112); `null`: the client left. Throws a {@linkcode RequestError} if it is malformed. */
export async function readRequestHead(bytes: ByteReader): Promise<RequestHead | null> {
  const takeLine = lineReader(
    bytes,
    HEAD_BYTES_MAX,
    () => new RequestError(431, `the request head has more than ${HEAD_BYTES_MAX} bytes`),
  );
  const nextLine = async (): Promise<string | null> => {
    for (;;) {
      const line = takeLine();
      if (line !== null || !await bytes.fill()) return line;
    }
  };
  const first = await nextLine();
  if (first === null) return null;
  const [, method, target, minorVersion] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined) {
    throw new RequestError(400, "this is not a request of HTTP/1.1");
  }
  const fields: Field[] = [];
  for (let line = await nextLine(); line !== ""; line = await nextLine()) {
    if (line === null) return null;
    const field = parseField(line);
    if (field === null) throw new RequestError(400, "a header is malformed");
    fields.push(field);
  }
  return { method, target, fields, minorVersion: minorVersion === "0" ? "0" : "1" };
}
