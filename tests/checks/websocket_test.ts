import assert from "node:assert/strict";
import { websocketKind } from "../../src/checks/websocket.ts";
import type { CheckOf } from "../../src/domain/check.ts";
import type { WebsocketParameters } from "../../src/domain/generated/config.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { checkOf, contextOf, tempDirectory } from "../../testing/builders.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { flood, leave } from "../support/hostile_servers.ts";
import { startServer, type Visitor } from "../support/http_servers.ts";
import { problemTexts } from "../support/observe_check.ts";
import { type Rows, testRows } from "../support/rows.ts";

type Settings = Partial<WebsocketParameters>;

function socketCheck(
  parameters: WebsocketParameters | Settings & { readonly url: string },
): CheckOf<"websocket"> {
  return checkOf("websocket", { asWarning: false, ...parameters }, { timeoutMs: 10_000 });
}

async function observe(check: CheckOf<"websocket">, clock: FakeClock = createFakeClock()): Promise<string> {
  const system = { clock, connections: createConnections(clock) };
  const { condition, output } = await websocketKind.observe(check, contextOf({ system }));
  assert.equal(clock.timers, 0);
  return `${condition}: ${output.replaceAll(/127\.0\.0\.1:\d+/g, "HOST")}`;
}

const HEAD = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

const bytes = (...some: readonly number[]): Uint8Array => Uint8Array.from(some);
const text = (content: string, first = 0x81): Uint8Array =>
  bytes(first, content.length, ...new TextEncoder().encode(content));

const sending = (...parts: readonly (string | Uint8Array)[]) => async (visitor: Visitor) => {
  await visitor.readHead();
  for (const part of parts) await visitor.send(part);
  await visitor.untilGone();
};

const ROWS: Rows<
  [meet: (visitor: Visitor, clock: FakeClock) => Promise<void>, settings: Settings, expected: string]
> = {
  "an open socket": [sending(HEAD), {}, "ok: connected"],
  "a message in parts, behind others and a ping": [
    sending(HEAD, text("first"), bytes(0x89, 1, 7), text("sec", 0x01), text("ond", 0x80), bytes(0x88, 0)),
    { expect: "^second$" },
    'ok: connected, a message matches "^second$"',
  ],
  "other messages, and the end": [
    sending(HEAD, text("first"), bytes(0x88, 6, 3, 0xe9, ...new TextEncoder().encode("away"))),
    { expect: "^second$" },
    'critical: closed by the server with 1001 "away", expected a message that matches "^second$"; the last one was "first"',
  ],
  "an end without a close frame": [
    async (visitor) => {
      await visitor.readHead();
      await visitor.send(HEAD);
    },
    { expect: "a" },
    'critical: connection closed by the server, expected a message that matches "a"',
  ],
  "another status": [
    sending("HTTP/1.1 403 Forbidden\r\n\r\n"),
    {},
    'critical: server replied "HTTP/1.1 403 Forbidden", expected status 101',
  ],
  "the response to another handshake": [
    sending(HEAD.replace("s3pP", "xxxx")),
    {},
    "critical: server replied with status 101, but not to this handshake",
  ],
  "no response": [leave, {}, "critical: server sent no whole response to the handshake"],
  "a flood": [flood, {}, "critical: server sent no whole response to the handshake"],
  "a message that is too long": [
    async (visitor) => {
      await visitor.readHead();
      await visitor.send(HEAD);
      await visitor.send(bytes(0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0));
    },
    { expect: "a" },
    'unknown: more than 1024 KiB came, expected a message that matches "a"',
  ],
  "a flood of small messages": [
    async (visitor) => {
      await visitor.readHead();
      await visitor.send(HEAD);
      const messages = bytes(...new Array(4000).fill([0x81, 1, 120]).flat());
      while (true) await visitor.send(messages);
    },
    { expect: "(?:a{20}b?){20}$" },
    'unknown: cannot search all messages, expected a message that matches "(?:a{20}b?){20}$"',
  ],
  "a masked message": [
    sending(HEAD, bytes(0x81, 0x81, 0, 0, 0, 0, 120)),
    { expect: "a" },
    "critical: server sent a frame that is not of the protocol",
  ],
  "silence": [
    async (visitor, clock) => {
      await visitor.readHead();
      await visitor.send(HEAD);
      await visitor.readBytes(1);
      await clock.advance(10_000);
      await visitor.untilGone();
    },
    { send: "a", expect: "a" },
    "critical: timeout after 10 s while reading from HOST",
  ],
  "the same as a warning": [
    leave,
    { asWarning: true },
    "warning: server sent no whole response to the handshake",
  ],
};

Deno.test("websocket opens a connection, sends, and waits for a message", async (t) => {
  await testRows(t, ROWS, async ([meet, settings, expected]) => {
    const clock = createFakeClock();
    await using server = startServer((visitor) => meet(visitor, clock));
    assert.equal(
      await observe(socketCheck({ url: `ws://127.0.0.1:${server.port}/`, ...settings }), clock),
      expected,
    );
  });
});

Deno.test("websocket works with a server of the runtime, also over TLS", async (t) => {
  const authority = createAuthority();
  const certificate = createCertificate({ authority });
  await using directory = await tempDirectory({ "ca.pem": authority.cert });
  const answer = (request: Request): Response => {
    if (request.headers.get("authorization") !== "Bearer a") return new Response("", { status: 401 });
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) => socket.send(`${new URL(request.url).search} ${String(data).length}`);
    return response;
  };
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  for (const secure of [false, true]) {
    await t.step(secure ? "wss" : "ws", async () => {
      await using server = Deno.serve({ ...options, ...secure && certificate }, answer);
      const url = `${secure ? "wss" : "ws"}://127.0.0.1:${server.addr.port}/chat?room=1`;
      const trust = secure ? { caFile: `${directory.path}/ca.pem` } : {};
      const headers = { Authorization: "Bearer a" };
      for (const length of [3, 300, 70_000]) {
        const check = socketCheck({
          url,
          ...trust,
          headers,
          send: "x".repeat(length),
          expect: `^\\?room=1 ${length}$`,
        });
        assert.equal(await observe(check), `ok: connected, a message matches "^\\?room=1 ${length}$"`);
      }
      assert.equal(
        await observe(socketCheck({ url, ...trust })),
        'critical: server replied "HTTP/1.1 401 Unauthorized", expected status 101',
      );
      if (!secure) return;
      assert.match(
        await observe(socketCheck({ url })),
        /^critical: TLS handshake with HOST failed: certificate is not trusted/,
      );
      assert.equal(await observe(socketCheck({ url, headers, verify: false })), "ok: connected");
    });
  }
});

Deno.test("websocketKind rejects contradictory parameters", () => {
  const rows: readonly (readonly [settings: Settings, ...problems: readonly string[]])[] = [
    [{ url: "wss://a.example/", caFile: "/a" }],
    [{ url: "${env:UNSET}" }],
    [{ url: "ws://a.example/", caFile: "/a" }, 'ca_file: "ca_file" requires a URL with wss://'],
    [
      { url: "ws://me:pw@a.example/" },
      'url: has a login in it: write "headers": { "Authorization": \u2026 }',
    ],
    [
      { url: "ws://a.example/", headers: { Upgrade: "a" } },
      "headers.Upgrade: is a header of the handshake, remove it",
    ],
  ];
  for (const [settings, ...expected] of rows) {
    assert.deepEqual(problemTexts(websocketKind.errors?.(socketCheck({ url: "", ...settings }))), expected);
  }
});
