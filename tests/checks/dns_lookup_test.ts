import assert from "node:assert/strict";
import { dnsLookupKind } from "../../src/checks/dns_lookup.ts";
import type { DnsLookupParameters } from "../../src/domain/generated/config.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { freePort } from "../support/http_servers.ts";
import { problemTexts } from "../support/observe_check.ts";
import { fieldsOf, linesOf, type Rows, testRows, testTable } from "../support/rows.ts";
import { dnsCheck, observeConnection } from "../support/connection_check.ts";
import {
  dnsAddress,
  type DnsBehavior,
  dnsName,
  type DnsRecord,
  dnsReply,
  dnsTexts,
  startDnsServer,
  twoBytes,
} from "../support/dns_server.ts";

function answering(...records: readonly DnsRecord[]): DnsBehavior {
  return (query) => [dnsReply(query, records)];
}

function record(type: string, ...parts: readonly (Uint8Array | readonly number[])[]): DnsRecord {
  return { type, data: Uint8Array.from(parts.flatMap((part) => [...part])) };
}

const text = (characters: string): Uint8Array => new TextEncoder().encode(characters);

/** Type, records, and the records as the config writes them. */
const RECORDS: readonly (readonly [
  type: DnsLookupParameters["type"],
  records: readonly DnsRecord[],
  written: readonly string[],
])[] = [
  ["A", [dnsAddress("192.0.2.1"), dnsAddress("192.0.2.2")], ["192.0.2.2", "192.0.2.1"]],
  ["AAAA", [record("AAAA", [0x20, 1, 0xd, 0xb8], new Uint8Array(11), [1])], ["2001:DB8:0:0::1"]],
  ["CNAME", [record("CNAME", dnsName("Web.example.test"))], ["web.example.test"]],
  ["NS", [record("NS", dnsName("ns1.example.test"))], ["ns1.example.test."]],
  ["PTR", [record("PTR", dnsName("host.example.test"))], ["host.example.test"]],
  ["MX", [record("MX", twoBytes(10), dnsName("mail.example.test"))], ["10 Mail.example.test"]],
  ["SRV", [record("SRV", [0, 1, 0, 2, 0x13, 0xc4], dnsName("sip.test"))], ["1 2 5060 sip.test"]],
  [
    "SOA",
    [record("SOA", dnsName("ns1.test"), dnsName("admin.test"), [1, 2, 3, 4, 5].flatMap((n) => [0, 0, 0, n]))],
    ["ns1.test admin.test 1 2 3 4 5"],
  ],
  ["CAA", [record("CAA", [128, 5], text("issueca.test; a=b"))], ['128 issue "ca.test; a=b"']],
  ["TXT", [record("TXT", dnsTexts("v=spf1 ", "-all"))], ["v=spf1 -all"]],
];

/** Observes a server, and returns condition and output. */
async function seenOf(
  behavior: DnsBehavior,
  parameters: Partial<DnsLookupParameters> = {},
  timeoutMs?: number,
): Promise<string> {
  await using server = startDnsServer(behavior);
  const check = dnsCheck({ server: `127.0.0.1:${server.port}`, ...parameters }, timeoutMs);
  assert.deepStrictEqual(problemTexts(dnsLookupKind.errors?.(check)), []);
  const { condition, output } = await observeConnection(check);
  return `${condition}: ${output}`;
}

Deno.test("observeDnsLookup() parses every type of record", async (t) => {
  for (const [type, records, values] of RECORDS) {
    await t.step(type, async () => {
      const asked: unknown[] = [];
      const behavior: DnsBehavior = (query) => {
        asked.push([query.name, query.type]);
        return [dnsReply(query, records)];
      };
      assert.match(await seenOf(behavior, { type, values, count: records.length }), /^ok: /);
      assert.deepStrictEqual(asked, [["www.example.test", type]]);
    });
  }
});

Deno.test("observeDnsLookup() queries the reverse name of an IP address", async () => {
  const asked: string[] = [];
  const behavior: DnsBehavior = (query) => {
    asked.push(query.name);
    return [dnsReply(query, [record("PTR", dnsName("host.test"))])];
  };
  for (const name of ["192.0.2.1", "2001:db8::1"]) {
    assert.strictEqual(await seenOf(behavior, { type: "PTR", name }), `ok: PTR of ${name}: "host.test"`);
  }
  assert.deepStrictEqual(asked, [
    "1.2.0.192.in-addr.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
  ]);
});

Deno.test("observeDnsLookup() compares the records with the expected ones", async (t) => {
  const table = `
                                   | ok: "192.0.2.1", "192.0.2.2"
    count=2 atLeast=2 contains=["192.0.2.2"] | ok: "192.0.2.1", "192.0.2.2"
    values=["192.0.2.1"]           | critical: found "192.0.2.1", "192.0.2.2", expected "192.0.2.1"
    values=["192.0.2.1","192.0.2.3"] | critical: found "192.0.2.1", "192.0.2.2", expected "192.0.2.1", "192.0.2.3"
    contains=["192.0.2.9"] asWarning=true | warning: found "192.0.2.1", "192.0.2.2" without "192.0.2.9"
    count=1                        | critical: found 2 records, expected 1
    atLeast=3                      | critical: found 2 records, expected at least 3`;
  await testTable(t, table, async (parameters, expected) => {
    const seen = await seenOf(answering(ADDRESS, dnsAddress("192.0.2.2")), fieldsOf(parameters));
    assert.strictEqual(seen.replace("A of www.example.test: ", ""), expected);
  });
});

Deno.test("observeDnsLookup() compares the responses of several servers", async () => {
  await using one = startDnsServer(answering(dnsAddress("192.0.2.1"), dnsAddress("192.0.2.2")));
  await using same = startDnsServer(answering(dnsAddress("192.0.2.2"), dnsAddress("192.0.2.1")));
  await using other = startDnsServer(answering(dnsAddress("192.0.2.3")));
  const [a, b, c] = [one, same, other].map(({ port }) => `127.0.0.1:${port}`) as [string, string, string];
  const agreed = await observeConnection(dnsCheck({ server: [a, b], count: 2 }));
  assert.deepStrictEqual([agreed.condition, agreed.output], [
    "ok",
    'A of www.example.test: "192.0.2.1", "192.0.2.2" from all 2 servers',
  ]);
  const disagreed = await observeConnection(dnsCheck({ server: [a, b, c], count: 2 }));
  assert.deepStrictEqual([disagreed.condition, disagreed.output], [
    "critical",
    `A of www.example.test: servers disagree: "192.0.2.1", "192.0.2.2" from ${a} and ${b}; "192.0.2.3" from ${c}; ` +
    `found 1 record, expected 2 from ${c}`,
  ]);
});

const ADDRESS = dnsAddress("192.0.2.1");
const EVIL = dnsAddress("6.6.6.6");

const HOSTILE: Rows<[DnsBehavior, expected: RegExp]> = {
  "silence": [() => [], /^critical: .*: timeout after 0\.3 s \(127\.0\.0\.1:\d+\)$/],
  "another id": [
    (query) => [dnsReply(query, [EVIL], { id: query.id ^ 1 })],
    /^critical: .*: response to another query \(/,
  ],
  "a flood behind the answer": [
    (query) => new Array(300).fill(dnsReply(query, [ADDRESS])),
    /^ok: .*: "192\.0\.2\.1"$/,
  ],
  "records that are announced and missing": [
    (query) => [dnsReply(query, [ADDRESS]).slice(0, -3)],
    /^critical: .*: malformed response \(/,
  ],
  "a name that refers to itself": [
    (query) => [dnsReply(query, [record("CNAME", [0xc0, 12 + query.question.length + 12])])],
    /^critical: .*: malformed response \(/,
  ],
  "an address of three bytes": [answering(record("A", [1, 2, 3])), /^critical: .*: malformed response \(/],
  "truncated": [
    (query) => [dnsReply(query, [ADDRESS], { isTruncated: true })],
    /^critical: .*: truncated response \(/,
  ],
  "records of another name": [
    answering({ ...EVIL, name: "other.test" }),
    /^critical: .*: no records \(127\.0\.0\.1:\d+\)$/,
  ],
  "an alias": [
    answering({ ...ADDRESS, name: "OTHER.test" }, record("CNAME", dnsName("other.test"))),
    /^ok: .*: "192\.0\.2\.1"$/,
  ],
  "aliases in a circle": [
    answering(record("CNAME", dnsName("other.test")), {
      ...record("CNAME", dnsName("www.example.test")),
      name: "other.test",
    }),
    /^critical: .*: no records \(/,
  ],
  "no such name": [
    (query) => [dnsReply(query, [], { code: 3 })],
    /^critical: .*: no such name \(NXDOMAIN\) \(127/,
  ],
  "an unknown error": [(query) => [dnsReply(query, [], { code: 11 })], /^critical: .*: error code 11 \(/],
  "thousands of records": [
    answering(...Array.from({ length: 4000 }, (_, index) => dnsAddress(`10.1.${index >> 8}.${index & 255}`))),
    /^ok: .*: "10\.1\.0\.0", "10\.1\.0\.1", "10\.1\.0\.10", "10\.1\.0\.100", "10\.1\.0\.101", and 3995 more$/,
  ],
};

Deno.test("observeDnsLookup() returns a result in time, whatever the server does", async (t) => {
  await testRows(t, HOSTILE, async ([behavior, expected], name) => {
    assert.match(await seenOf(behavior, {}, name === "silence" ? 300 : undefined), expected);
  });
});

Deno.test("observeDnsLookup() queries the server for names that the machine resolves locally", async () => {
  await using server = startDnsServer(answering(dnsAddress("192.0.2.1")));
  for (const name of ["localhost", "www.localhost", Deno.hostname(), "unknown.invalid", "bücher.test"]) {
    const check = dnsCheck({ name, server: `127.0.0.1:${server.port}` });
    assert.strictEqual((await observeConnection(check)).output, `A of ${name}: "192.0.2.1"`);
  }
  assert.strictEqual(server.queries.at(-1)?.name, "xn--bcher-kva.test");
});

Deno.test("observeDnsLookup() returns the reason of a failed connection", async () => {
  const server = `127.0.0.1:${freePort()}`;
  const { condition, output } = await observeConnection(dnsCheck({ server }));
  assert.deepStrictEqual([condition, output], [
    "critical",
    `A of www.example.test: connection refused (${server})`,
  ]);
});

Deno.test("observeDnsLookup() truncates long texts and escapes control characters", async () => {
  const long = record("TXT", dnsTexts(...new Array(200).fill("x".repeat(255))));
  const seen = await seenOf(answering(record("TXT", dnsTexts("\u001b[31mred\n")), long), { type: "TXT" });
  assert.match(seen, /^ok: TXT of www\.example\.test: "\\x1b\[31mred\\n", "x+…?"$/);
  assert(seen.length < 300);
});

Deno.test("observeDnsLookup() without a server requires net access to the resolver of this machine", async () => {
  const check = dnsCheck({});
  const system = createMemorySystem();
  const servers = [{ host: "192.0.2.53", port: 53 }, { host: "2001:db8::53", port: 53 }];
  const requiredPermissions = await dnsLookupKind.requiredPermissions(check, {
    ...system,
    dns: { ...system.dns, machineServers: () => Promise.resolve(servers) },
  });
  assert.deepStrictEqual(requiredPermissions, {
    net: ["192.0.2.53:53", "[2001:db8::53]:53"],
    read: ["/etc/resolv.conf"],
    netCaution:
      '192.0.2.53:53 and [2001:db8::53]:53 is the resolver of this machine: set "server" to use the flags elsewhere',
    isOfMachine: true,
  });
});

Deno.test("dnsLookupKind rejects invalid names, servers and records", () => {
  const rows = `
    name=a..b | name: is not a domain name, expected labels of 1 to 63 characters
    name=${"x".repeat(64)}.test | name: is not a domain name, expected labels of 1 to 63 characters
    name=ü/x.test | name: is not a domain name, expected labels of 1 to 63 characters
    server=ns.example.org | server: "ns.example.org" is not an IP address, WANTED
    server=192.0.2.256 | server: "192.0.2.256" is not an IP address, WANTED
    server=::1:53x | server: "::1:53x" is not an IP address, WANTED
    server=192.0.2.1:0 | server: "192.0.2.1:0" is not an IP address, WANTED
    server=127.0.0.1:70000 | server: "127.0.0.1:70000" is not an IP address, WANTED
    server="[::1]" | server: "[::1]" is not an IP address, WANTED
    values=["::1"] | values: contains no A record, expected one such as 192.0.2.1
    type=AAAA contains=["192.0.2.1"] | contains: contains no AAAA record, expected one such as 2001:db8::1
    type=MX values=["mail.test"] | values: contains no MX record, expected one such as 10 mail.example.org`;
  for (const [parameters = "", expected] of linesOf(rows)) {
    const found = problemTexts(dnsLookupKind.errors?.(dnsCheck(fieldsOf(parameters))));
    const wanted = "expected one such as 192.0.2.53 or [2001:db8::53]:5353";
    assert.deepStrictEqual(found, [expected?.replace("WANTED", wanted)]);
  }
  for (const server of ["192.0.2.53", "::1", "[::1]:5353", "192.0.2.53:5353"]) {
    assert.deepStrictEqual(problemTexts(dnsLookupKind.errors?.(dnsCheck({ server }))), []);
  }
});
