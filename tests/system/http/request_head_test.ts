import assert from "node:assert/strict";
import { ByteReader } from "../../../src/system/http/http_bytes.ts";
import { readRequestHead, RequestError } from "../../../src/system/http/http_head.ts";

/** Reads a head from bytes that arrive in parts. */
function headOf(text: string): ReturnType<typeof readRequestHead> {
  let rest = new TextEncoder().encode(text);
  return readRequestHead(
    new ByteReader((buffer) => {
      if (rest.length === 0) return Promise.resolve(null);
      const part = rest.subarray(0, buffer.length);
      buffer.set(part);
      rest = rest.subarray(part.length);
      return Promise.resolve(part.length);
    }),
  );
}

Deno.test("readRequestHead() returns the request line and the headers", async () => {
  const head = await headOf("GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
  assert.deepEqual(head, { method: "GET", target: "/a?b", fields: [["host", "x"]], minorVersion: "1" });
  assert.equal(await headOf("GET / HTTP/1.1\r\nHost"), null, "the client left");
});

Deno.test("readRequestHead() rejects other versions, and heads of more than 16 KiB", async () => {
  const rows: Readonly<Record<string, readonly [text: string, status: number]>> = {
    "HTTP/2.0": ["GET / HTTP/2.0\r\n\r\n", 400],
    "HTTP/1.2": ["GET / HTTP/1.2\r\n\r\n", 400],
    "a line without an end": ["a".repeat(1_000_000), 431],
    "a header without an end": [`GET / HTTP/1.1\r\nA: ${"b".repeat(1_000_000)}`, 431],
  };
  for (const [name, [text, status]] of Object.entries(rows)) {
    await assert.rejects(
      headOf(text),
      (error) => error instanceof RequestError && error.status === status,
      name,
    );
  }
});
