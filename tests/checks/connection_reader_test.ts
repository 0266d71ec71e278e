import assert from "node:assert/strict";
import { ConnectionReader, type TakenBytes } from "../../src/checks/connection_run.ts";

const END = new TextEncoder().encode("\r\n");

/** Reads a connection that sends these chunks, then ends. */
function readerOf(chunks: readonly string[], bytesMax = 100): ConnectionReader {
  const left = chunks.map((chunk) => new TextEncoder().encode(chunk));
  const connection = {
    read: () => Promise.resolve(left.shift() ?? null),
    write: () => Promise.resolve(),
    close: () => {},
  };
  return new ConnectionReader(connection, bytesMax);
}

const textOf = (taken: TakenBytes) => taken instanceof Uint8Array ? new TextDecoder().decode(taken) : taken;

Deno.test("ConnectionReader takes what is sent, in whatever chunks it comes", async () => {
  const sent = "+a\rb\r\n+\r\nwhole";
  for (let first = 0; first <= sent.length; first++) {
    for (let second = first; second <= sent.length; second++) {
      const reader = readerOf([sent.slice(0, first), sent.slice(first, second), sent.slice(second)]);
      assert.equal(textOf(await reader.takeUntil(END, 10)), "+a\rb");
      assert.equal(textOf(await reader.takeUntil(END, 10)), "+");
      assert.equal(textOf(await reader.take(5)), "whole");
      assert.equal(reader.unread.length, 0);
      assert.equal(await reader.take(1), null);
      assert.equal(await reader.takeUntil(END, 10), null);
    }
  }
});

Deno.test("ConnectionReader takes no more than its limits", async () => {
  assert.equal(textOf(await readerOf(["12345\r\n"]).takeUntil(END, 5)), "12345");
  assert.equal(await readerOf(["123456\r\n"]).takeUntil(END, 5), "too_long");
  assert.equal(await readerOf(["12345678"]).takeUntil(END, 5), "too_long");
  assert.equal(await readerOf(["1".repeat(99), "\r\n"]).takeUntil(END, 200), "too_long");
  assert.equal(textOf(await readerOf(["12", "345"], 5).take(5)), "12345");
  assert.equal(await readerOf(["12", "3456"], 5).take(6), "too_long");
});
