import assert from "node:assert/strict";
import { hash32, hashHex } from "../../src/shared/hash.ts";

Deno.test("hash32() puts texts far apart that differ in one character", () => {
  const hashes = Array.from({ length: 1000 }, (_, index) => hash32(`check ${index}`));
  const tenths = new Map<number, number>();
  for (const hash of hashes) {
    const tenth = Math.floor(hash / 2 ** 32 * 10);
    tenths.set(tenth, (tenths.get(tenth) ?? 0) + 1);
  }
  assert.equal(new Set(hashes).size, 1000);
  for (let tenth = 0; tenth < 10; tenth++) assert.ok((tenths.get(tenth) ?? 0) > 70);
});

Deno.test("hashHex() returns the same digits in every version", () => {
  assert.equal(hashHex("", 8), "ab3e7c0b");
  assert.match(hashHex("a", 32), /^[0-9a-f]{32}$/);
  assert.equal(hashHex("a", 32).slice(0, 16), hashHex("a", 16));
});
