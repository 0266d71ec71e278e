/** The HTTP endpoint of the real program, with real clients. */
import assert from "node:assert/strict";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { promtool } from "../support/promtool.ts";
import { requiresTools, runChild, tool } from "../../testing/tools.ts";
import { inTime } from "./in_time.ts";
import { withState } from "../state/state_directory.ts";
import { HOUR_MS } from "../../src/shared/time_units.ts";
import { type Harness, type Program, withHarness } from "./program.ts";

const test = provided(withHarness, concurrentTests("monitor check: HTTP endpoint"));
const testInAll = provided(
  withHarness,
  concurrentTests("monitor check: HTTP endpoint: more", requiresTools("time")),
);

const TOKEN = "a-token-of-20-letters";
const KEY = "0123456789abcdef";
const ADDRESS = "127.0.0.1:0";

const CHECKS = {
  "web/shop": {
    title: "Shop <&>",
    kind: "test",
    tags: ["website", "inner"],
    parameters: { condition: "critical", output: "secret output <&>" },
  },
  inner: { kind: "test", parameters: { condition: "ok" } },
};

/** Waits until a service listens, and returns the beginning of its URLs. */
async function originOf(program: Program): Promise<string> {
  const line = await program.stderr.next("listening on http://");
  return /http:\/\/[\d.]+:\d+/.exec(line)?.[0] ?? assert.fail(line);
}

interface Got {
  readonly status: number;
  /** After redirects. */
  readonly url: string;
  readonly type: string;
  readonly headers: Headers;
  readonly text: string;
}

async function get(url: string, init: RequestInit = {}): Promise<Got> {
  const response = await inTime(url, fetch(url, init));
  const text = await response.text();
  return {
    status: response.status,
    url: response.url,
    type: response.headers.get("content-type") ?? "",
    headers: response.headers,
    text,
  };
}

/** Requests a URL until it has the status; `null`: no process listens. */
function untilStatus(url: string, status: number | null): Promise<void> {
  return inTime(
    `status ${status} of ${url}`,
    (async () => {
      while (await get(url).then((got) => got.status, () => null) !== status);
    })(),
  );
}

/** Starts a service with a config whose checks have run. */
async function startService(harness: Harness, listen: unknown = { address: ADDRESS }): Promise<string> {
  harness.writeConfig(CHECKS, { listen });
  const program = harness.startHere(["check"]);
  const origin = await originOf(program);
  await program.stdout.next("CRITICAL");
  return origin;
}

async function stop(program: Program): Promise<void> {
  program.signal("SIGTERM");
  assert.equal((await program.end()).code, 0);
}

test("it serves what the commands print, badges and a feed", async (harness) => {
  const origin = await startService(harness);
  const page = await get(`${origin}/`);
  assert.equal(page.type, "text/html; charset=utf-8");
  assert.match(
    page.text,
    /<h3>Shop &lt;&amp;&gt;<\/h3>[^]*secret output &lt;&amp;&gt;[^]*<a href="checks\/web%2Fshop">/,
  );
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.match(
    policy,
    /^default-src 'none';.*script-src 'self'; connect-src 'self';.*frame-ancestors 'none'$/,
  );
  assert.equal(page.headers.get("set-cookie"), null);
  assert.ok(page.headers.has("cross-origin-resource-policy"));
  const etag = page.headers.get("etag") ?? "";
  const askWith = async (tags: string): Promise<number> =>
    (await get(`${origin}/`, { headers: { "if-none-match": tags } })).status;
  assert.deepEqual([await askWith(`"older", ${etag}`), await askWith('"older"')], [304, 200]);

  const status = JSON.parse((await get(`${origin}/api/v1/status`)).text);
  const printed = JSON.parse((await harness.runHere(["status", "--format", "json"])).stdout);
  assert.deepEqual(Object.keys(status), Object.keys(printed));
  assert.equal(status.monitor.state, "running");
  assert.deepEqual(Object.keys(status.checks[0]), Object.keys(printed.checks[0]));
  assert.equal((await harness.runHere(["acknowledge", "web/shop", "--note", "Ada is on it"])).code, 0);
  const check = JSON.parse((await get(`${origin}/api/v1/checks/web%2Fshop`)).text);
  assert.equal(check.last.output, "secret output <&>");
  assert.equal(check.acknowledged, "Ada is on it");
  const history = JSON.parse((await get(`${origin}/api/v1/history/web%2Fshop`)).text);
  const command = JSON.parse((await harness.runHere(["history", "web/shop", "--format", "json"])).stdout);
  assert.deepEqual(Object.keys(history), Object.keys(command));
  assert.deepEqual(history.changes, command.changes);

  assert.match((await get(`${origin}/badge/web%2Fshop.svg`)).text, /^<svg[^]*Shop &lt;&amp;&gt;: critical/);
  assert.match(
    (await get(`${origin}/feed.atom`)).text,
    /<title>Shop &lt;&amp;&gt;: pending to critical<\/title>/,
  );
  assert.deepEqual(await get(`${origin}/healthz`).then(({ status, text }) => [status, text]), [
    200,
    "ok\n",
  ]);
  for (const path of ["/x", "/api/v1/checks/none", "/api/v1", "/badge/inner", "/api/v1/status/", "//"]) {
    assert.equal((await get(origin + path)).status, 404, path);
  }
  assert.equal((await get(`${origin}/%zz`)).status, 400);
  assert.equal((await get(`${origin}/`, { method: "POST" })).status, 405);
});

test("without the token, only checks with a public tag are shown, without outputs", async (harness) => {
  const origin = await startService(harness, { address: ADDRESS, token: TOKEN, public: ["website"] });
  const authorization = `Bearer ${TOKEN}`;
  const paths = [
    "/",
    "/api/v1/status",
    "/api/v1/checks/web%2Fshop",
    "/api/v1/history/web%2Fshop",
    "/feed.atom",
  ];
  for (const path of paths) {
    const { status, text } = await get(origin + path);
    assert.equal(status, 200, path);
    assert.match(text, /Shop|web\/shop/, path);
    for (const hidden of ["secret output", "inner", "monitor.json", Deno.hostname(), harness.directory]) {
      assert.ok(!text.includes(hidden), `${path}: ${hidden}`);
    }
    const whole = await get(origin + path, { headers: { authorization } });
    assert.match(whole.text, /secret output/, path);
  }
  assert.equal((await get(`${origin}/healthz`)).status, 200);
  assert.equal((await get(`${origin}/ping/${KEY}`, { method: "POST" })).status, 404);
  for (
    const path of [
      "/api/v1/checks/inner",
      "/checks/none",
      "/checks/web%2Fshop",
      "/metrics",
      "/badge/inner.svg",
      "/sign-in",
    ]
  ) {
    const { status, headers } = await get(origin + path);
    assert.equal(status, 401, path);
    assert.match(headers.get("www-authenticate") ?? "", /^Basic realm="monitor"/);
  }
  assert.equal((await get(`${origin}/favicon.ico`)).status, 404);
  assert.match((await get(`${origin}/`)).text, /<a href=sign-in>/);
  const signedIn = await get(`${origin}/sign-in`, { headers: { authorization } });
  assert.deepEqual([signedIn.status, new URL(signedIn.url).pathname], [200, "/"]);
  assert.doesNotMatch(signedIn.text, /sign-in/);
  const badge = await get(`${origin}/badge/web%2Fshop.svg`);
  assert.equal(badge.headers.get("cross-origin-resource-policy"), "cross-origin");
});

test("two jobs with one key are an error", async (harness) => {
  const job = { kind: "job", parameters: { expected_every: "1 day", ping_key: KEY } };
  harness.writeConfig({ backup: job, other: job });
  const { code, stderr } = await harness.runHere(["validate"]);
  assert.equal(code, 78);
  assert.match(stderr, /checks\.other\.parameters\.ping_key: is the key of the check "backup" too/);
});

test("a receiver confirms rehearsals by itself", async (harness) => {
  const path = `${harness.directory}/state.sqlite`;
  // The check was first seen an hour ago, so that its first rehearsal is due.
  await withState(path, (store) => store.job("hook arrives", Date.now() - HOUR_MS));
  const confirmed = Promise.withResolvers<string>();
  let origin = "";
  await using hook = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { notifications: [{ event, url, test }] } = await request.json();
    assert.deepEqual([event, test], ["rehearsal", false]);
    // A proxy would serve the URL of the page.
    const { pathname } = new URL(url.replace("https://status.example.org/ops/", origin));
    const response = await fetch(new URL(pathname, origin), { method: "POST" });
    confirmed.resolve(await response.text());
    return new Response();
  });
  const target = `http://127.0.0.1:${hook.addr.port}/`;
  const parameters = { channel: "hook", cron: "@hourly" };
  harness.writeConfig({ "hook arrives": { kind: "rehearsal", parameters, notifications: [] } }, {
    state: path,
    listen: { address: ADDRESS },
    page: { url: "https://status.example.org/ops/" },
    channels: { hook: { kind: "webhook", parameters: { target } } },
  });
  const program = harness.startHere(["check", "--format", "ndjson"]);
  origin = `${await originOf(program)}/`;
  assert.match(
    await inTime("the confirmation", confirmed.promise),
    /^Confirmed at .*: the channel "hook" delivers\.\n$/,
  );
  const { output } = await program.stdout.event("result", ({ condition }) => condition === "ok");
  assert.match(String(output), /^last proven at .* by 127\.0\.0\.1, the next rehearsal is sent at /);
  await stop(program);
});

testInAll("a reload moves it, changes its token, and ends it", async (harness) => {
  const write = (others: Readonly<Record<string, unknown>>): void =>
    harness.writeConfig({ a: { kind: "test", parameters: {} } }, others);
  write({ listen: { address: ADDRESS } });
  const program = harness.startHere(["check"]);
  const origin = await originOf(program);
  await program.stdout.next("started:");
  const reload = async (
    others: Readonly<Record<string, unknown>>,
    line = "config reloaded",
  ): Promise<void> => {
    write(others);
    program.signal("SIGHUP");
    await program.stderr.next(line);
  };
  assert.equal((await get(`${origin}/metrics`)).status, 200);
  await reload({ listen: { address: ADDRESS, token: TOKEN } });
  await untilStatus(`${origin}/metrics`, 401);
  const taken = Deno.listen({ hostname: "127.0.0.2", port: 0 });
  // Its line comes before or after that of the reload.
  await reload(
    { listen: { address: `127.0.0.2:${taken.addr.port}` } },
    "another process listens on this port",
  );
  await untilStatus(origin, null);
  taken.close();
  await reload({ listen: { address: `127.0.0.2:${taken.addr.port}` } });
  const moved = `http://127.0.0.2:${taken.addr.port}/`;
  await untilStatus(moved, 200);
  await reload({});
  await untilStatus(moved, null);
  await stop(program);
});

test("--listen starts it, and what cannot be listened to ends the program", async (harness) => {
  harness.writeConfig({ a: { kind: "test", parameters: {} } });
  const program = harness.startHere(["check", "--listen", ADDRESS]);
  const { host } = new URL(await originOf(program));
  const rows: Readonly<Record<string, readonly [args: readonly string[], code: number, words: RegExp]>> = {
    "a port in use": [
      ["--state", "none", "--listen", host],
      74,
      /^monitor: error: cannot listen on "[\d.:]+": another process listens on this port\n$/m,
    ],
    "no address": [["--listen", "9797"], 64, /--listen is "9797", expected an IP address with a port/],
    "an open address": [["--listen", "0.0.0.0:0"], 64, /"0\.0\.0\.0:0" is not a loopback address/],
    "a single run": [["--once", "--listen", ADDRESS], 64, /--listen cannot be used with --once/],
  };
  for (const [name, [args, code, words]] of Object.entries(rows)) {
    const end = await harness.runHere(["check", ...args]);
    assert.equal(end.code, code, `${name}: ${end.stderr}`);
    assert.match(end.stderr, words, name);
  }
  await stop(program);
});

test("promtool accepts its metrics", async (harness) => {
  const origin = await startService(harness, { address: ADDRESS, token: TOKEN });
  const scraped = await get(`${origin}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
  assert.equal(scraped.type, "text/plain; version=0.0.4; charset=utf-8");
  assert.deepEqual(await promtool(["check", "metrics"], scraped.text), { code: 0, text: "" });
}, requiresTools("promtool"));

test("curl sends a log from a pipe", async (harness) => {
  harness.writeConfig({
    backup: { kind: "job", parameters: { expected_every: "1 day", ping_key: KEY } },
  }, { listen: { address: ADDRESS } });
  const program = harness.start(["check", "--format", "ndjson"]);
  const url = `${await originOf(program)}/ping/${KEY}/1`;
  const log = `${"x".repeat(100)}\n`.repeat(20_000) + `the key is ${KEY}\n`;
  for (const args of [["--data-binary", "@-"], ["-T", "-"]]) {
    const { code, stdout } = await runChild(tool("curl"), ["-fsS", "-X", "POST", ...args, url], {
      stdin: log,
    });
    assert.deepEqual([code, stdout], [0, "OK\n"]);
  }
  await program.stdout.event(
    "result",
    (event) => String(event["output"]).endsWith("with exit code 1: the key is [secret]"),
  );
  await stop(program);
}, requiresTools("curl"));
