import assert from "node:assert/strict";
import { loadConfig } from "../../src/config/load.ts";
import { CONFIG_BYTES_MAX } from "../../src/config/source.ts";
import {
  type ConfigSystemOptions,
  createConfigSystem,
  errorOf,
  lacksOf,
  load,
  problemsOf,
  warningsOf,
  withCheck,
} from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";
import { ConfigError } from "../../src/config/problem.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { readJobIndex } from "../../src/config/job_index.ts";

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

const LINKS: Readonly<Record<string, readonly [report: string, target: string, problem: string]>> = {
  "the state, through a linked directory": ["link/s", "sub", 'is the file of "state"'],
  "a link in the place of the page is replaced, and its target stays": ["link", "sub/s", ""],
};

Deno.test("loadConfig() rejects a report that would overwrite a required file behind a link", async (t) => {
  await testRows(t, LINKS, async ([report, target, problem]) => {
    const config = { defaults: {}, state: "sub/s", report: { path: report } };
    await using temporary = await tempDirectory({ "m.json": JSON.stringify(config) });
    Deno.mkdirSync(`${temporary.path}/sub`);
    Deno.symlinkSync(target, `${temporary.path}/link`);
    const system = createMemorySystem({ workingDirectory: temporary.path });
    const loading = loadConfig({ path: "m.json", named: true }, system, {
      locateState: ({ statePath }) => Promise.resolve(statePath),
    });
    const problems = await loading.then(
      () => [],
      (error) => error instanceof ConfigError ? error.problems : [error],
    );
    assert.deepEqual(
      problems.map(({ message }) => message.replace(/ \(.*/, "")),
      problem === "" ? [] : [problem],
    );
  });
});

// The settings of what `monitor` publishes: the HTTP endpoint, the page and its report, and metrics.

const TOKEN = "0123456789abcdef";
const LOOPBACK = "127.0.0.1:1";

function configWith(keys: object): object {
  const web = { kind: "test", tags: ["web"], parameters: {} };
  return { defaults: {}, checks: { web }, ...keys };
}

/** What a config publishes, without the prototypes of parsed objects. */
async function published(keys: object, options: Parameters<typeof load>[1] = {}) {
  const { listen, page, report, metrics } = await load(configWith(keys), options);
  return JSON.parse(JSON.stringify({ listen, page, report, metrics }));
}

Deno.test("loadConfig() resolves the HTTP endpoint, the page and the metrics", async () => {
  const nothing = { listen: null, page: null, report: null, metrics: null };
  assert.deepEqual(await published({}), nothing);
  const listen = { address: LOOPBACK };
  assert.deepEqual(await published({ listen, page: { title: "Status" }, metrics: { path: "a.prom" } }), {
    ...nothing,
    listen: { ...listen, actions: false, intervalMs: 10_000 },
    page: { title: "Status", announcements: [], groups: [] },
    metrics: { path: "/etc/monitor/a.prom", intervalMs: 60_000 },
  });
  const page = {
    title: "Status",
    description: "Of everything",
    announcements: [{ date: "2026-01-31 09:30", text: "Two", until: "2026-02-01" }],
    groups: [{ title: "Shop", description: "Orders", tags: ["web"], checks: ["web"] }],
  };
  const whole = { address: "0.0.0.0:80", token: TOKEN, public: ["web"], actions: true };
  const resolved = await published({
    listen: { ...whole, trusted_proxies: ["::1"], interval: "1 minute" },
    page,
    report: { path: "index.html", public: ["web"] },
    metrics: { path: "/x/a.prom", interval: "5 minutes", name: "web" },
  });
  assert.deepEqual(resolved.listen, { ...whole, trustedProxies: ["::1"], intervalMs: 60_000 });
  assert.deepEqual(resolved.page, page);
  assert.deepEqual(resolved.report.public, ["web"]);
  assert.deepEqual(resolved.metrics, { path: "/x/a.prom", intervalMs: 300_000, name: "web" });
});

Deno.test("loadConfig() hides the token of the endpoint, and secrets in the words of the page", async () => {
  const { secrets } = await load(configWith({ listen: { address: LOOPBACK, token: TOKEN } }));
  assert.ok(secrets.includes(TOKEN));
  const { listen } = await published({ listen: { address: LOOPBACK, token: "${env:NONE}" } });
  assert.equal(listen, null, "without its token there is no endpoint");
  const text = "a ${env:TOKEN}";
  const { page } = await published({
    page: { title: text, groups: [{ title: text, description: text }] },
  }, { environment: { TOKEN } });
  const shown = "a [secret]";
  assert.deepEqual([page.title, page.groups], [shown, [
    { title: shown, description: shown, tags: [], checks: [] },
  ]]);
});

const PATH = "/etc/monitor/monitor.jsonc";

function jobIndex(text: string, options: ConfigSystemOptions = {}): ReturnType<typeof readJobIndex> {
  const system = createConfigSystem({ ...options, files: { ...options.files, [PATH]: text } });
  return readJobIndex({ path: PATH, named: true }, system);
}

Deno.test("readJobIndex() finds the checks and the state despite other errors", async (t) => {
  const job = '"backup": { "kind": "job", "parameters": { "expected_every": "1 day" } }';
  const table: Readonly<Record<string, string>> = {
    "all is right": `{ "defaults": {}, "state": "kept.sqlite", "checks": { ${job} } }`,
    "errors elsewhere":
      `{ "defaults": 5, "nonsense": {}, "state": "kept.sqlite", "checks": { ${job}, "x": 1 } }`,
    "a secret that cannot be read": `{ "checks": { ${job}, "web": { "kind": "script", "parameters":
      { "path": "no_such_program", "arguments": ["\${env:NONE}", "\${file:/none}"] } } }, "state": "kept.sqlite" }`,
  };
  await testRows(t, table, async (text) => {
    const { kinds, statePath, source } = await jobIndex(text);
    assert.equal(kinds.get("backup"), "job");
    assert.equal(statePath, "/etc/monitor/kept.sqlite");
    assert.equal(source.path, PATH);
  });
});

Deno.test("readJobIndex() finds checks in included files, and skips unreadable ones", async () => {
  const { kinds, statePath, secrets } = await jobIndex(
    '{ "state": "kept.sqlite", "include": ["jobs.jsonc", "missing.jsonc"], "checks": { "web": { "kind": "test" } } }',
    {
      files: {
        "/etc/monitor/jobs.jsonc": '{ "checks": { "backup": { "kind": "job" }, "x": { "kind": "script", ' +
          '"parameters": { "environment": { "A": "${env:TOKEN}" } } } } }',
      },
      environment: { TOKEN: "swordfish" },
    },
  );
  assert.deepEqual(new Map(kinds), new Map([["web", "test"], ["backup", "job"], ["x", "script"]]));
  assert.equal(statePath, "/etc/monitor/kept.sqlite");
  assert.deepEqual(secrets, ["swordfish"]);
});

Deno.test("readJobIndex() resolves the secrets that it can read", async () => {
  const { secrets, statePath } = await jobIndex(
    '{ "state": "${env:DIRECTORY}/kept.sqlite", "checks": { "x": { "kind": "script", "parameters": ' +
      '{ "environment": { "A": "${file:/token}", "B": "${env:NONE}" } } } } }',
    { environment: { DIRECTORY: "/var/lib" }, files: { "/token": "swordfish\n" } },
  );
  assert.equal(statePath, "/var/lib/kept.sqlite");
  assert.deepEqual(secrets, ["swordfish"]);
});

Deno.test("readJobIndex() rejects a config that it cannot parse", async (t) => {
  const table: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
    "a missing comma": ['{ "state": "x" "checks": {} }', /: it is not JSON$/],
    "a state without a value": [
      '{ "state": "${env:NONE}/x", "checks": {} }',
      /: a placeholder in "state" has no value here$/,
    ],
  };
  for (const [name, [text, message]] of Object.entries(table)) {
    await t.step(name, () =>
      assert.rejects(
        () => jobIndex(text),
        (error) => error instanceof ConfigError && message.test(error.message),
      ));
  }
});
