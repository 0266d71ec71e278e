/**
 * A name with several IP addresses, of which a server has only the last one. Debian's libnss-wrapper provides such a
 * name to the system's functions, in separate processes.
 */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import type { OutgoingMail } from "../../src/domain/system.ts";
import { runArguments } from "../../testing/source.ts";
import { inTime } from "../life/in_time.ts";
import { type Certificate, createAuthority, createCertificate } from "../support/certificates.ts";
import {
  certificateCheck,
  type ConnectionCheck,
  observeInOwnProcess,
  tcpCheck,
} from "../support/connection_check.ts";
import { httpCheck } from "../support/http_check.ts";
import { response, startRefusing, startServer, type Visitor } from "../support/http_servers.ts";
import { startMailServer } from "../support/mail_server.ts";
import { makePipe } from "../support/make_pipe.ts";
import { fixture } from "../support/processes.ts";
import { runChild, startChild, testWith, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";
import fc from "../support/property.ts";
import { decodeResponse, encodeQuery, recordText } from "../../src/system/dns.ts";
import { dnsAddress, dnsName, type DnsQuery, dnsReply } from "../support/dns_server.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { provided } from "../support/concurrent_tests.ts";

const NAME = "three.example";
/** Servers listen on the last one. */
const ADDRESSES = ["127.0.0.7", "127.0.0.8", "127.0.0.1"] as const;

/** Creates an environment in which the name resolves, and a CA is trusted. */
async function withName(
  use: (environment: Readonly<Record<string, string>>, certificate: Certificate) => Promise<void>,
): Promise<void> {
  const authority = createAuthority();
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  await Deno.writeTextFile(`${directory}/authority.pem`, authority.cert);
  await Deno.writeTextFile(`${directory}/hosts`, ADDRESSES.map((address) => `${address} ${NAME}\n`).join(""));
  const environment = {
    LD_PRELOAD: tool("nss_wrapper"),
    NSS_WRAPPER_HOSTS: `${directory}/hosts`,
    DENO_CERT: `${directory}/authority.pem`,
  };
  await use(environment, createCertificate({ authority, hosts: [NAME], toDay: 90 }));
}

/** Accepts all attempts to connect to an IP address and a port, and never responds. */
async function startMute(address: string, port: number): Promise<AsyncDisposable> {
  const child = startChild(tool("python3"), [fixture("full_backlog.py"), address, String(port)], {
    stdin: "piped",
    stdout: "piped",
  });
  const reader = child.stdout.getReader();
  const { value = new Uint8Array() } = await inTime("the full backlog", reader.read());
  assert.match(new TextDecoder().decode(value), /^full/);
  return {
    async [Symbol.asyncDispose]() {
      await child.stdin.close();
      await reader.cancel();
      await inTime("the end of the full backlog", child.status);
    },
  };
}

async function answer(visitor: Visitor): Promise<void> {
  await visitor.readSome();
  await visitor.send(response(200, {}, "pong"));
}

/** Checks of the server on one IP address of the name, or on every one. */
const CHECKS: Readonly<Record<string, (port: number, everyAddress: boolean) => ConnectionCheck>> = {
  "tcp_connect": (port, everyAddress) =>
    tcpCheck({ host: NAME, port, everyAddress, send: "ping", expect: "pong" }),
  "tcp_connect with TLS": (port, everyAddress) =>
    tcpCheck({ host: NAME, port, everyAddress, tls: true, send: "ping", expect: "pong" }),
  "tls_certificate": (port, everyAddress) => certificateCheck({ host: NAME, port, everyAddress }),
  "http_request": (port, everyAddress) =>
    httpCheck(`http://${NAME}:${port}/`, { bodyPart: "pong", request: { everyAddress } }),
};

/** The flags of a process that may connect to the name alone. */
const flagsFor = (port: number): readonly string[] => [
  "--allow-read",
  "--allow-env",
  "--allow-sys",
  `--allow-net=${NAME}:${port}`,
];

for (const [name, checkOf] of Object.entries(CHECKS)) {
  provided(withName, testWith("nss_wrapper"))(
    `${name} tries all IP addresses of a name or names those that fail, with a permission for the name`,
    async (environment, certificate) => {
      await using server = startServer(answer, /tls/i.test(name) ? { certificate } : {});
      const { port } = server;
      const options = { flags: flagsFor(port), environment };
      const any = await observeInOwnProcess(checkOf(port, false), options);
      assert.equal(any.condition, "ok", JSON.stringify(any));
      const { condition, output, metrics } = await observeInOwnProcess(checkOf(port, true), options);
      const [first, second] = ADDRESSES.map((address) =>
        `${address}: connecting to ${address}:${port} failed: connection refused`
      );
      assert.equal(`${condition}: ${output}`, `critical: 2 of 3 addresses failed: ${first}; ${second}`);
      assert.deepEqual([metrics["addresses"], metrics["failed_addresses"]], [3, 2]);
    },
  );
}

provided(withName, testWith("nss_wrapper", "python3"))(
  "tcp_connect tries the next IP address if one does not respond",
  async (environment, certificate) => {
    for (const tls of [false, true]) {
      await using server = startServer(answer, tls ? { certificate } : {});
      await using _mute = await startMute(ADDRESSES[0], server.port);
      const check = tcpCheck({ host: NAME, port: server.port, tls, send: "ping", expect: "pong" });
      const found = await observeInOwnProcess(check, { environment });
      assert.equal(found.condition, "ok", JSON.stringify(found));
    }
  },
);

testWith("nss_wrapper")("tcp_connect enforces its timeout while a name does not resolve", async () => {
  await using temporary = await tempDirectory();
  // A look-up of the name waits until the pipe has a writer.
  const hosts = `${temporary.path}/hosts`;
  await makePipe(hosts);
  for (const tls of [false, true]) {
    const check = tcpCheck({ host: NAME, port: 9, tls }, 300);
    const environment = { LD_PRELOAD: tool("nss_wrapper"), NSS_WRAPPER_HOSTS: hosts };
    const found = await observeInOwnProcess(check, { environment });
    assert.equal(found.output, `timeout after 0.3 s while resolving the name or connecting to ${NAME}:9`);
    assert.ok((found.metrics["total_ms"] ?? Infinity) < 5000, JSON.stringify(found.metrics));
  }
});

provided(withName, testWith("nss_wrapper"))(
  "tcp_connect returns the reason if no IP address responds",
  async (environment) => {
    using refusing = await startRefusing();
    const { port } = refusing;
    const check = tcpCheck({ host: NAME, port });
    const found = await observeInOwnProcess(check, { environment });
    assert.equal(found.output, `connecting to ${NAME}:${port} failed: connection refused`);
  },
);

provided(withName, testWith("nss_wrapper"))(
  "send() delivers to the first IP address of a name that accepts the email",
  async (environment, certificate) => {
    await using server = await startMailServer({ tls: { certificate, begin: "STARTTLS" } });
    const mail: OutgoingMail = {
      host: NAME,
      port: server.port,
      username: "",
      password: "",
      sender: "monitor@example.org",
      receivers: ["admin@example.org"],
      subject: "CRITICAL: Website",
      text: "down\n",
      messageId: "<1@example.org>",
      references: [],
      headers: {},
      dateMs: 0,
    };
    const { code, stdout, stderr } = await runChild(Deno.execPath(), [
      ...runArguments(flagsFor(server.port)),
      fileURLToPath(new URL("../support/send_mail.ts", import.meta.url)),
      ...[JSON.stringify(mail), "required"],
    ], { env: environment });
    assert.equal(code, 0, stderr);
    const { steps, end } = JSON.parse(stdout);
    assert.deepEqual(steps, ["resolved", "connected", "TLS", "accepted"], JSON.stringify(end));
    assert.equal(server.mails.length, 1);
  },
);

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
