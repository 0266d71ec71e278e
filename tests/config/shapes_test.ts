import assert from "node:assert/strict";
import fc from "../support/property.ts";
import type { Check } from "../../src/domain/check.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { generatedConfigs } from "./configs.ts";
import { load, problemsOf, withCheck } from "../../testing/config_system.ts";
import { campaign } from "../../testing/seed.ts";
import { testRows } from "../support/rows.ts";

for (const shape of ["a", "b"] as const) {
  const name = `profile ${shape}`;

  Deno.test(`loadConfig() accepts every config of ${name} with the specified meaning`, async () => {
    await fc.assert(
      fc.asyncProperty(generatedConfigs(shape), async ({ config, checks }) => {
        assert.deepEqual(plain((await load(config)).checks), plain(checks));
      }),
      { numRuns: shortOrFull(campaign(150), 4_000) },
    );
  });

  Deno.test(`loadConfig() resolves ${name} to the same config with and without the profile`, async () => {
    await fc.assert(
      fc.asyncProperty(generatedConfigs(shape), async ({ config }) => {
        const [held, free] = [await load(config, { shape }), await load(config)];
        assert.deepEqual(plain(held.checks), plain(free.checks));
        assert.deepEqual(held.warnings, free.warnings);
      }),
      { numRuns: shortOrFull(campaign(150), 4_000) },
    );
  });
}

Deno.test("loadConfig() accepts every config of profile b in profile a", async () => {
  await fc.assert(
    fc.asyncProperty(generatedConfigs("b"), async ({ config, checks }) => {
      assert.deepEqual(plain((await load(config, { shape: "a" })).checks), plain(checks));
    }),
    { numRuns: shortOrFull(campaign(100), 2_000) },
  );
});

/**
 * Checks as values: objects with free names have no prototype, which is not part of their meaning, and the keys of
 * channels and hashes of definitions have tests of their own.
 */
function plain(checks: readonly Check[]): unknown {
  return structuredClone(checks).map(({ definition: _definition, ...check }) => ({
    ...check,
    notifications: check.notifications.map(({ key: _key, ...channel }) => channel),
  }));
}

const DEFAULT_HAS_IT = "(the default schema has it)";
const B_DEFAULTS = "expected one of active, schedule, notifications";
const A_DEFAULTS = "expected one of active, threshold, annoy, schedule, notifications";
const B_CHECK = "expected one of title, active, schedule, notifications, kind, parameters";
const A_CHECK = "expected one of title, active, threshold, annoy, schedule, notifications, kind, parameters";
const mail = {
  access: { host: "h", port: 25, username: "", password: "" },
  sender: "a@b",
  receivers: ["a@b"],
};
const file = { kind: "file_timestamp", parameters: { path: "/x" } };
const script = (parameters: object) =>
  withCheck({ kind: "script", parameters: { path: "/x", ...parameters } });
const channel = (kind: string, parameters: object = {}) => ({
  defaults: { notifications: [{ kind, parameters }] },
});

function kindRefused(kind: string, shape: string, kinds: string): string {
  return `checks.web.kind: is "${kind}", expected one of ${kinds} ` +
    `("${kind}" is not in profile ${shape}; the default schema has it)`;
}

/** Configs that the default schema accepts, and the error of each profile: `null` if it accepts them too. */
const BEYOND: Readonly<Record<string, readonly [config: unknown, a: string | null, b: string | null]>> = {
  "$schema": [
    { $schema: "./monitor.schema.json", defaults: {} },
    `$schema: is not in profile a, expected one of defaults, checks ${DEFAULT_HAS_IT}`,
    `$schema: is not in profile b, expected one of defaults, checks ${DEFAULT_HAS_IT}`,
  ],
  "state": [
    { defaults: {}, state: "state.sqlite" },
    `state: is not in profile a, expected one of defaults, checks ${DEFAULT_HAS_IT}`,
    `state: is not in profile b, expected one of defaults, checks ${DEFAULT_HAS_IT}`,
  ],
  "include": [
    { defaults: {}, include: [] },
    `include: is not in profile a, expected one of defaults, checks ${DEFAULT_HAS_IT}`,
    `include: is not in profile b, expected one of defaults, checks ${DEFAULT_HAS_IT}`,
  ],
  "tags": [
    withCheck({ kind: "test", tags: ["web"], parameters: {} }),
    `checks.web.tags: is not in profile a, ${A_CHECK} ${DEFAULT_HAS_IT}`,
    `checks.web.tags: is not in profile b, ${B_CHECK} ${DEFAULT_HAS_IT}`,
  ],
  "maintenance_windows": [
    withCheck({ kind: "test", maintenance_windows: [], parameters: {} }),
    `checks.web.maintenance_windows: is not in profile a, ${A_CHECK} ${DEFAULT_HAS_IT}`,
    `checks.web.maintenance_windows: is not in profile b, ${B_CHECK} ${DEFAULT_HAS_IT}`,
  ],
  "tags in defaults": [
    { defaults: { tags: ["web"] } },
    `defaults.tags: is not in profile a, ${A_DEFAULTS} ${DEFAULT_HAS_IT}`,
    `defaults.tags: is not in profile b, ${B_DEFAULTS} ${DEFAULT_HAS_IT}`,
  ],
  "threshold in defaults": [
    { defaults: { threshold: 2 } },
    null,
    `defaults.threshold: is not in profile b, ${B_DEFAULTS} ${DEFAULT_HAS_IT}`,
  ],
  "annoy in defaults": [
    { defaults: { annoy: true } },
    null,
    `defaults.annoy: is not in profile b, ${B_DEFAULTS} ${DEFAULT_HAS_IT}`,
  ],
  "recovery_threshold in defaults": [
    { defaults: { recovery_threshold: 2 } },
    `defaults.recovery_threshold: is not in profile a, ${A_DEFAULTS} ${DEFAULT_HAS_IT}`,
    `defaults.recovery_threshold: is not in profile b, ${B_DEFAULTS} ${DEFAULT_HAS_IT}`,
  ],
  "threshold": [
    withCheck({ kind: "test", threshold: 2, parameters: {} }),
    null,
    `checks.web.threshold: is not in profile b, ${B_CHECK} ${DEFAULT_HAS_IT}`,
  ],
  "annoy": [
    withCheck({ kind: "test", annoy: true, parameters: {} }),
    null,
    `checks.web.annoy: is not in profile b, ${B_CHECK} ${DEFAULT_HAS_IT}`,
  ],
  "recovery_threshold": [
    withCheck({ kind: "test", recovery_threshold: 2, parameters: {} }),
    `checks.web.recovery_threshold: is not in profile a, ${A_CHECK} ${DEFAULT_HAS_IT}`,
    `checks.web.recovery_threshold: is not in profile b, ${B_CHECK} ${DEFAULT_HAS_IT}`,
  ],
  "timeout": [
    withCheck({ kind: "test", timeout: 5, parameters: {} }),
    `checks.web.timeout: is not in profile a, ${A_CHECK} ${DEFAULT_HAS_IT}`,
    `checks.web.timeout: is not in profile b, ${B_CHECK} ${DEFAULT_HAS_IT}`,
  ],
  "annoy with an interval": [
    withCheck({ kind: "test", annoy: "6 hours", parameters: {} }),
    'checks.web.annoy: is the string "6 hours", expected true or false ' +
    "(a string is not in profile a here; the default schema has it)",
    `checks.web.annoy: is not in profile b, ${B_CHECK} ${DEFAULT_HAS_IT}`,
  ],
  "annoy with seconds": [
    withCheck({ kind: "test", annoy: 3600, parameters: {} }),
    "checks.web.annoy: is 3600, expected true or false (this is not in profile a here; the default schema has it)",
    `checks.web.annoy: is not in profile b, ${B_CHECK} ${DEFAULT_HAS_IT}`,
  ],
  "an interval as text": [
    { defaults: { schedule: { regular_interval: "minute" } } },
    null,
    'defaults.schedule.regular_interval: is the string "minute", expected a whole number ' +
    "(a string is not in profile b here; the default schema has it)",
  ],
  "file_timestamp": [
    withCheck(file),
    null,
    'checks.web.kind: is "file_timestamp", expected one of "test", "script", "http_request" ' +
    '("file_timestamp" is not in profile b; the default schema has it)',
  ],
  "an age as text": [
    withCheck({ ...file, parameters: { path: "/x", warning_age: "1 hour" } }),
    'checks.web.parameters.warning_age: is the string "1 hour", expected a whole number ' +
    "(a string is not in profile a here; the default schema has it)",
    'checks.web.kind: is "file_timestamp", expected one of "test", "script", "http_request" ' +
    '("file_timestamp" is not in profile b; the default schema has it)',
  ],
  "environment": [
    script({ environment: { A: "b" } }),
    `checks.web.parameters.environment: is not in profile a, expected one of path, arguments ${DEFAULT_HAS_IT}`,
    `checks.web.parameters.environment: is not in profile b, expected one of path, arguments ${DEFAULT_HAS_IT}`,
  ],
  "condition_on_timeout": [
    script({ condition_on_timeout: "ok" }),
    `checks.web.parameters.condition_on_timeout: is not in profile a, expected one of path, arguments ${DEFAULT_HAS_IT}`,
    `checks.web.parameters.condition_on_timeout: is not in profile b, expected one of path, arguments ${DEFAULT_HAS_IT}`,
  ],
  "job": [
    { defaults: {}, checks: { web: { kind: "job", parameters: { expected_every: "1 day" } } } },
    'checks.web.kind: is "job", expected one of "test", "script", "file_timestamp", "http_request" ' +
    '("job" is not in profile a; the default schema has it)',
    'checks.web.kind: is "job", expected one of "test", "script", "http_request" ' +
    '("job" is not in profile b; the default schema has it)',
  ],
  "file_touch": [
    channel("file_touch", { path: "/x" }),
    null,
    'defaults.notifications[0].kind: is "file_touch", expected one of "console", "email" ' +
    '("file_touch" is not in profile b; the default schema has it)',
  ],
  "desktop_notification": [
    channel("desktop_notification", { icon: "dialog-warning" }),
    'defaults.notifications[0].kind: is "desktop_notification": profile a does not list this ' +
    "channel; the default schema has it",
    'defaults.notifications[0].kind: is "desktop_notification", expected one of "console", "email" ' +
    '("desktop_notification" is not in profile b; the default schema has it)',
  ],
  "tcp_connect": [
    withCheck({ kind: "tcp_connect", parameters: { host: "h", port: 22 } }),
    kindRefused("tcp_connect", "a", '"test", "script", "file_timestamp", "http_request"'),
    kindRefused("tcp_connect", "b", '"test", "script", "http_request"'),
  ],
  "tls_certificate": [
    withCheck({ kind: "tls_certificate", parameters: { host: "h" } }),
    kindRefused("tls_certificate", "a", '"test", "script", "file_timestamp", "http_request"'),
    kindRefused("tls_certificate", "b", '"test", "script", "http_request"'),
  ],
  "dns_lookup": [
    withCheck({ kind: "dns_lookup", parameters: { name: "h" } }),
    kindRefused("dns_lookup", "a", '"test", "script", "file_timestamp", "http_request"'),
    kindRefused("dns_lookup", "b", '"test", "script", "http_request"'),
  ],
  "group": [
    {
      defaults: {},
      checks: { web: { kind: "group", parameters: { checks: ["a"] } }, a: { kind: "test", parameters: {} } },
    },
    kindRefused("group", "a", '"test", "script", "file_timestamp", "http_request"'),
    kindRefused("group", "b", '"test", "script", "http_request"'),
  ],
  "ping": [
    withCheck({ kind: "ping", parameters: { host: "h" } }),
    kindRefused("ping", "a", '"test", "script", "file_timestamp", "http_request"'),
    kindRefused("ping", "b", '"test", "script", "http_request"'),
  ],
  "certificate of a response": [
    withCheck({
      kind: "http_request",
      parameters: { request: { target: "https://h/" }, response: { certificate: {} } },
    }),
    "checks.web.parameters.response.certificate: is not in profile a, expected one of status_code, headers, " +
    `body_part ${DEFAULT_HAS_IT}`,
    "checks.web.parameters.response.certificate: is not in profile b, expected one of status_code, headers, " +
    `body_part ${DEFAULT_HAS_IT}`,
  ],
  "email": [channel("email", mail), null, null],
};

Deno.test("loadConfig() rejects keys that a profile does not have", async (t) => {
  await testRows(t, BEYOND, async ([config, a, b]) => {
    assert.deepEqual(await problemsOf(config), [], "the default schema has it");
    assert.deepEqual(await problemsOf(config, { shape: "a" }), a === null ? [] : [a]);
    assert.deepEqual(await problemsOf(config, { shape: "b" }), b === null ? [] : [b]);
  });
});

Deno.test("loadConfig() validates the intervals of a profile", async () => {
  const config = { defaults: { schedule: { regular_interval: 1e12 } } };
  const problem =
    "defaults.schedule.regular_interval: 1000000000000 is longer than a hundred years, expected at most that";
  for (const shape of ["monitor", "a", "b"] as const) {
    assert.deepEqual(await problemsOf(config, { shape }), [problem]);
  }
  assert.deepEqual(
    await problemsOf({ defaults: { schedule: { regular_interval: "soon" } } }, { shape: "b" }),
    [
      'defaults.schedule.regular_interval: is the string "soon", expected a whole number ' +
      "(a string is not in profile b here; the default schema has it)",
    ],
  );
  assert.deepEqual(await problemsOf({ defaults: { schedule: { regular_interval: 0 } } }, { shape: "b" }), [
    "defaults.schedule.regular_interval: is 0, expected 1 or more",
  ]);
});

Deno.test("loadConfig() rejects groups as undefined in every profile", async () => {
  for (const shape of ["monitor", "a", "b"] as const) {
    assert.deepEqual(await problemsOf({ defaults: {}, groups: {} }, { shape }), [
      "groups: is not a key: the specification names it as required without defining it, so it has no meaning here " +
      "(remove it)",
    ]);
  }
});

Deno.test("loadConfig() suggests the nearest key of the profile for a misspelled one", async () => {
  assert.deepEqual(await problemsOf({ defaults: { treshold: 1 } }, { shape: "a" }), [
    `defaults.treshold: unknown key "treshold", ${A_DEFAULTS} (did you mean "threshold"?)`,
  ]);
  assert.deepEqual(await problemsOf({ defaults: { treshold: 1 } }, { shape: "b" }), [
    `defaults.treshold: unknown key "treshold", ${B_DEFAULTS}`,
  ]);
});
