import assert from "node:assert/strict";
import { dnsLookupKind } from "../../src/checks/dns_lookup.ts";
import type { DnsLookupParameters } from "../../src/domain/generated/config.ts";
import { createDns } from "../../src/system/dns.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { freePort } from "../support/http_servers.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";
import { dnsCheck, observeConnection, observeInOwnProcess } from "../support/connection_check.ts";
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
  ["SRV", [
    record(
      "SRV",
      [1, 2, 0x13, 0xc4].flatMap((byte, index) => index < 2 ? [0, byte] : [byte]),
      dnsName("sip.test"),
    ),
  ], [
    "1 2 5060 sip.test",
  ]],
  [
    "SOA",
    [record("SOA", dnsName("ns1.test"), dnsName("admin.test"), [1, 2, 3, 4, 5].flatMap((n) => [0, 0, 0, n]))],
    ["ns1.test admin.test 1 2 3 4 5"],
  ],
  ["CAA", [record("CAA", [128, 5], text("issueca.test; a=b"))], ['128 issue "ca.test; a=b"']],
  ["TXT", [record("TXT", dnsTexts("v=spf1 ", "-all"))], ["v=spf1 -all"]],
];

Deno.test("observeDnsLookup() parses every type of record", async (t) => {
  await using steps = concurrentSteps(t);
  for (const [type, records, values] of RECORDS) {
    steps.add(type, async () => {
      await using server = startDnsServer(answering(...records));
      const check = dnsCheck({ type, values, server: `127.0.0.1:${server.port}` });
      const found = await observeConnection(check);
      assert.strictEqual(found.condition, "ok", found.output);
      assert.strictEqual(found.metrics.records, records.length);
      assert.deepStrictEqual(server.queries.map(({ name, type }) => [name, type]), [[
        "www.example.test",
        type,
      ]]);
      assert.deepStrictEqual(dnsLookupKind.errors?.(check), []);
    });
  }
});

Deno.test("observeDnsLookup() queries the reverse name of an IP address", async () => {
  await using server = startDnsServer(answering(record("PTR", dnsName("host.test"))));
  for (const name of ["192.0.2.1", "2001:db8::1"]) {
    const check = dnsCheck({ type: "PTR", name, server: `127.0.0.1:${server.port}` });
    assert.strictEqual((await observeConnection(check)).output, `PTR of ${name}: "host.test"`);
    assert.deepStrictEqual(dnsLookupKind.errors?.(check), []);
  }
  assert.deepStrictEqual(server.queries.map(({ name }) => name), [
    "1.2.0.192.in-addr.arpa",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
  ]);
});

Deno.test("observeDnsLookup() compares the records with the expected ones", async (t) => {
  await using server = startDnsServer(answering(dnsAddress("192.0.2.1"), dnsAddress("192.0.2.2")));
  const both = 'A of www.example.test: "192.0.2.1", "192.0.2.2"';
  const found = 'A of www.example.test: found "192.0.2.1", "192.0.2.2"';
  const rows: readonly (readonly [Partial<DnsLookupParameters>, condition: string, output: string])[] = [
    [{}, "ok", both],
    [{ count: 2, atLeast: 2, contains: ["192.0.2.2"] }, "ok", both],
    [{ values: ["192.0.2.1"] }, "critical", `${found}, expected "192.0.2.1"`],
    [{ values: ["192.0.2.1", "192.0.2.3"] }, "critical", `${found}, expected "192.0.2.1", "192.0.2.3"`],
    [{ contains: ["192.0.2.9"], asWarning: true }, "warning", `${found} without "192.0.2.9"`],
    [{ count: 1 }, "critical", "A of www.example.test: found 2 records, expected 1"],
    [{ atLeast: 3 }, "critical", "A of www.example.test: found 2 records, expected at least 3"],
  ];
  for (const [parameters, condition, output] of rows) {
    await t.step(JSON.stringify(parameters), async () => {
      const check = dnsCheck({ server: `127.0.0.1:${server.port}`, ...parameters });
      const { condition: observed, output: printed } = await observeConnection(check);
      assert.deepStrictEqual([observed, printed], [condition, output]);
    });
  }
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

/** The misbehavior of a server, and the result of the check. */
const HOSTILE: Readonly<Record<string, readonly [DnsBehavior, condition: string, output: RegExp]>> = {
  "silence": [() => [], "critical", /: timeout after 0\.3 s \(127\.0\.0\.1:\d+\)$/],
  "another id": [
    (query) => [dnsReply(query, [dnsAddress("6.6.6.6")], { id: query.id ^ 1 })],
    "critical",
    /: response to another query \(/,
  ],
  "a flood behind the answer": [
    (query) => new Array(300).fill(dnsReply(query, [dnsAddress("192.0.2.1")])),
    "ok",
    /: "192\.0\.2\.1"$/,
  ],
  "records that are announced and missing": [
    (query) => [dnsReply(query, [dnsAddress("192.0.2.1")]).slice(0, -3)],
    "critical",
    /: malformed response \(/,
  ],
  "a name that refers to itself": [
    (query) => [dnsReply(query, [record("CNAME", [0xc0, 12 + query.question.length + 12])])],
    "critical",
    /: malformed response \(/,
  ],
  "an address of three bytes": [
    (query) => [dnsReply(query, [record("A", [1, 2, 3])])],
    "critical",
    /: malformed response \(/,
  ],
  "truncated": [
    (query) => [dnsReply(query, [dnsAddress("192.0.2.1")], { isTruncated: true })],
    "critical",
    /: truncated response \(/,
  ],
  "records of another name": [
    (query) => [dnsReply(query, [{ ...dnsAddress("6.6.6.6"), name: "other.test" }])],
    "critical",
    /: no records \(127\.0\.0\.1:\d+\)$/,
  ],
  "an alias": [
    (query) => [
      dnsReply(query, [
        { ...dnsAddress("192.0.2.1"), name: "OTHER.test" },
        record("CNAME", dnsName("other.test")),
      ]),
    ],
    "ok",
    /: "192\.0\.2\.1"$/,
  ],
  "aliases in a circle": [
    (query) => [
      dnsReply(query, [
        record("CNAME", dnsName("other.test")),
        { ...record("CNAME", dnsName("www.example.test")), name: "other.test" },
      ]),
    ],
    "critical",
    /: no records \(/,
  ],
  "no such name": [
    (query) => [dnsReply(query, [], { code: 3 })],
    "critical",
    /: no such name \(NXDOMAIN\) \(127/,
  ],
  "an unknown error": [(query) => [dnsReply(query, [], { code: 11 })], "critical", /: error code 11 \(/],
  "thousands of records": [
    (query) => [
      dnsReply(
        query,
        Array.from({ length: 4000 }, (_, index) => dnsAddress(`10.1.${index >> 8}.${index & 255}`)),
      ),
    ],
    "ok",
    /: "10\.1\.0\.0", "10\.1\.0\.1", "10\.1\.0\.10", "10\.1\.0\.100", "10\.1\.0\.101" and 3995 more$/,
  ],
};

Deno.test("observeDnsLookup() returns a result in time, whatever the server does", async (t) => {
  await using steps = concurrentSteps(t);
  for (const [name, [behavior, condition, output]] of Object.entries(HOSTILE)) {
    steps.add(name, async () => {
      await using server = startDnsServer(behavior);
      const found = await observeConnection(
        dnsCheck({ server: `127.0.0.1:${server.port}` }, output.source.includes("timeout") ? 300 : undefined),
      );
      assert.match(found.output, output);
      assert.strictEqual(found.condition, condition);
    });
  }
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
  await using server = startDnsServer((query) => [
    dnsReply(query, [record("TXT", dnsTexts("\u001b[31mred\n")), long]),
  ]);
  const check = dnsCheck({ type: "TXT", server: `127.0.0.1:${server.port}` });
  const { condition, output } = await observeConnection(check);
  assert.strictEqual(condition, "ok");
  assert.match(output, /^TXT of www\.example\.test: "\\x1b\[31mred\\n", "x+…?"$/);
  assert(output.length < 300);
});

Deno.test("observeDnsLookup() requires net access to its servers, and names a missing flag", async () => {
  await using server = startDnsServer(answering(dnsAddress("192.0.2.1")));
  const address = `127.0.0.1:${server.port}`;
  const check = dnsCheck({ server: address });
  const { net = [], ...others } = await dnsLookupKind.requiredPermissions(check, createMemorySystem());
  assert.deepStrictEqual([net, others], [[address], {}]);
  const flags = ["--allow-read", "--allow-env", "--allow-sys"];
  const granted = await observeInOwnProcess(check, { flags: [...flags, `--allow-net=${net}`] });
  assert.strictEqual(granted.condition, "ok");
  const refused = await observeInOwnProcess(check, { flags: [...flags, "--allow-net=127.0.0.1:1"] });
  assert.deepStrictEqual([refused.condition, refused.output], [
    "unknown",
    `A of www.example.test: needs network access to "${address}": grant --allow-net=${address}`,
  ]);
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
  const [own] = await createDns(createMemorySystem().clock).machineServers();
  if (own === undefined) return;
  const { condition, output } = await observeInOwnProcess(check, {
    flags: ["--allow-read", "--allow-env", "--allow-sys", "--allow-net=127.0.0.1:1"],
  });
  assert.strictEqual(condition, "unknown");
  assert.ok(output.includes(`grant --allow-net=${own.host.includes(":") ? `[${own.host}]` : own.host}:53`));
});

Deno.test("dnsLookupKind rejects invalid names, servers and records", () => {
  const rows: readonly (readonly [Partial<DnsLookupParameters>, string])[] = [
    [{ name: "a..b" }, "name: is not a domain name, expected labels of 1 to 63 characters"],
    [{ name: `${"x".repeat(64)}.test` }, "name: is not a domain name, expected labels of 1 to 63 characters"],
    [{ name: "ü/x.test" }, "name: is not a domain name, expected labels of 1 to 63 characters"],
    ...["ns.example.org", "192.0.2.256", "::1:53x", "192.0.2.1:0", "127.0.0.1:70000", "[::1]"].map((server) =>
      [
        { server },
        `server: "${server}" is not an IP address, expected one such as 192.0.2.53 or [2001:db8::53]:5353`,
      ] as const
    ),
    [{ values: ["::1"] }, "values: contains no A record, expected one such as 192.0.2.1"],
    [
      { type: "AAAA", contains: ["192.0.2.1"] },
      "contains: contains no AAAA record, expected one such as 2001:db8::1",
    ],
    [
      { type: "MX", values: ["mail.test"] },
      "values: contains no MX record, expected one such as 10 mail.example.org",
    ],
  ];
  for (const [parameters, expected] of rows) {
    const found = dnsLookupKind.errors?.(dnsCheck(parameters)) ?? [];
    assert.deepStrictEqual(found.map(({ path, message }) => `${path.join(".")}: ${message}`), [expected]);
  }
  for (const server of ["192.0.2.53", "::1", "[::1]:5353", "192.0.2.53:5353"]) {
    assert.deepStrictEqual(dnsLookupKind.errors?.(dnsCheck({ server })), []);
  }
});
