import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { decodeResponse, encodeQuery } from "../../src/system/dns_message.ts";
import { dnsAddress, dnsName, type DnsQuery, dnsReply } from "../support/dns_server.ts";

const QUERY = { id: 7, name: "www.example.test.", type: "TXT" } as const;

/** A reply with the records of many types, cut and changed at random. */
const MESSAGE = dnsReply(
  { ...QUERY, question: encodeQuery(QUERY).subarray(12) } satisfies DnsQuery,
  [
    { type: "TXT", data: Uint8Array.of(3, 97, 98, 99) },
    { type: "CNAME", data: Uint8Array.of(0xc0, 12) },
    { type: "TXT", data: Uint8Array.of(1, 120), name: "other.test" },
    { type: "MX", data: Uint8Array.of(0, 1, ...dnsName("a.test")) },
    dnsAddress("192.0.2.1"),
  ],
);

Deno.test("decodeResponse() parses a response", () => {
  assert.deepStrictEqual(decodeResponse(MESSAGE, QUERY), { records: ["abc"] });
});

Deno.test("decodeResponse() returns records or a reason for any message", () => {
  const check = (message: Uint8Array): void => {
    const found = decodeResponse(message, QUERY);
    assert.ok("reason" in found ? found.reason !== "" : found.records.length > 0);
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), check));
  const position = fc.nat(MESSAGE.length - 1);
  const changes = fc.array(fc.tuple(position, fc.nat(255)), { maxLength: 5 });
  fc.assert(fc.property(changes, fc.nat(MESSAGE.length), (changes, length) => {
    const message = MESSAGE.slice();
    for (const [position, byte] of changes) message[position] = byte;
    check(message);
    check(message.subarray(0, length));
  }));
});

Deno.test("decodeResponse() escapes special characters in names", () => {
  const query = { ...QUERY, type: "NS" } as const;
  const data = Uint8Array.of(4, 97, 46, 92, 7, 1, 255, 0);
  const reply = dnsReply({ ...query, question: encodeQuery(query).subarray(12) }, [{ type: "NS", data }]);
  assert.deepStrictEqual(decodeResponse(reply, query), { records: ["a\\046\\092\\007.\\255"] });
});

Deno.test("decodeResponse() is fast for the largest message, however names refer to others", () => {
  const records = Array.from({ length: 5000 }, () => ({ type: "CNAME", data: Uint8Array.of(0xc0, 12) }));
  const query = { ...QUERY, type: "A" } as const;
  const message = dnsReply({ ...query, question: encodeQuery(query).subarray(12) }, records);
  const beganMs = performance.now();
  assert.deepStrictEqual(decodeResponse(message, query), { reason: "no records" });
  assert.ok(performance.now() - beganMs < 1000);
});
