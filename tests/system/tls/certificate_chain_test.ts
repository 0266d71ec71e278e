import assert from "node:assert/strict";
import { createRealClock } from "../../../testing/real_clock.ts";
import { startChild, tool } from "../../../testing/tools.ts";
import { readCertificateChain } from "../../../src/system/tls/certificate_chain.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { startServer } from "../../support/http_servers.ts";
import { inTime } from "../../life/in_time.ts";

const AUTHORITY = createAuthority();
const SERVER = createCertificate({ authority: AUTHORITY });
const CHAIN = ["CN=test server < CN=test authority", "CN=test authority < CN=test authority"];

/** A server of Node, whose versions, ciphers and groups can be chosen; those of the runtime's servers can't. */
async function withNodeServer(options: object, use: (port: number) => Promise<void>): Promise<void> {
  const settings = { cert: `${SERVER.cert}\n${AUTHORITY.cert}`, key: SERVER.key, ...options };
  const program =
    `require("node:tls").createServer(${JSON.stringify(settings)}).on("tlsClientError", () => {})` +
    `.listen(0, "127.0.0.1", function () { console.log(this.address().port); })`;
  const child = startChild(tool("node"), ["-e", program], { stdin: "null", stdout: "piped", stderr: "null" });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let printed = "";
    while (!printed.includes("\n")) printed += (await inTime("the server's port", reader.read())).value ?? "";
    await use(Number(printed));
  } finally {
    child.kill("SIGKILL");
    while (!(await reader.read()).done);
    await child.status;
  }
}

/** Records of a message that announces 16 MiB. */
function flood(records: number): Uint8Array {
  const content = new Uint8Array(16_384).fill(255);
  return Uint8Array.from(Array.from({ length: records }, () => [22, 3, 3, 64, 0, ...content]).flat());
}

/** The begin of such a message, one byte a record. */
function oneByteRecords(records: number): Uint8Array {
  return Uint8Array.from(
    Array.from({ length: records }, (_, index) => [22, 3, 3, 0, 1, index < 4 ? 255 : 0]).flat(),
  );
}

async function chainOf(port: number, serverName = "localhost"): Promise<readonly string[]> {
  const chain = await readCertificateChain(
    { host: "127.0.0.1", port, tls: { serverName, authorities: [] } },
    { clock: createRealClock(), signal: AbortSignal.timeout(120_000) },
  );
  return chain.map(({ subject, issuer }) => `${subject} < ${issuer}`);
}

for (
  const [name, options] of Object.entries({
    "TLS 1.3": { minVersion: "TLSv1.3" },
    "TLS 1.3 with AES-256": { ciphers: "TLS_AES_256_GCM_SHA384" },
    "TLS 1.3 with P-256": { ecdhCurve: "prime256v1" },
    "TLS 1.3 with X25519": { ecdhCurve: "X25519" },
    "TLS 1.2": { maxVersion: "TLSv1.2" },
    "a client certificate required": { requestCert: true },
  })
) {
  Deno.test(`readCertificateChain() reads the chain of a server: ${name}`, () =>
    withNodeServer(options, async (port) => {
      assert.deepEqual(await chainOf(port), CHAIN);
      assert.deepEqual(await chainOf(port, "127.0.0.1"), CHAIN);
    }));
}

Deno.test("readCertificateChain() shows a missing intermediate certificate", () =>
  withNodeServer({ cert: SERVER.cert }, async (port) => {
    assert.deepEqual(await chainOf(port), CHAIN.slice(0, 1));
  }));

Deno.test("readCertificateChain() names why there is no chain", async (t) => {
  await t.step(
    "another key exchange",
    () =>
      withNodeServer({ ecdhCurve: "P-384", minVersion: "TLSv1.3" }, async (port) => {
        await assert.rejects(chainOf(port), /^Error: server ended the handshake with alert 40$/);
      }),
  );
  const replies: Readonly<Record<string, readonly [string | Uint8Array, RegExp]>> = {
    "an alert": [Uint8Array.of(21, 3, 3, 0, 2, 2, 40), /server ended the handshake with alert 40/],
    "nothing": ["", /connection closed by the server/],
    "another protocol": ["220 mail.example.org ESMTP\r\n", /connection closed by the server/],
    "an endless message": [
      flood(20),
      /server sent no certificate within 256 KiB/,
    ],
    // With a cost per byte that is already there, this blocks everything for a minute.
    "an endless message in records of one byte": [
      oneByteRecords(44_000),
      /server sent no certificate within 256 KiB/,
    ],
    "a malformed message": [Uint8Array.of(22, 3, 3, 0, 6, 2, 0, 0, 2, 3, 3), /message ends early/],
  };
  for (const [name, [reply, reason]] of Object.entries(replies)) {
    await t.step(name, async () => {
      await using server = startServer(async (visitor) => {
        await visitor.readSome();
        await visitor.send(reply);
        if (name.startsWith("an endless message")) await visitor.untilGone();
      });
      await assert.rejects(chainOf(server.port), reason);
    });
  }
});

Deno.test("readCertificateChain() aborts with its signal, and leaks no connection", async () => {
  const accepted = Promise.withResolvers<void>();
  await using server = startServer(async (visitor) => {
    accepted.resolve();
    await visitor.untilGone();
  });
  const end = new AbortController();
  const reading = readCertificateChain(
    { host: "127.0.0.1", port: server.port, tls: { serverName: "localhost", authorities: [] } },
    { clock: createRealClock(), signal: end.signal },
  );
  const rejected = assert.rejects(reading, /stopped/);
  await accepted.promise;
  end.abort(new Error("stopped"));
  await rejected;
  await server.untilLeft();
});
