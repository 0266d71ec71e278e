import assert from "node:assert/strict";
import { bodyReader } from "../../../src/system/http/http_body.ts";
import { ByteReader } from "../../../src/system/http/http_bytes.ts";

/** Reads a whole body that arrives as fast as it is read, before the connection is closed. */
async function bodyOf(headers: Readonly<Record<string, string>>, sent: string): Promise<string> {
  let rest = new TextEncoder().encode(sent);
  const bytes = new ByteReader((buffer) => {
    if (rest.length === 0) return Promise.resolve(null);
    const part = rest.subarray(0, buffer.length);
    buffer.set(part);
    rest = rest.subarray(part.length);
    return Promise.resolve(part.length);
  });
  const read = bodyReader({ status: 200, fields: Object.entries(headers), minorVersion: "1" }, {
    bytes,
    method: "GET",
  });
  let body = "";
  for (let part = await read?.(); part !== null && part !== undefined; part = await read?.()) {
    body += new TextDecoder().decode(part);
  }
  return body;
}

const CHUNKED = { "transfer-encoding": "chunked" };

Deno.test("bodyReader() returns a whole body", async () => {
  assert.equal(await bodyOf({ "content-length": "5" }, "hello, and more"), "hello");
  assert.equal(await bodyOf(CHUNKED, "5\r\nhello\r\n0\r\nA: b\r\n\r\n"), "hello");
});

Deno.test("bodyReader() rejects a body that is cut short, and a trailer of more than 16 KiB", async () => {
  const trailer = "A: b\r\n".repeat(4_000);
  const rows: Readonly<Record<string, readonly [headers: Readonly<Record<string, string>>, sent: string]>> = {
    "a length": [{ "content-length": "5" }, "hell"],
    "a chunk": [CHUNKED, "5\r\nhell"],
    "no last chunk": [CHUNKED, "5\r\nhello\r\n"],
    "a long trailer": [CHUNKED, `5\r\nhello\r\n0\r\n${trailer}\r\n`],
  };
  for (const [name, [headers, sent]] of Object.entries(rows)) {
    await assert.rejects(bodyOf(headers, sent), /closed early or malformed/, name);
  }
});
