import assert from "node:assert/strict";
import fc from "../support/property.ts";
import type { Check } from "../../src/domain/check.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { generatedConfigs } from "./configs.ts";
import { load, problemsOf, withCheck } from "../../testing/config_system.ts";
import { campaign } from "../../testing/seed.ts";
import { testRows } from "../support/rows.ts";

for (const shape of ["a", "b"] as const) {
  Deno.test(`loadConfig() accepts every config of profile ${shape} with the specified meaning, with and without it`, async () => {
    await fc.assert(
      fc.asyncProperty(generatedConfigs(shape), async ({ config, checks }) => {
        const [held, free] = [await load(config, { shape }), await load(config)];
        assert.deepEqual(plain(free.checks), plain(checks));
        assert.deepEqual(plain(held.checks), plain(checks));
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

/** The errors of a key in both profiles, with the keys that each has in its place. */
function beyond(path: string, ofA: string, ofB = ofA): readonly [a: string, b: string] {
  const message = (profile: string, keys: string): string =>
    `${path}: is not in profile ${profile}, ${keys} (the default schema has it)`;
  return [message("a", ofA), message("b", ofB)];
}

function kindRefused(kind: string): readonly [a: string, b: string] {
  const message = (profile: string, kinds: string): string =>
    `checks.web.kind: is "${kind}", expected one of ${kinds} ` +
    `("${kind}" is not in profile ${profile}; the default schema has it)`;
  return [
    message("a", '"test", "script", "file_timestamp", "http_request"'),
    message("b", '"test", "script", "http_request"'),
  ];
}

/** Configs that the default schema accepts, and the error of each profile: `null` if it accepts them too. */
const BEYOND: Readonly<Record<string, readonly [config: unknown, a: string | null, b: string | null]>> = {
  "tags": [
    withCheck({ kind: "test", tags: ["web"], parameters: {} }),
    ...beyond("checks.web.tags", A_CHECK, B_CHECK),
  ],
  "threshold": [
    withCheck({ kind: "test", threshold: 2, parameters: {} }),
    null,
    beyond("checks.web.threshold", B_CHECK)[1],
  ],
  "annoy": [
    withCheck({ kind: "test", annoy: true, parameters: {} }),
    null,
    beyond("checks.web.annoy", B_CHECK)[1],
  ],
  "annoy with an interval": [
    withCheck({ kind: "test", annoy: "6 hours", parameters: {} }),
    'checks.web.annoy: is the string "6 hours", expected true or false ' +
    "(a string is not in profile a here; the default schema has it)",
    beyond("checks.web.annoy", B_CHECK)[1],
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
  "environment": [
    script({ environment: { A: "b" } }),
    ...beyond("checks.web.parameters.environment", "expected one of path, arguments"),
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
    ...kindRefused("tcp_connect"),
  ],
  "certificate of a response": [
    withCheck({
      kind: "http_request",
      parameters: { request: { target: "https://h/" }, response: { certificate: {} } },
    }),
    ...beyond(
      "checks.web.parameters.response.certificate",
      "expected one of status_code, headers, body_part",
    ),
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

Deno.test("loadConfig() rejects groups as undefined in every profile", async () => {
  for (const shape of ["monitor", "a", "b"] as const) {
    assert.deepEqual(await problemsOf({ defaults: {}, groups: {} }, { shape }), [
      "groups: is not a key: the specification names it as required without defining it, so it has no meaning here " +
      "(remove it)",
    ]);
  }
});
