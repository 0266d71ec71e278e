import assert from "node:assert/strict";
import { load, problemsOf, warningsOf, withCheck } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const CHECK = { kind: "test", tags: ["web"], parameters: {} };
const TOKEN = "0123456789abcdef";

function withListen(listen: unknown): unknown {
  return { ...(withCheck(CHECK) as Readonly<Record<string, unknown>>), listen };
}

Deno.test("loadConfig() resolves the HTTP endpoint", async () => {
  assert.equal((await load(withCheck(CHECK))).listen, null);
  assert.deepEqual({ ...(await load(withListen({ address: "127.0.0.1:9797" }))).listen }, {
    address: "127.0.0.1:9797",
    intervalMs: 10_000,
  });
  const whole = { address: "0.0.0.0:80", token: TOKEN, public: ["web"], interval: "1 minute" };
  const { listen, secrets } = await load(withListen(whole));
  assert.deepEqual({ ...listen }, {
    address: "0.0.0.0:80",
    token: TOKEN,
    public: ["web"],
    intervalMs: 60_000,
  });
  assert.ok(secrets.includes(TOKEN));
});

Deno.test("loadConfig() rejects an HTTP endpoint that is invalid or not protected", async (t) => {
  const rows: Readonly<Record<string, readonly [listen: unknown, problem: RegExp]>> = {
    "a port alone": [{ address: "9797" }, /^listen\.address: "9797" is not an IP address with a port/],
    "a short token": [{ address: "127.0.0.1:1", token: "short" }, /^listen\.token: .*16/],
    "an open address": [
      { address: "0.0.0.0:80" },
      /^listen\.address: "0.0.0.0:80" is not a loopback address/,
    ],
  };
  await testRows(t, rows, async ([listen, problem]) => {
    const problems = await problemsOf(withListen(listen));
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0] ?? "", problem);
  });
});

Deno.test("loadConfig() rejects a ping_key of fewer than 16 characters", async () => {
  const withKey = (key: string): Promise<readonly string[]> =>
    problemsOf({
      ...(withCheck({ kind: "job", parameters: { expected_every: "1 day", ping_key: key } }) as object),
      listen: { address: "127.0.0.1:1" },
    });
  assert.deepEqual(await withKey("x".repeat(16)), []);
  const [problem = "", ...others] = await withKey("x".repeat(15));
  assert.match(problem, /\.ping_key: .*16/);
  assert.deepEqual(others, []);
});

Deno.test("loadConfig() warns of a public tag that no check has", async () => {
  assert.deepEqual(await warningsOf(withListen({ address: "127.0.0.1:1", public: ["web", "shop"] })), [
    'listen.public[1]: no check has the tag "shop"',
  ]);
});

Deno.test("loadConfig() disables an endpoint whose token is missing on this machine", async () => {
  const config = await load(withListen({ address: "127.0.0.1:1", token: "${env:NONE}" }));
  assert.equal(config.listen, null);
  assert.match(config.warnings.map(({ message }) => message).join(), /the HTTP endpoint does not start/);
});
