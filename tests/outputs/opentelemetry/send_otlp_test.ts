import assert from "node:assert/strict";
import { type OtlpOutcome, sendOtlp } from "../../../src/outputs/opentelemetry/otlp.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { inTime } from "../../life/in_time.ts";
import { startAnswering, startRefusing, startServer } from "../../support/http_servers.ts";

const ACCEPTED: OtlpOutcome = { accepted: true, rejected: 0, reason: "" };

function send(
  target: string,
  { clock = createMemorySystem().clock, abort = new AbortController().signal, onHead = () => {} } = {},
): Promise<OtlpOutcome> {
  const { requests } = createMemorySystem();
  return sendOtlp({ signal: "traces", body: "{}", count: 5 }, {
    settings: { target, headers: { "X-Key": "k" } },
    system: {
      clock,
      requests: {
        ...requests,
        send: async (request, signal) => {
          const response = await requests.send(request, signal);
          onHead();
          return response;
        },
      },
    },
    abort,
  });
}

function answer(status: number, body = "", headers = ""): string {
  return `HTTP/1.1 ${status} Text\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
}

Deno.test("sendOtlp() posts to the path of the signal, behind that of the target", async () => {
  for (const [path, expected] of [["", "/v1/traces"], ["/otlp/?key=1", "/otlp/v1/traces?key=1"]]) {
    await using server = startAnswering(answer(200, "{}"));
    assert.deepEqual(await send(server.origin + path), ACCEPTED);
    const [head = ""] = server.heads;
    assert.ok(head.startsWith(`POST ${expected} HTTP/1.1\r\n`), head);
    assert.match(head, /\r\ncontent-type: application\/json\r\n/i);
    assert.match(head, /\r\nx-key: k\r\n/i);
    await server.untilLeft();
  }
});

Deno.test("sendOtlp() returns which failures may be repeated, and when", async () => {
  const rows: readonly [status: number, retryable: boolean][] = [
    [400, false],
    [401, false],
    [404, false],
    [413, false],
    [429, true],
    [500, false],
    [502, true],
    [503, true],
    [504, true],
    [301, false],
  ];
  for (const [status, retryable] of rows) {
    await using server = startAnswering(answer(status, '{"message":"no\\nroom"}', "retry-after: 7\r\n"));
    assert.deepEqual(await send(server.origin), {
      accepted: false,
      retryable,
      reason: `127.0.0.1:${server.port} returned status ${status}: no room`,
      retryAfterMs: 7_000,
    });
    await server.untilLeft();
  }
});

Deno.test("sendOtlp() accepts a status of success, whatever its body is", async () => {
  for (
    const [name, body] of Object.entries({
      empty: "",
      page: "<html>",
      list: "[]",
      null: "null",
      long: " ".repeat(100_000),
      other: '{"partialSuccess":null}',
    })
  ) {
    await using server = startAnswering(answer(200, body));
    assert.deepEqual(await send(server.origin), ACCEPTED, name);
    await server.untilLeft();
  }
});

Deno.test("sendOtlp() ends at its timeout, and accepts a head of success without a body", async () => {
  const rows: readonly [name: string, head: string, isAccepted: boolean][] = [
    ["silent", "", false],
    ["an endless body", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", true],
    ["an endless body of a failure", "HTTP/1.1 503 No\r\ncontent-length: 100\r\n\r\n{", false],
  ];
  for (const [name, head, isAccepted] of rows) {
    const clock = createFakeClock();
    const visited = Promise.withResolvers<void>();
    await using server = startServer(async (visitor) => {
      await visitor.readHead();
      if (head === "") visited.resolve();
      else await visitor.send(head);
      await visitor.untilGone();
    });
    const sending = send(server.origin, { clock, onHead: visited.resolve });
    await inTime(name, visited.promise);
    await clock.advance(10_000);
    const outcome = await inTime(name, sending);
    assert.equal(outcome.accepted, isAccepted, name);
    if (name === "silent") {
      assert.ok(!outcome.accepted && outcome.retryable);
      assert.equal(outcome.reason, `no response from 127.0.0.1:${server.port} within 10 s`);
    }
    assert.equal(clock.timers, 0);
    await server.untilLeft();
  }
});

Deno.test("sendOtlp() returns a refused connection, and throws the reason of its signal", async () => {
  using refusing = await startRefusing();
  const { port } = refusing;
  assert.deepEqual(await send(`http://127.0.0.1:${port}`), {
    accepted: false,
    retryable: true,
    reason: `connecting to 127.0.0.1:${port} failed: connection refused`,
    retryAfterMs: null,
  });
  const visited = Promise.withResolvers<void>();
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    visited.resolve();
    await visitor.untilGone();
  });
  const controller = new AbortController();
  const sending = send(server.origin, { abort: controller.signal });
  await inTime("the request", visited.promise);
  controller.abort(new Error("Stopped"));
  await assert.rejects(sending, /Stopped/);
});
