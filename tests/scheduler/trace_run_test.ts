/** The contents of a trace, and the values that it hides. */
import assert from "node:assert/strict";
import { mayConfirmProblem, runCheck } from "../../src/scheduler/run_checks.ts";
import type { Result, TraceDepth } from "../../src/domain/check.ts";
import { createRedactor } from "../../src/shared/redact.ts";
import { load } from "../../testing/config_system.ts";
import { createTrust } from "../support/check_faults.ts";
import { httpContext } from "../support/http_check.ts";
import { startAnswering, startRefusing, startServer } from "../support/http_servers.ts";
import { describeCertificate } from "../../src/scheduler/trace/trace_run.ts";
import { testRows } from "../support/rows.ts";
import type { RecordedRun, RunStep } from "../../src/scheduler/trace/record_steps.ts";

interface Run {
  readonly environment?: Readonly<Record<string, string>>;
  readonly depth?: TraceDepth;
}

/** Runs a check of a config. */
async function resultOf(check: object, { environment = {}, depth = "full" }: Run = {}): Promise<Result> {
  const { checks: [loaded], secrets } = await load({ defaults: {}, checks: { x: check } }, { environment });
  const { system, signal } = httpContext();
  return await runCheck(loaded ?? assert.fail(), {
    system,
    jobs: null,
    directory: "/",
    signal,
    redact: createRedactor(secrets),
    traceOf: () => depth,
  });
}

/** Runs a check of a config, and returns its trace without times. */
async function traceOf(check: object, run?: Run): Promise<readonly string[]> {
  const { trace = "" } = await resultOf(check, run);
  return trace.split("\n").map((line) => line.replace(/^ *[\d.]+ ms {2}/, "").trim());
}

Deno.test("a trace hides a secret in the charset of a body", async () => {
  const secret = "\u00fcbergeheim";
  const rows = {
    "iso-8859-1": [...secret].map((character) => character.charCodeAt(0)),
    "utf-16le": [...secret].flatMap((character) => [character.charCodeAt(0), 0]),
  };
  for (const [charset, bytes] of Object.entries(rows)) {
    const headers = { "Content-Type": `text/plain; charset=${charset}` };
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response(Uint8Array.from(bytes), { status: 500, headers }),
    );
    const request = {
      target: `http://127.0.0.1:${server.addr.port}`,
      headers: { "X-Password": "${env:PASSWORD}" },
    };
    const lines = await traceOf({ kind: "http_request", parameters: { request } }, {
      environment: { PASSWORD: secret },
    });
    assert.equal(lines.at(-1), "< [secret]", charset);
  }
});

Deno.test("a trace shows requests, responses and redirects", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url }) =>
      url.endsWith("/next")
        ? new Response("not now", { status: 503, headers: { "X-Reason": "maintenance" } })
        : new Response(null, { status: 302, headers: { Location: "/next", "Set-Cookie": "sid=1234567" } }),
  );
  const place = `127.0.0.1:${server.addr.port}`;
  const request = { target: `http://${place}/?page=2&token=abcdef`, headers: { "X-Trace": "yes" } };
  const lines = await traceOf({
    kind: "http_request",
    parameters: { request, response: { body_part: "fine" } },
  });
  assert.deepEqual(lines.filter((line) => !/^< (content|vary|date|x-powered)/.test(line)), [
    `request GET http://${place}/?page=2&token=(hidden)`,
    "> user-agent: monitor",
    "> X-Trace: yes",
    `response 302 from ${place}`,
    "< location: /next",
    "< set-cookie: (hidden)",
    "body of 0 B",
    `request GET http://${place}/next`,
    "> user-agent: monitor",
    "> X-Trace: yes",
    `response 503 from ${place}`,
    "< x-reason: maintenance",
    "body of 7 B",
    "< not now",
  ]);
});

Deno.test("a trace shows the body of an unexpected error, and waits for none", async () => {
  await using server = startServer(async (visitor) => {
    const path = (await visitor.readHead()).split(" ")[1];
    if (path === "/hangs") {
      await visitor.send("HTTP/1.1 500 Wrong\r\nContent-Length: 9\r\n\r\nhalf");
      await visitor.untilGone();
    } else await visitor.send(`HTTP/1.1 ${path === "/ok" ? 200 : 500} A\r\nContent-Length: 5\r\n\r\nwhole`);
  });
  const bodyOf = async (path: string, depth: TraceDepth): Promise<readonly string[]> => {
    const parameters = { request: { target: `${server.origin}${path}` }, response: { status_code: 201 } };
    const lines = await traceOf({ kind: "http_request", parameters }, { depth });
    return lines.filter((line) => /body|whole|half/.test(line));
  };
  assert.deepEqual(await bodyOf("/", "brief"), ["body of 5 B", "< whole"]);
  assert.deepEqual(await bodyOf("/hangs", "brief"), ["body of 4 B or more", "< half"]);
  assert.deepEqual(await bodyOf("/ok", "brief"), ["body not read"]);
  assert.deepEqual(await bodyOf("/ok", "full"), ["body of 5 B", "< whole"]);
});

Deno.test("a full trace shows the addresses and the certificate of https, a brief one neither", async () => {
  using trust = createTrust();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...trust.certificate },
    () => new Response("x", { status: 500 }),
  );
  const { port } = server.addr;
  const request = { target: `https://127.0.0.1:${port}/`, tls: { ca_file: trust.path } };
  const check = { kind: "http_request", parameters: { request } };
  const full = (await traceOf(check)).filter((line) => /^(addresses|TLS|response)/.test(line));
  assert.deepEqual(full.slice(0, 2), ["response 500", "addresses of 127.0.0.1: 127.0.0.1"]);
  assert.match(
    full[2] ?? "",
    /^TLS \(second connection\): certificate for .*127\.0\.0\.1.*, SHA-256 [0-9a-f]{64}; trusted$/,
  );
  const untrusted = { kind: "http_request", parameters: { request: { target: request.target } } };
  assert.match(
    (await traceOf(untrusted)).join("\n"),
    /^TLS \(second connection\): certificate for .*; not accepted: .*; all that the server sends: openssl /m,
  );
  for (
    const [tls, verdict] of [[{ verify: false }, "trusted"], [
      { fingerprint: "f0".repeat(32) },
      "not accepted",
    ]]
  ) {
    const own = { kind: "http_request", parameters: { request: { target: request.target, tls } } };
    assert.match((await traceOf(own)).join("\n"), new RegExp(`SHA-256 [0-9a-f]{64}; ${verdict}`));
  }
  const brief = await traceOf(check, { depth: "brief" });
  assert.deepEqual(brief.filter((line) => /^(addresses|TLS)/.test(line)), []);
});

Deno.test("a full trace never changes the result, though the server responds to nothing more", async () => {
  using trust = createTrust();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...trust.certificate },
    () => new Response("x"),
  );
  await using stalling = startServer(async (visitor) => {
    if (visitor.number > 0) return await visitor.untilGone();
    await visitor.exchange(await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port }));
  });
  const { condition, output, durationMs, trace = "" } = await resultOf({
    kind: "http_request",
    timeout: "2 seconds",
    parameters: {
      request: { target: `https://127.0.0.1:${stalling.port}/`, tls: { ca_file: trust.path } },
      response: { warning_duration: "1500 ms" },
    },
  });
  assert.equal(condition, "ok", output);
  assert.ok(durationMs < 2_000, `${durationMs}`);
  assert.ok(trace.includes("TLS (second connection): no response in time"), trace);
});

Deno.test("a trace shows why there is no response", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const request = { target: `http://127.0.0.1:${port}/` };
  assert.deepEqual((await traceOf({ kind: "http_request", parameters: { request } })).slice(-1), [
    "no response: connecting: connection refused",
  ]);
  assert.deepEqual(await traceOf({ kind: "tcp_connect", parameters: { host: "127.0.0.1", port } }), [
    `connecting to 127.0.0.1:${port}`,
    `failed: 127.0.0.1:${port}: connection refused`,
  ]);
});

Deno.test("a trace names the address of each connection, as there may be several", async () => {
  await using server = startServer((visitor) => visitor.untilGone());
  const { port } = server;
  const parameters = { host: "localhost", port, every_address: true };
  const lines = await traceOf({ kind: "tcp_connect", parameters });
  assert.ok(lines.includes(`connecting to localhost:${port} (127.0.0.1)`), lines.join("\n"));
  assert.ok(lines.includes(`connected to localhost:${port} (127.0.0.1)`), lines.join("\n"));
  using refusing = await startRefusing();
  const request = { target: `http://localhost:${refusing.port}/`, every_address: true };
  assert.ok(
    (await traceOf({ kind: "http_request", parameters: { request } }))
      .includes("no response by 127.0.0.1: connecting: connection refused"),
  );
});

Deno.test("a trace hides secrets, captured values and tokens in JSON", async () => {
  const token = `captured-${"x".repeat(600)}-token`;
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) =>
      Response.json({
        value: token,
        refresh_token: 'never-"captured',
        echo: `${request.headers.get("x-any")} ${await request.text()}`,
      }),
  );
  const target = `http://127.0.0.1:${server.addr.port}/`;
  const lines = await traceOf({
    kind: "http_request",
    parameters: {
      steps: [
        { request: { target, method: "POST", body: "${env:PASSWORD}" }, capture: { t: { json: "$.value" } } },
        { request: { target, method: "POST", headers: { "X-Any": "${captured:t}" }, body: "x" } },
      ],
    },
  }, { environment: { PASSWORD: "swordfish" } });
  const text = lines.join("\n");
  for (const secret of ["swordfish", "captured-", "xxxxx", "never-"]) {
    assert.ok(!text.includes(secret), `${secret} in ${text}`);
  }
  assert.match(text, /"value":"\[secret\]","refresh_token":"\(hidden\)","echo":"null \[secret\]"/);
  assert.match(text, /> X-Any: \[secret\]/);
});

Deno.test("a trace hides a secret that arrives in pieces, and a truncated one", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    const connection = await listener.accept();
    for (const part of ["hello swor", "dfish, and hor", "seradi"]) {
      await connection.write(new TextEncoder().encode(part));
      // Each is a separate response.
      await connection.read(new Uint8Array(1)).catch(() => null);
    }
    connection.close();
  })();
  const { port } = listener.addr;
  const lines = await traceOf({
    kind: "tcp_connect",
    timeout: 1,
    parameters: { host: "127.0.0.1", port, send: "${env:ONE}${env:TWO}xx", expect: "never" },
  }, { environment: { ONE: "swordfish", TWO: "horseradish" } });
  listener.close();
  await serving;
  assert.deepEqual(lines.filter((line) => /^[<>]/.test(line)), [
    "> [secret][secret]xx",
    "< hello [secret], and [secret]",
  ]);
});

Deno.test("a run that is ok has no trace unless a full trace was requested", async () => {
  const script = { kind: "script", parameters: { path: "/bin/true" } };
  assert.deepEqual(await traceOf(script, { depth: "brief" }), [""]);
  assert.deepEqual((await traceOf(script)).slice(0, 1), ['run "/bin/true"']);
});

Deno.test("a trace is limited in size for any target", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response(`${"line\n".repeat(200_000)}`, { headers: { "X-Long": "y".repeat(5000) } }),
  );
  const request = { target: `http://127.0.0.1:${server.addr.port}/` };
  const lines = await traceOf({
    kind: "http_request",
    parameters: { request, response: { body_part: "none" } },
  });
  assert.ok(lines.join("\n").length < 10_000, `${lines.length} lines`);
  for (const line of lines) assert.ok(line.length <= 520, line);
});

Deno.test("mayConfirmProblem() is true for the runs that may confirm a problem", () => {
  const rows = [
    { threshold: 1, observed: "ok", expected: true },
    { threshold: 1, observed: null, expected: true },
    { threshold: 3, observed: null, expected: false },
    { threshold: 3, observed: "ok", expected: false },
    { threshold: 3, observed: "critical", expected: true },
    { threshold: 3, observed: "unknown", expected: true },
  ] as const;
  for (const { threshold, observed, expected } of rows) {
    const check = { threshold } as Parameters<typeof mayConfirmProblem>[0];
    const record = { condition: { observed } } as Parameters<typeof mayConfirmProblem>[1];
    assert.equal(mayConfirmProblem(check, record), expected, `${threshold} ${observed}`);
  }
});

Deno.test("describeCertificate() names a command that asks the same server", async (t) => {
  const reading = { problem: { about: "trust", reason: "unknown issuer" }, facts: null } as const;
  const address = (address: string, family: number) => ({ address: { address, family, token: null } });
  const rows = {
    "a name": [{}, "web.example.org:443"],
    "one of its IPv4 addresses": [address("192.0.2.7", 4), "192.0.2.7:443"],
    "one of its IPv6 addresses": [address("2001:db8::7", 6), "'[2001:db8::7]:443'"],
  } as const;
  await testRows(t, rows, ([more, place]) => {
    const tls = { serverName: "web.example.org", authorities: [] };
    assert.equal(
      describeCertificate(reading, { host: "web.example.org", port: 443, tls, ...more }),
      "not accepted: unknown issuer; all that the server sends: " +
        `openssl s_client -showcerts -connect ${place} -servername web.example.org`,
    );
  });
});

// The steps of runs of real checks, for spans.

async function stepsOf(check: object, { secrets = [] as readonly string[], isOn = true } = {}) {
  const { checks: [loaded] } = await load({ defaults: {}, checks: { x: check } });
  const { system, signal } = httpContext();
  const runs: RecordedRun[] = [];
  const result = await runCheck(loaded ?? assert.fail(), {
    system,
    jobs: null,
    directory: "/",
    signal,
    redact: createRedactor(secrets),
    steps: { isOn, propagates: false, receive: (run) => void runs.push(run) },
  });
  return { result, runs, steps: runs[0]?.steps ?? [] };
}

/** Name, the reason of a failure, and attributes without ports. */
function shown({ name, failure, attributes }: RunStep): readonly unknown[] {
  const { "server.port": _, ...others } = attributes;
  return [name.replace(/:\d+$/, ""), failure, others];
}

Deno.test("a request has a step until its head and one for its body, and secrets are hidden", async () => {
  await using server = startAnswering("HTTP/1.1 500 No\r\ncontent-length: 4\r\n\r\nlost");
  const target = `${server.origin}/orders/topsecret?key=topsecret`;
  const { steps, runs, result } = await stepsOf({
    kind: "http_request",
    parameters: { request: { target }, response: { body_part: "found" } },
  }, { secrets: ["topsecret"] });
  assert.deepEqual(steps.map(shown), [
    ["GET 127.0.0.1", null, {
      "http.request.method": "GET",
      "server.address": "127.0.0.1",
      "url.scheme": "http",
      "url.path": "/orders/[secret]",
      "http.response.status_code": 500,
    }],
    ["response body", null, {}],
  ]);
  const [run] = runs;
  assert.deepEqual([run?.condition, run?.output, run?.check], ["critical", result.output, "x"]);
  await server.untilLeft();
});

Deno.test("a connection has a step for each phase, and one for its dialog", async () => {
  await using server = startServer(async (visitor) => {
    await visitor.send("220 mail ESMTP\r\n");
    await visitor.readLine();
    await visitor.send("250 mail\r\n");
    await visitor.readLine();
  });
  const { steps } = await stepsOf({
    kind: "tcp_connect",
    parameters: { host: "127.0.0.1", port: server.port, protocol: "smtp" },
  });
  assert.deepEqual(steps.map(shown), [
    ["connecting", null, { "server.address": "127.0.0.1" }],
    ["dialog", null, {}],
  ]);
  await server.untilLeft();
});

Deno.test("a step that failed has the reason", async () => {
  using refusing = await startRefusing();
  const { port } = refusing;
  const request = { target: `http://127.0.0.1:${port}/` };
  for (
    const check of [
      { kind: "http_request", parameters: { request } },
      { kind: "tcp_connect", parameters: { host: "127.0.0.1", port } },
    ]
  ) {
    const { steps } = await stepsOf(check);
    assert.deepEqual(steps.map(({ failure }) => failure), ["connection refused"], check.kind);
  }
});

Deno.test("nothing is recorded while no spans are sent", async () => {
  const { runs } = await stepsOf({ kind: "test", parameters: { condition: "ok" } }, { isOn: false });
  assert.deepEqual(runs, []);
});
