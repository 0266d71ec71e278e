import assert from "node:assert/strict";
import fc from "../support/property.ts";
import { decodeResponse, encodeQuery, recordText } from "../../src/system/dns.ts";
import { dnsAddress, dnsName, type DnsQuery, dnsReply } from "../support/dns_server.ts";
import { type Rows, testRows } from "../support/rows.ts";

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

Deno.test("decodeResponse() follows at most as many references as a name can have labels", () => {
  const query = { ...QUERY, type: "NS" } as const;
  const question = encodeQuery(query).subarray(12);
  /** Each leads to the one before it, and the first to the name in the question. */
  const chainMax = 1000;
  const begin = 12 + question.length + 12;
  const reference = (position: number) => [0xc0 + (position >> 8), position & 255];
  const chain = Array.from({ length: chainMax }, (_, at) => reference(at === 0 ? 12 : begin + 2 * (at - 1)));
  const decode = (count: number) =>
    decodeResponse(
      dnsReply({ ...query, question }, [
        { type: "CAA", data: Uint8Array.from(chain.flat()) },
        { type: "NS", data: Uint8Array.from(reference(begin + 2 * (count - 2))) },
      ]),
      query,
    );
  assert.deepEqual(decode(127), { records: ["www.example.test"] });
  assert.deepEqual(decode(128), { reason: "malformed response" });
  assert.deepEqual(decode(chainMax), { reason: "malformed response" });
});

Deno.test("decodeResponse() keeps every byte of a text", async (t) => {
  const rows: Rows<[bytes: readonly number[], text: string]> = {
    "a byte-order mark": [[4, 0xef, 0xbb, 0xbf, 97], "\ufeffa"],
    "a character in two parts": [[1, 0xc3, 1, 0xbc], "ü"],
    "bytes that are not UTF-8": [[4, 0xff, 92, 97, 0xfe], "\\255\\092a\\254"],
  };
  await testRows(t, rows, ([bytes, text]) => {
    const query = { ...QUERY, question: encodeQuery(QUERY).subarray(12) };
    const reply = dnsReply(query, [{ type: "TXT", data: Uint8Array.from(bytes) }]);
    assert.deepEqual(decodeResponse(reply, QUERY), { records: [text] });
  });
  await t.step("as the runtime returns it", () => {
    assert.equal(recordText(["\u00ef\u00bb\u00bfa", "\u00c3", "\u00bc"]), "\ufeffaü");
  });
});
