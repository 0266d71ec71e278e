/** Requests and responses over HTTP/1.1 in clear text. */
import { createRealClock } from "../../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { IncomingResponse, OutgoingRequest } from "../../../src/domain/connections.ts";
import { createRequests } from "../../../src/system/http/requests.ts";
import { readPieces, readText } from "../../support/bodies.ts";
import { createAuthority, createCertificate } from "../../support/certificates.ts";
import { collectPorts, startAnswering, startServer, type TestServer } from "../../support/http_servers.ts";
import { type Rows, testRows, testTable } from "../../support/rows.ts";

const newRequests = () => createRequests({ clock: createRealClock() });
const NEVER = new AbortController().signal;
const CHUNKED = "200 OK¶Transfer-Encoding: chunked¶¶";
const INFORMATIONAL = "HTTP/1.1 100 Continue\r\n\r\n";

function send(
  server: TestServer,
  request: Partial<Omit<OutgoingRequest, "target">> & { readonly path?: string } = {},
): Promise<IncomingResponse> {
  const { path = "/", ...others } = request;
  return newRequests().send(
    { target: `${server.origin}${path}`, method: "GET", headers: {}, ...others },
    NEVER,
  );
}

/** Returns the response, or the reason of the failure. `onPort` gets the port, which no socket leads to afterward. */
async function receive(answer: string | Uint8Array, onPort: (port: number) => void): Promise<string> {
  await using server = startAnswering(answer);
  const requests = newRequests();
  const target = `${server.origin}/`;
  let response: IncomingResponse | null = null;
  try {
    response = await requests.send({ target, method: "GET", headers: {} }, NEVER);
    for (const name of ["A", "content-encoding", "Content-Length", "none"]) {
      assert.equal(response.header(name), response.headers().get(name), name);
    }
    const headers = [...response.headers()].map(([name, value]) => `${name}=${value}`).join(" ");
    return `${response.status} [${headers}] ${await readText(response)}`;
  } catch (error) {
    const { phase, reason } = requests.explain(error, target);
    return `${phase}: ${reason}`;
  } finally {
    await response?.close();
    onPort(server.port);
  }
}

const BROKEN = "body: connection closed early or malformed body";
const HEADER = "head: response has a malformed header";

/** Responses, in which ¶ is CRLF and the version is left out, and what comes of them. */
const ANSWERS = `
  a length                | 200 OK¶Content-Length: 2¶¶abc | 200 [content-length=2] ab
  no reason phrase        | 200¶Content-Length: 0¶¶ | 200 [content-length=0]
  HTTP/1.0 to the end     | HTTP/1.0 200 OK¶¶abc | 200 [] abc
  line feeds alone        | 200 OK⏎A: 1⏎⏎abc | 200 [a=1] abc
  empty lines first       | ¶¶HTTP/1.1 200 OK¶¶abc | 200 [] abc
  a header twice          | 204 No¶A: 1¶B:2 ¶a:\t3\t¶¶ | 204 [a=1, 3 b=2]
  the same length twice   | 200 OK¶Content-Length: 2¶Content-Length: 2¶¶ab | 200 [content-length=2, 2] ab
  two lengths             | 200 OK¶Content-Length: 2¶Content-Length: 3¶¶ab | head: response has a malformed content-length
  informational ones      | 100 Continue¶¶HTTP/1.1 103 Early¶Link: </a>¶¶HTTP/1.1 200 OK¶A: 1¶¶ab | 200 [a=1] ab
  a switch of protocols   | 101 Up¶Upgrade: a¶¶ab | 101 [upgrade=a]
  a status below 100      | 099 No¶¶ | head: response has no valid status
  another version         | HTTP/3.0 200 OK¶¶ | head: response is not HTTP
  a header over two lines | 200 OK¶A: 1¶ 2¶¶ | ${HEADER}
  a blank before a colon  | 200 OK¶A : 1¶¶ | ${HEADER}
  a NUL in a header       | 200 OK¶A: 1\0¶¶ | ${HEADER}
  no end of a head        | 200 OK¶A: 1¶ | head: connection closed before a response head
  too many headers        | 200 OK¶${"A: 1¶".repeat(5001)}¶ | head: head is too large
  a line without end      | 200 OK¶A: ${"a".repeat(400_000)} | head: head is too large
  chunks                  | ${CHUNKED}2;a=b¶ab¶0A ¶0123456789¶0¶A: 1¶¶ | 200 [transfer-encoding=chunked] ab0123456789
  chunks and a length     | 200 OK¶Transfer-Encoding: chunked¶Content-Length: 1¶¶2¶ab¶0¶¶ | \\
    200 [content-length=1 transfer-encoding=chunked] ab
  chunks in HTTP/1.0      | HTTP/1.0 ${CHUNKED}0¶¶ | \\
    head: response has a transfer-encoding that its HTTP version does not have
  a negative chunk        | ${CHUNKED}-1¶ | ${BROKEN}
  an enormous chunk       | ${CHUNKED}fffffffffffffffff¶ | ${BROKEN}
  a chunk that is longer  | ${CHUNKED}1¶ab¶0¶¶ | ${BROKEN}
  a chunk that is shorter | ${CHUNKED}5¶hell | ${BROKEN}
  an endless extension    | ${CHUNKED}1;${"a".repeat(20_000)} | ${BROKEN}
  long trailers           | ${CHUNKED}0¶${"A: 1¶".repeat(5_000)}¶ | ${BROKEN}
  no last chunk           | ${CHUNKED}2¶ab¶ | ${BROKEN}
  a length not reached    | 200 OK¶Content-Length: 3¶¶ab | ${BROKEN}`;

const BYTES: Rows<[answer: string | Uint8Array, outcome: string]> = {
  "a byte beyond ASCII": [latin1("HTTP/1.1 204 No\r\nA: \x80\xe4\r\n\r\n"), "204 [a=\x80\xe4] "],
  "a no-break space at the end of a header": [
    latin1("HTTP/1.1 204 No\r\nA: \xc3\xa0 \r\n\r\n"),
    "204 [a=\xc3\xa0] ",
  ],
  "a header of blanks and a bad byte, in linear time": [
    `HTTP/1.1 200 OK\r\nA:${" ".repeat(300_000)}\0\r\n\r\n`,
    HEADER,
  ],
  "as many informational ones as are accepted": [
    `${INFORMATIONAL.repeat(100)}HTTP/1.1 200 OK\r\n\r\nab`,
    "200 [] ab",
  ],
  "one more": [
    `${INFORMATIONAL.repeat(101)}HTTP/1.1 200 OK\r\n\r\nab`,
    "head: more than 100 informational responses (1xx)",
  ],
  "binary data without lines": [new Uint8Array(100).fill(0x16), "head: response is not HTTP"],
  "gzip in two members": [gzipped([gzipSync("ab"), gzipSync("cd")]), "200 [] abcd"],
  "gzip of nothing at all": [gzipped([]), "200 [] "],
  "gzip that is cut short": [gzipped([gzipSync("ab").subarray(0, -1)]), "body: compressed data is cut short"],
  "gzip with a wrong sum": [gzipped([gzipSync("ab").with(-8, 1)]), "body: compressed data is malformed"],
};

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function gzipped(members: readonly Uint8Array[]): Uint8Array {
  const head = new TextEncoder().encode("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n");
  return Uint8Array.from([head, ...members].flatMap((bytes) => [...bytes]));
}

Deno.test("createRequests() parses every form of response in clear text", async (t) => {
  await using ports = collectPorts();
  await testTable(t, ANSWERS, async (_, answer, outcome) => {
    const text = answer.replaceAll("¶", "\r\n").replaceAll("⏎", "\n");
    const whole = /^(?:HTTP|\r)/.test(text) ? text : `HTTP/1.1 ${text}`;
    assert.equal((await receive(whole, ports.add)).trim(), outcome);
  });
  await testRows(t, BYTES, async ([answer, outcome]) => {
    assert.equal(await receive(answer, ports.add), outcome);
  });
});

Deno.test("createRequests() parses a response that arrives byte by byte", async () => {
  const answer = `HTTP/1.1 ${CHUNKED}2;a=b¶ab¶0A ¶0123456789¶0¶A: 1¶¶`.replaceAll("¶", "\r\n");
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    for (const character of INFORMATIONAL + answer) await visitor.send(character);
  });
  const response = await send(server);
  assert.equal(await readText(response), "ab0123456789");
  await response.close();
});

Deno.test("createRequests() decodes many small chunks in one go", async () => {
  const chunks = "1\r\na\r\n".repeat(10_000);
  await using server = startAnswering(
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
  );
  const response = await send(server);
  const parts = await readPieces(response);
  await response.close();
  assert.equal(parts.reduce((sum, part) => sum + part.length, 0), 10_000);
  assert.ok(parts.length <= 100, `${parts.length} parts`);
});

Deno.test("createRequests() reads no more of a decompression bomb than requested", async (t) => {
  const zeros = new Uint8Array(2 * 1024 * 1024);
  const bombs = { gzip: gzipSync(zeros), br: brotliCompressSync(zeros) };
  await testRows(t, bombs, async (content, coding) => {
    const head = new TextEncoder().encode(`HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\n\r\n`);
    await using server = startAnswering(Uint8Array.from([...head, ...content]));
    const response = await send(server);
    const part = await response.read();
    assert.ok(part !== null && part.length <= 128 * 1024, `${part?.length} bytes at a time`);
    await response.close();
    await server.untilLeft();
  });
});

Deno.test("createRequests() sends a request in clear text once, whatever fails", async () => {
  await using server = startServer(async (visitor) => void await visitor.readHead());
  await assert.rejects(send(server, { method: "POST" }), {
    message: "connection closed before a response head",
  });
  assert.equal(server.visits, 1);
  assert.match(server.heads[0] ?? "", /^POST \/ HTTP\/1\.1\r\n[^]*\r\ncontent-length: 0\r\n/);
});

Deno.test("createRequests() reads a response that arrives before its request was read", async () => {
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    await visitor.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    await visitor.untilGone();
  });
  const response = await send(server, { method: "POST", body: "a".repeat(20_000_000) });
  assert.equal(response.status, 413);
  await response.close();
  await server.untilLeft();
});

Deno.test("createRequests() sends the same bytes as the runtime's client", async () => {
  await using server = startAnswering("HTTP/1.1 204 No Content\r\n\r\n");
  const host = `127.0.0.1:${server.port}`;
  const target = `http://us%20er:p%C3%A4ss@${host}/a b?x=ü#fragment`;
  const headers = { "X-Name": "Zürich", "User-Agent": "test" };
  const request = { target, method: "PUT", headers, body: "hé" };
  await (await newRequests().send(request, NEVER)).close();
  const [head = "", body] = server.heads[0]?.split("\r\n\r\n") ?? [];
  const [first, ...lines] = head.split("\r\n");
  assert.deepEqual([first, body], ["PUT /a%20b?x=%C3%BC HTTP/1.1", "hé"]);
  assert.deepEqual(lines.toSorted(), [
    "accept-encoding: gzip",
    "accept-language: *",
    "accept: */*",
    "authorization: Basic dXMgZXI6cMOkc3M=",
    "content-length: 3",
    "content-type: text/plain;charset=UTF-8",
    `host: ${host}`,
    "user-agent: test",
    "x-name: Zürich",
  ]);
});

Deno.test("createRequests() rejects a newline in a header", async () => {
  await using server = startAnswering("HTTP/1.1 204 No Content\r\n\r\n");
  await assert.rejects(send(server, { headers: { "x-a": "1\r\nx-b: 2" } }), TypeError);
  assert.equal(server.visits, 0);
});

Deno.test("createRequests() offers only HTTP/1.1 over TLS", async () => {
  const authority = createAuthority();
  const certificate = createCertificate({ authority });
  const address = { hostname: "127.0.0.1", port: 0 };
  using listener = Deno.listenTls({ ...address, ...certificate, alpnProtocols: ["h2", "http/1.1"] });
  const agreeing = listener.accept().then(async (connection) => {
    using _ = connection;
    const { alpnProtocol } = await connection.handshake();
    await connection.read(new Uint8Array(4096));
    await connection.write(new TextEncoder().encode("HTTP/1.1 204 No Content\r\n\r\n"));
    return alpnProtocol;
  });
  const target = `https://127.0.0.1:${listener.addr.port}/`;
  const request = { target, method: "GET", headers: {}, tls: { authority: authority.cert } };
  const response = await newRequests().send(request, NEVER);
  await response.close();
  assert.deepEqual([response.status, await agreeing], [204, "http/1.1"]);
});
