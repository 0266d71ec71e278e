/** The requests of an `http_request` check, as real servers receive them. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import type { HttpMessage, HttpMessageTls } from "../../src/domain/generated/config.ts";
import { inTime } from "../life/in_time.ts";
import { type Certificate, createAuthority, createCertificate } from "../support/certificates.ts";
import { observeTarget } from "../support/http_check.ts";
import { startChild, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { type Rows, testRows, testTable } from "../support/rows.ts";

interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

interface Recorder extends AsyncDisposable {
  readonly origin: string;
  readonly received: readonly Received[];
}

/** Starts a server that records every request; the test provides its response. */
function startRecorder(
  answer: (request: Received) => Response = () => new Response("fine"),
  tls: { readonly cert: string; readonly key: string } | null = null,
): Recorder {
  const received: Received[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {}, ...tls }, async (request) => {
    const { method, url, headers } = request;
    const { pathname, search } = new URL(url);
    const one = { method, path: pathname + search, headers, body: await request.text() };
    received.push(one);
    return answer(one);
  });
  return {
    origin: `${tls === null ? "http" : "https"}://127.0.0.1:${server.addr.port}`,
    received,
    [Symbol.asyncDispose]: () => inTime("the recorder to end", server.shutdown()),
  };
}

Deno.test("observeHttpRequest() sends every method, with its body if it has one", async (t) => {
  const bodies = { GET: null, HEAD: null, DELETE: "which", POST: '{"a": "grün 🙂"}', PUT: "" };
  await testRows(t, { ...bodies, PATCH: "x".repeat(200_000) }, async (body, name) => {
    const method = name as HttpMessage["method"];
    await using server = startRecorder();
    await observeTarget(`${server.origin}/a?b#c`, { request: { method, ...body !== null && { body } } });
    const [one] = server.received;
    assert.deepEqual([one?.method, one?.path, one?.body], [method, "/a?b", body ?? ""]);
  });
});

Deno.test("observeHttpRequest() sends the config's headers", async (t) => {
  const given = {
    Authorization: "Bearer abc",
    Accept: "application/json",
    "X-Text": "grün 🙂",
    "X-Space": "  a\tb ",
    "user-Agent": "probe/1",
    "Content-Type": "application/json",
    "X-Empty": "",
  };
  const seen = (headers: Headers, name: string): string => {
    const bytes = Uint8Array.from(headers.get(name) ?? "", (character) => character.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  };
  await using server = startRecorder();
  await observeTarget(server.origin, { request: { method: "POST", headers: given, body: "{}" } });
  const [{ headers } = { headers: new Headers() }] = server.received;
  await testRows(t, given, (value, name) => assert.equal(seen(headers, name), value.trim()));
  await t.step("its own content type for a text", async () => {
    await observeTarget(server.origin, { request: { method: "POST", body: "x" } });
    assert.equal(server.received[1]?.headers.get("content-type"), "text/plain;charset=UTF-8");
  });
});

Deno.test("observeHttpRequest() sends the Host that the config names, over TLS too", async (t) => {
  const authority = createAuthority();
  const certificate = createCertificate({ authority });
  for (const tls of [null, certificate]) {
    await t.step(tls === null ? "http:" : "https:", async () => {
      await using directory = await tempDirectory({ "ca.pem": authority.cert });
      await using server = startRecorder(undefined, tls);
      const request = {
        headers: { Host: "shop.example.org" },
        ...(tls !== null && { tls: { caFile: `${directory.path}/ca.pem` } }),
      };
      assert.equal((await observeTarget(server.origin, { request })).output, "status is 200");
      assert.equal(server.received[0]?.headers.get("host"), "shop.example.org");
    });
  }
});

Deno.test("observeHttpRequest() sends body and headers along a redirect as a browser does", async (t) => {
  const table = `
    301 | POST | GET
    303 | POST | GET
    303 | PUT  | GET
    302 | PUT  | PUT
    307 | POST | POST`;
  await testTable(t, table, async (status, method, next) => {
    await using server = startRecorder(({ path }) => {
      const redirect = { status: Number(status), headers: { location: "/next" } };
      return new Response(null, path === "/" ? redirect : {});
    });
    const headers = { "Content-Type": "a/b", "Content-Language": "de", Authorization: "secret" };
    const request = { method: method as HttpMessage["method"], headers, body: "text" };
    await observeTarget(`${server.origin}/`, { request });
    const { headers: seen, ...last } = server.received[1] ?? assert.fail();
    assert.deepEqual([last.method, last.path, seen.get("authorization")], [next, "/next", "secret"]);
    assert.deepEqual(
      [last.body, seen.get("content-type"), seen.get("content-language")],
      method === next ? ["text", "a/b", "de"] : ["", null, null],
    );
  });
});

Deno.test("observeHttpRequest() does not send configured credentials to another origin", async () => {
  await using other = startRecorder();
  await using server = startRecorder(() =>
    new Response(null, { status: 307, headers: { location: `${other.origin}/elsewhere` } })
  );
  const headers = {
    Authorization: "secret",
    Cookie: "secret",
    "X-Api-Key": "secret",
    Host: "shop.example.org",
    Accept: "a/b",
    "Content-Type": "c/d",
  };
  await observeTarget(`${server.origin}/`, { request: { method: "POST", headers, body: "text" } });
  const [{ headers: seen, body } = { headers: new Headers(), body: "" }] = other.received;
  const credentials = ["authorization", "cookie", "x-api-key"];
  assert.deepEqual(credentials.map((name) => seen.get(name)), [null, null, null]);
  assert.equal(`http://${seen.get("host")}`, other.origin);
  assert.deepEqual([seen.get("accept"), seen.get("content-type"), body], ["a/b", "c/d", "text"]);
});

Deno.test("observeHttpRequest() trusts the configured CA, and shows its certificate", async (t) => {
  const authority = createAuthority();
  const stranger = createAuthority();
  const certificate = createCertificate({ authority });
  const client = createCertificate({ authority });
  await using directory = await tempDirectory({
    "ca.pem": authority.cert,
    "other.pem": stranger.cert,
    "both.pem": `# ours\n${stranger.cert}\n${authority.cert}`,
    "client.pem": client.cert,
    "client.key": client.key,
  });
  const ca = `${directory.path}/ca.pem`;
  const pair = { certificate: `${directory.path}/client.pem`, key: `${directory.path}/client.key` };
  const tls = { cert: certificate.cert, key: certificate.key };
  const other = { hosts: ["example.org"], addresses: [] };
  const rows: Rows<[given: HttpMessageTls, facts: object, failure: RegExp | null]> = {
    "without it": [{}, {}, /certificate is not trusted/],
    "its own": [{ caFile: ca }, {}, null],
    "among others": [{ caFile: `${directory.path}/both.pem` }, {}, null],
    "another one": [{ caFile: `${directory.path}/other.pem` }, {}, /certificate is not (trusted|accepted)/],
    "expired": [{ caFile: ca }, { fromDay: -3, toDay: -2 }, /certificate expired 2 d(?: \d+ s)? ago$/],
    "not valid yet": [{ caFile: ca }, { fromDay: 2, toDay: 3 }, /certificate is not valid yet$/],
    "for another name": [{ caFile: ca }, other, /certificate is not valid for name "127.0.0.1"$/],
    "a client certificate that the server does not request": [{ caFile: ca, ...pair }, {}, null],
  };
  await testRows(t, rows, async ([given, facts, failure]) => {
    await using server = startRecorder(undefined, createCertificate({ authority, ...facts }));
    const { output, condition } = await observeTarget(server.origin, { request: { tls: given } });
    assert.match(output, failure ?? /^status is 200$/);
    if (failure !== null) assert.match(output, /^TLS handshake with 127\.0\.0\.1:\d+ failed: certificate /);
    assert.equal(condition, failure === null ? "ok" : "critical");
  });
  await t.step("a server that demands one", async (t) => {
    await using server = await startDemanding({ ...tls, ca: authority.cert });
    await t.step("and gets none", async () => {
      const { output } = await observeTarget(server.origin, { request: { tls: { caFile: ca } } });
      assert.match(output, /failed: (server requires a client certificate|connection)/);
    });
    await t.step("and gets it", async () => {
      const run = { request: { tls: { caFile: ca, ...pair } }, bodyPart: "hello test server" };
      assert.equal((await observeTarget(server.origin, run)).output, "status is 200");
    });
    await t.step("behind a redirect from another origin, which does not receive it", async () => {
      await using first = startRecorder(
        () => new Response(null, { status: 302, headers: { location: server.origin } }),
        tls,
      );
      const { output } = await observeTarget(first.origin, { request: { tls: { caFile: ca, ...pair } } });
      assert.match(output, /failed: (server requires a client certificate|connection)/);
    });
  });
});

Deno.test("observeHttpRequest() trusts a certificate by its fingerprint, its own file, or without a reason", async (t) => {
  const usual = createCertificate();
  const strange = createCertificate({
    isAuthority: true,
    hosts: ["a.example"],
    addresses: [],
    fromDay: -9,
    toDay: -2,
  });
  await using directory = await tempDirectory({ "own.pem": usual.cert });
  const fingerprintOf = ({ cert }: Certificate) => new X509Certificate(cert).fingerprint256;
  const digits = fingerprintOf(usual).replaceAll(":", "").toLowerCase();
  const another =
    `critical: TLS handshake with HOST failed: certificate has the fingerprint ${digits}, expected another one`;
  const rows: Rows<[served: Certificate, tls: HttpMessageTls, expected: string]> = {
    "the expected one": [strange, { fingerprint: fingerprintOf(strange) }, "ok: status is 200"],
    "in small letters without colons": [usual, { fingerprint: digits }, "ok: status is 200"],
    "another one": [usual, { fingerprint: fingerprintOf(strange) }, another],
    "any one": [strange, { verify: false }, "ok: status is 200"],
    "its own file": [usual, { caFile: `${directory.path}/own.pem` }, "ok: status is 200"],
    "the file of another one": [
      createCertificate(),
      { caFile: `${directory.path}/own.pem` },
      "critical: TLS handshake with HOST failed: certificate is not accepted (bad signature)",
    ],
    "neither": [
      usual,
      { verify: true },
      "critical: TLS handshake with HOST failed: certificate is not trusted (unknown issuer)",
    ],
  };
  await testRows(t, rows, async ([served, tls, expected]) => {
    await using server = startRecorder(({ body }) => new Response(body), served);
    const body = "x".repeat(100_000);
    const run = { method: "POST", request: { tls, body }, bodyPart: "xxx" } as const;
    const { condition, output } = await observeTarget(server.origin, run);
    assert.equal(`${condition}: ${output.replace(server.origin.slice("https://".length), "HOST")}`, expected);
    assert.deepEqual(server.received.map((one) => one.body), condition === "ok" ? [body] : []);
  });
  await t.step("after a redirect to another origin it counts no more", async () => {
    await using second = startRecorder(undefined, strange);
    await using first = startRecorder(
      () => new Response(null, { status: 302, headers: { location: second.origin } }),
      usual,
    );
    for (const tls of [{ fingerprint: digits }, { verify: false }]) {
      const { output } = await observeTarget(first.origin, { request: { tls } });
      assert.match(output, /failed: certificate expired/);
    }
    assert.deepEqual(second.received, []);
  });
  await t.step("the time until expiry counts all the same", async () => {
    await using server = startRecorder(undefined, strange);
    const certificate = { warningBeforeExpiryMs: 2, criticalBeforeExpiryMs: 1 };
    for (const tls of [{ fingerprint: fingerprintOf(strange) }, { verify: false }]) {
      const { output } = await observeTarget(server.origin, { request: { tls }, certificate });
      assert.match(output, /^certificate expired 2 d/);
    }
  });
});

Deno.test("observeHttpRequest() reads the files at each run", async () => {
  const authority = createAuthority();
  await using directory = await tempDirectory({ "ca.pem": createAuthority().cert });
  await using server = startRecorder(undefined, createCertificate({ authority }));
  const run = { request: { tls: { caFile: `${directory.path}/ca.pem` } } };
  assert.match((await observeTarget(server.origin, run)).output, /certificate is not/);
  await Deno.writeTextFile(`${directory.path}/ca.pem`, authority.cert);
  assert.equal((await observeTarget(server.origin, run)).output, "status is 200");
});

Deno.test("observeHttpRequest() returns unknown for unusable files", async (t) => {
  const authority = createAuthority();
  const { cert, key } = createCertificate({ authority });
  await using server = startRecorder(undefined, createCertificate({ authority }));
  await using directory = await tempDirectory({
    "cert.pem": cert,
    "key.pem": key,
    "other.key": createCertificate().key,
    "words.pem": "no certificate",
    "words.key": "no key",
    "broken.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    "broken.key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    "encrypted.key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
  });
  const at = (name: string): string => `${directory.path}/${name}`;
  const certificate = at("cert.pem");
  const table = `
    missing.pem   | cannot read tls.ca_file "${at("missing.pem")}": file does not exist
    words.pem     | tls.ca_file contains no certificate, expected PEM ("-----BEGIN CERTIFICATE-----")
    broken.pem    | tls.ca_file has a malformed certificate (invalid peer certificate: BadEncoding)
    words.key     | tls.key contains no private key, expected PEM ("-----BEGIN PRIVATE KEY-----")
    broken.key    | tls.key has a malformed private key
    encrypted.key | tls.key is encrypted, expected one without a passphrase
    other.key     | tls.key does not belong to the first certificate of tls.certificate`;
  await testTable(t, table, async (name, expected) => {
    const tls = name.endsWith(".key") ? { certificate, key: at(name) } : { caFile: at(name) };
    const { condition, output } = await observeTarget(server.origin, { request: { tls }, asWarning: true });
    assert.deepEqual([condition, output], ["unknown", expected]);
  });
});

/** Starts a server that requires a client certificate, and greets by its name; it runs in Node. */
async function startDemanding(
  files: Readonly<Record<"cert" | "key" | "ca", string>>,
): Promise<AsyncDisposable & { readonly origin: string }> {
  const directory = await tempDirectory(files);
  const program = fileURLToPath(new URL("../fixtures/demand_certificate.js", import.meta.url));
  const paths = ["cert", "key", "ca"].map((name) => `${directory.path}/${name}`);
  const child = startChild(tool("node"), [program, ...paths], { stdout: "piped", stderr: "null" });
  const reader = child.stdout.getReader();
  const { value = new Uint8Array() } = await inTime("the server in Node to listen", reader.read());
  const port = new TextDecoder().decode(value).trim();
  return {
    origin: `https://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await reader.cancel();
      await inTime("the end of the server in Node", child.status);
      await directory[Symbol.asyncDispose]();
    },
  };
}
