import assert from "node:assert/strict";
import { loadConfig } from "../../src/config/load.ts";
import { CONFIG_BYTES_MAX } from "../../src/config/source.ts";
import {
  createConfigSystem,
  errorOf,
  lacksOf,
  load,
  problemsOf,
  warningsOf,
  withCheck,
} from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

Deno.test("loadConfig() keeps the config's order for all names", async () => {
  const names = ["b", "10", "a", "2", "007", "4294967295", "4294967296", "-1", "c"];
  const checks = names.map((name) => `"${name}": { "kind": "test", "parameters": {} }`);
  const { checks: loaded } = await load(`{ "defaults": {}, "checks": { ${checks.join(", ")} } }`);
  assert.deepEqual(loaded.map((check) => check.name), names);
});

Deno.test("loadConfig() keeps a check that lacks a value, as if that were not set", async (t) => {
  const test = { kind: "test", parameters: {} };
  const url = (target: string) => ({ kind: "http_request", parameters: { request: { target } } });
  const unset = 'the environment variable "UNSET" is not set';
  const rows: Readonly<Record<string, readonly [check: object, message?: string]>> = {
    "a URL": [url("${env:UNSET}")],
    "an interval": [{ ...test, timeout: "${env:UNSET}" }],
    "a cron schedule": [{ ...test, schedule: { cron: "${env:UNSET}" } }],
    "an unusable URL": [
      url("${env:WRONG}"),
      'the URL "${env:WRONG}" has no scheme, expected one that begins with http:// or https://',
    ],
  };
  await testRows(t, rows, async ([check, message = unset]) => {
    const config = { defaults: {}, checks: { web: check, other: test } };
    const { checks, lacks } = await load(config, { environment: { WRONG: "swordfish" } });
    assert.deepEqual(lacks.map((lack) => lack.message), [message]);
    assert.deepEqual(checks.map(({ lack }) => lack), [message, undefined]);
    const { schedule, timeoutMs } = checks[0] ?? {};
    assert.deepEqual(schedule, { regularIntervalMs: 60_000, attentiveIntervalMs: 60_000 });
    assert.equal(timeoutMs, 10_000);
  });
});

Deno.test("loadConfig() locates a missing variable or file of the defaults at the checks that use it", async () => {
  const { checks } = await load({
    defaults: { schedule: { regular_interval: "${env:UNSET}" } },
    checks: {
      own: { kind: "test", schedule: { regular_interval: 5 }, parameters: {} },
      default: { kind: "test", parameters: {} },
    },
  });
  assert.deepEqual(checks.map(({ name, lack }) => [name, lack]), [
    ["own", undefined],
    ["default", 'the environment variable "UNSET" is not set'],
  ]);
});

Deno.test("loadConfig() without secrets ignores placeholders and commands", async (t) => {
  const config = {
    defaults: {
      notifications: [{
        kind: "email",
        parameters: {
          access: { host: "${env:HOST}", port: 587, username: "${env:USER}", password: "${file:password}" },
          sender: "${env:SENDER}",
          receivers: ["${env:RECEIVER}"],
        },
      }],
    },
    checks: {
      script: { kind: "script", timeout: "${env:TIMEOUT}", parameters: { path: "check_disk" } },
      page: {
        kind: "http_request",
        parameters: { request: { target: "${env:TARGET}", method: "${env:METHOD}" } },
      },
      file: {
        kind: "file_timestamp",
        schedule: { cron: "${env:TIMES}", time_zone: "${env:ZONE}" },
        parameters: { path: "${env:FILE}", warning_age: "${env:AGE}" },
      },
    },
  };
  await t.step("none of it is an error", async () => {
    const { checks, secrets } = await load(config, { withoutSecrets: true });
    assert.deepEqual(checks.map((check) => check.name), ["script", "page", "file"]);
    assert.deepEqual(secrets, []);
  });
  await t.step("all of it is missing without the secrets", async () => {
    assert.equal((await lacksOf(config, { withoutSecrets: false })).length, 13);
  });
  await t.step("a check of an unknown kind is skipped with a warning", async () => {
    const check = withCheck({ kind: "${env:KIND}", parameters: { anything: 1 } });
    assert.deepEqual((await load(check, { withoutSecrets: true })).checks, []);
    assert.deepEqual(await warningsOf(check, { withoutSecrets: true }), [
      "checks.web.kind: is unknown without secrets, so the parameters are not validated",
    ]);
    const { checks } = await load(withCheck({ kind: "${env:KIND}", parameters: {} }), {
      environment: { KIND: "test" },
    });
    assert.equal(checks[0]?.kind, "test");
  });
});

Deno.test("loadConfig() hides secrets in titles, descriptions and runbooks, at any position in the config", async () => {
  const { checks } = await load({
    defaults: {},
    checks: {
      web: {
        kind: "test",
        title: "web of ${env:TOKEN}",
        description: "is swordfish",
        runbook: "ask swordfish",
        parameters: { output: "${env:TOKEN}" },
      },
      plain: { kind: "test", title: "swordfish", parameters: {} },
    },
  }, { environment: { TOKEN: "swordfish" } });
  const texts = checks.map(({ title, description, runbook }) => [title, description, runbook]);
  assert.deepEqual(texts, [["web of [secret]", "is [secret]", "ask [secret]"], [
    "[secret]",
    undefined,
    undefined,
  ]]);
});

Deno.test("loadConfig() resolves the path of the state from the config's directory", async () => {
  assert.equal((await load({ defaults: {} })).statePath, null);
  assert.equal((await load({ defaults: {}, state: "state.sqlite" })).statePath, "/etc/monitor/state.sqlite");
  assert.equal((await load({ defaults: {}, state: "/var/lib/state" })).statePath, "/var/lib/state");
});

Deno.test("loadConfig() rejects an oversized config before it reads it", async () => {
  const files = { "/big": { sizeBytes: CONFIG_BYTES_MAX + 1 } };
  const system = createConfigSystem({ files });
  const error = await errorOf(loadConfig({ path: "/big", named: true }, system));
  assert.equal(error.message, 'cannot read config "/big": it has 67108865 bytes, expected at most 67108864');
  const stdin = createConfigSystem({ stdin: new Uint8Array(CONFIG_BYTES_MAX + 1) });
  const piped = await errorOf(loadConfig({ path: "-", named: true }, stdin));
  assert.equal(
    piped.message,
    'cannot read config "<stdin>": it has 67108865 bytes, expected at most 67108864',
  );
});

Deno.test("for_each expands to so many checks and characters", async (t) => {
  const numbers = (length: number) => Array.from(Array(length).keys());
  const rows: Readonly<Record<string, readonly [forEach: object, limit: string]>> = {
    "too many": [{ a: numbers(101), b: numbers(100) }, "10000 checks"],
    "too much": [{ a: numbers(1000), b: ["x".repeat(20_000)] }, "16777216 characters"],
  };
  await testRows(t, rows, async ([for_each, limit]) => {
    const check = { for_each, kind: "test", parameters: { output: "${each:b}" } };
    assert.deepEqual(await problemsOf({ defaults: {}, checks: { "${each:a} ${each:b}": check } }), [
      `checks["\${each:a} \${each:b}"].for_each: expands to more than ${limit}`,
    ]);
  });
});
