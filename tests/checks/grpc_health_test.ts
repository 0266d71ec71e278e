import assert from "node:assert/strict";
import { encodeHeaders, grpcHealthKind, HeaderDecoder } from "../../src/checks/grpc_health.ts";
import type { CheckOf } from "../../src/domain/check.ts";
import type { GrpcHealthParameters } from "../../src/domain/generated/config.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { checkOf, contextOf, tempDirectory } from "../../testing/builders.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { createAuthority, createCertificate } from "../support/certificates.ts";
import { flood, leave, speakPlainly } from "../support/hostile_servers.ts";
import { startServer, type Visitor } from "../support/http_servers.ts";
import { problemTexts } from "../support/observe_check.ts";
import { type Rows, testRows } from "../support/rows.ts";

function grpcCheck(parameters: Partial<GrpcHealthParameters>): CheckOf<"grpc_health"> {
  const defaults = { host: "127.0.0.1", port: 1, service: "", tls: false, asWarning: false };
  return checkOf("grpc_health", { ...defaults, ...parameters }, { timeoutMs: 10_000 });
}

async function observe(check: CheckOf<"grpc_health">, clock: FakeClock = createFakeClock()): Promise<string> {
  const system = { clock, connections: createConnections(clock) };
  const { condition, output } = await grpcHealthKind.observe(check, contextOf({ system }));
  assert.equal(clock.timers, 0);
  return `${condition}: ${output.replaceAll(/127\.0\.0\.1:\d+/g, "HOST")}`;
}

const bytes = (...some: readonly number[]): Uint8Array<ArrayBuffer> => Uint8Array.from(some);
const health = (status: number) => bytes(0, 0, 0, 0, 2, 8, status);

/** A health service of the runtime's server, whose status is not in trailers. */
async function serve(request: Request): Promise<Response> {
  assert.equal(new URL(request.url).pathname, "/grpc.health.v1.Health/Check");
  const service = new TextDecoder().decode((await request.bytes()).subarray(7));
  const headers = { "content-type": "application/grpc" };
  if (service !== "none") {
    return new Response(health(service === "down" ? 2 : 1), { headers: { ...headers, "grpc-status": "0" } });
  }
  return new Response(null, {
    headers: { ...headers, "grpc-status": "5", "grpc-message": "unknown%20service" },
  });
}

const LISTEN = { hostname: "127.0.0.1", port: 0, onListen: () => {} };

Deno.test("grpc_health asks a server of HTTP/2 for the status of a service", async (t) => {
  await using server = Deno.serve(LISTEN, serve);
  const { port } = server.addr;
  const rows: Rows<[service: string, expected: string]> = {
    "the server": ["", "ok: server is SERVING"],
    "a service": ["shop.v1.Orders", 'ok: service "shop.v1.Orders" is SERVING'],
    "one that is down": ["down", 'critical: service "down" is NOT_SERVING'],
    "an unknown one": ["none", 'critical: service "none": gRPC status NOT_FOUND: "unknown service"'],
  };
  await testRows(t, rows, async ([service, expected]) => {
    assert.equal(await observe(grpcCheck({ port, service })), expected);
  });
});

Deno.test("grpc_health uses HTTP/2 over TLS, and verifies the certificate", async () => {
  const authority = createAuthority();
  await using directory = await tempDirectory({ "ca.pem": authority.cert });
  await using server = Deno.serve({ ...LISTEN, ...createCertificate({ authority }) }, serve);
  const { port } = server.addr;
  const caFile = `${directory.path}/ca.pem`;
  assert.equal(await observe(grpcCheck({ port, tls: true, caFile })), "ok: server is SERVING");
  assert.equal(await observe(grpcCheck({ port, tls: true, verify: false })), "ok: server is SERVING");
  assert.match(
    await observe(grpcCheck({ port, tls: true })),
    /^critical: TLS handshake with HOST failed: certificate is not trusted/,
  );
});

const frame = (type: number, flags: number, stream: number, payload: Uint8Array): Uint8Array =>
  bytes(0, payload.length >> 8, payload.length & 255, type, flags, 0, 0, 0, stream, ...payload);
const sending = (...frames: readonly Uint8Array[]) => async (visitor: Visitor) => {
  await visitor.readBytes(100);
  for (const one of frames) await visitor.send(one);
  await visitor.untilGone();
};
const head = (...headers: readonly (readonly [string, string])[]) => encodeHeaders(headers);
const SETTINGS = frame(4, 0, 0, bytes());
const STATUS = head([":status", "200"], ["grpc-status", "0"]);

const ROWS: Rows<[meet: (visitor: Visitor, clock: FakeClock) => Promise<void>, expected: string]> = {
  "padding, priority, a ping, and headers in two frames": [
    sending(
      SETTINGS,
      frame(6, 0, 0, new Uint8Array(8)),
      frame(1, 8 | 32, 1, bytes(2, 0, 0, 0, 0, 0, ...STATUS.subarray(0, 5), 0, 0)),
      frame(9, 4, 1, STATUS.subarray(5)),
      frame(0, 1 | 8, 1, bytes(3, ...health(1), 0, 0, 0)),
    ),
    "ok: server is SERVING",
  ],
  "the status in trailers": [
    sending(
      frame(1, 4, 1, head([":status", "200"])),
      frame(0, 0, 1, health(1)),
      frame(1, 5, 1, head(["grpc-status", "0"])),
    ),
    "ok: server is SERVING",
  ],
  "an error in trailers": [
    sending(
      frame(1, 4, 1, head([":status", "200"])),
      frame(0, 0, 1, health(1)),
      frame(1, 5, 1, head(["grpc-status", "14"])),
    ),
    "critical: server: gRPC status UNAVAILABLE",
  ],
  "a status that is not set": [
    sending(frame(1, 4, 1, STATUS), frame(0, 1, 1, bytes(0, 0, 0, 0, 0))),
    "critical: server is UNKNOWN",
  ],
  "a part of a message": [
    sending(frame(1, 4, 1, STATUS), frame(0, 1, 1, health(1).subarray(0, 6))),
    "critical: server: response is no health status",
  ],
  "a status without a message": [
    sending(frame(1, 5, 1, STATUS)),
    "critical: server: response is no health status",
  ],
  "a message without a status": [
    sending(frame(1, 4, 1, head([":status", "200"])), frame(0, 1, 1, health(1))),
    "critical: server replied with HTTP status 200, not by gRPC",
  ],
  "HTTP without gRPC": [
    sending(frame(1, 5, 1, head([":status", "404"]))),
    "critical: server replied with HTTP status 404, not by gRPC",
  ],
  "malformed headers": [
    sending(frame(1, 5, 1, bytes(0xff, 0xff, 0x7f))),
    "critical: server sent malformed headers",
  ],
  "a refused request": [
    sending(frame(3, 0, 1, bytes(0, 0, 0, 7))),
    "critical: request rejected by the server (HTTP/2 error 7)",
  ],
  "a server that shuts down": [
    sending(frame(7, 0, 0, new Uint8Array(8))),
    "critical: connection ended by the server before its response",
  ],
  "a server that shuts down, and still responds": [
    sending(
      frame(7, 0, 0, bytes(0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0)),
      frame(7, 0, 0, bytes(0, 0, 0, 1, 0, 0, 0, 0)),
      frame(1, 4, 1, STATUS),
      frame(0, 1, 1, health(1)),
    ),
    "ok: server is SERVING",
  ],
  "a flood of pings": [
    async (visitor) => {
      const pings = bytes(
        ...Array.from({ length: 500 }, () => [...frame(6, 1, 0, new Uint8Array(8))]).flat(),
      );
      while (true) await visitor.send(pings);
    },
    "unknown: response is longer than the 48 KiB that are read",
  ],
  "a flood of bytes": [flood, "critical: server does not use HTTP/2"],
  "clear text": [speakPlainly, "critical: server does not use HTTP/2"],
  "no response": [leave, "critical: connection closed by the server before its response"],
  "silence": [
    async (visitor, clock) => {
      await visitor.readBytes(100);
      await clock.advance(10_000);
      await visitor.untilGone();
    },
    "critical: timeout after 10 s while reading from HOST",
  ],
};

Deno.test("grpc_health is ok only if a whole response has the status", async (t) => {
  await testRows(t, ROWS, async ([meet, expected]) => {
    const clock = createFakeClock();
    await using server = startServer((visitor) => meet(visitor, clock));
    assert.equal(await observe(grpcCheck({ port: server.port }), clock), expected);
  });
});

Deno.test("HeaderDecoder decodes the examples of RFC 7541, with Huffman codes and its table", () => {
  const decoder = new HeaderDecoder();
  const decode = (hex: string) => decoder.decode(Uint8Array.fromHex(hex.replaceAll(" ", "")));
  // Appendix C.6.
  assert.deepEqual(
    decode(
      "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
    ),
    [
      [":status", "302"],
      ["cache-control", "private"],
      ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
      ["location", "https://www.example.com"],
    ],
  );
  assert.deepEqual(decode("4883 640e ffc1 c0bf"), [
    [":status", "307"],
    ["cache-control", "private"],
    ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
    ["location", "https://www.example.com"],
  ]);
  assert.equal(decode("41 ff ff ff"), null);
});

Deno.test("grpcHealthKind requires tls for its keys", () => {
  const errors = (given: Partial<GrpcHealthParameters>) =>
    problemTexts(grpcHealthKind.errors?.(grpcCheck(given)));
  assert.deepEqual(errors({ verify: false }), ['verify: "verify" requires "tls": true']);
  assert.deepEqual(errors({ verify: false, tls: true }), []);
});
