/**
 * The meaning of a response by the rules of HTTP/1 (RFC 9112), parsed from its bytes independently of the runtime.
 */
import type { Passage } from "./fault_proxy.ts";

export interface ReadResponse {
  readonly status: number;
  /** Names in small letters; the values of a repeated one in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** The received part of the body; each byte is a character. */
  readonly body: string;
  readonly isWhole: boolean;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})(?: [\t \x21-\x7e\x80-\xff]*)?$/;
const HEADER = new RegExp(`^(${TOKEN}):[ \\t]*([\\t \\x21-\\x7e\\x80-\\xff]*)$`);

/** Reads a response; `null` where its head is not whole or not valid. */
export function readResponse({ arrived, end }: Passage): ReadResponse | null {
  const text = String.fromCharCode(...arrived);
  // Empty lines before it may be skipped, and a line may end with a line feed alone (section 2.2).
  const [head, ...rest] = text.replace(/^(?:\r?\n)+/, "").split(/(\r?\n\r?\n)/);
  if (head === undefined || rest.length === 0) return null;
  const [first = "", ...lines] = head.split(/\r?\n/);
  const [, minor, digits] = STATUS_LINE.exec(first) ?? [];
  if (digits === undefined) return null;
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    const key = name.toLowerCase();
    headers.set(key, [...headers.get(key) ?? [], value.trim()]);
  }
  const status = Number(digits);
  const framed = frame(rest.slice(1).join(""), { status, headers, minor, isClosed: end === "closed" });
  return framed === null ? null : { status, headers, ...framed };
}

interface Framing {
  readonly status: number;
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly minor: string | undefined;
  readonly isClosed: boolean;
}

/** Section 6.3; `null` where the length is not valid. */
function frame(
  content: string,
  { status, headers, minor, isClosed }: Framing,
): Pick<ReadResponse, "body" | "isWhole"> | null {
  if (status < 200 || status === 204 || status === 304) return { body: "", isWhole: true };
  const codings = headers.get("transfer-encoding")?.join(",").toLowerCase().split(",").map((one) =>
    one.trim()
  );
  if (codings !== undefined) {
    if (minor === "0") return null;
    return codings.at(-1) === "chunked" ? unchunk(content) : { body: content, isWhole: isClosed };
  }
  const lengths = headers.get("content-length");
  if (lengths === undefined) return { body: content, isWhole: isClosed };
  const [length = ""] = lengths;
  if (!/^\d+$/.test(length) || lengths.some((other) => other !== length)) return null;
  const body = content.slice(0, Number(length));
  return { body, isWhole: body.length === Number(length) };
}

/** An extension may be skipped unread (section 7.1.1). */
const CHUNK_HEAD = new RegExp(`^([0-9A-Fa-f]+)[ \\t]*(?:;[^\\r\\n]*)?\\r\\n`);
/** The last chunk was read; fields may follow (section 7.1.2). */
const TRAILER = new RegExp(`^(?:${TOKEN}:[\\t \\x21-\\x7e\\x80-\\xff]*\\r\\n)*\\r\\n`);

function unchunk(content: string): Pick<ReadResponse, "body" | "isWhole"> {
  let body = "";
  for (let rest = content;;) {
    const [line, digits] = CHUNK_HEAD.exec(rest) ?? [];
    if (line === undefined || digits === undefined) return { body, isWhole: false };
    rest = rest.slice(line.length);
    const length = Number.parseInt(digits, 16);
    if (length === 0) return { body, isWhole: TRAILER.test(rest) };
    body += rest.slice(0, length);
    if (!rest.slice(length).startsWith("\r\n")) return { body, isWhole: false };
    rest = rest.slice(length + 2);
  }
}
