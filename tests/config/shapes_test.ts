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

const check = (keys: object) => withCheck({ kind: "test", parameters: {}, ...keys });
const channel = (kind: string, parameters: object) => ({
  defaults: { notifications: [{ kind, parameters }] },
});

/** Configs that the default schema accepts, and the place of the error in each profile: `null` if it has none. */
const BEYOND: Readonly<Record<string, readonly [config: unknown, a: string | null, b: string | null]>> = {
  "a key of a check": [check({ tags: ["web"] }), "checks.web.tags", "checks.web.tags"],
  "threshold": [check({ threshold: 2 }), null, "checks.web.threshold"],
  "reminders": [check({ reminders: true }), "checks.web.reminders", "checks.web.reminders"],
  "annoy with an interval": [check({ annoy: "6 hours" }), "checks.web.annoy", "checks.web.annoy"],
  "an interval as text": [
    { defaults: { schedule: { regular_interval: "minute" } } },
    null,
    "defaults.schedule.regular_interval",
  ],
  "a kind": [
    check({ kind: "tcp_connect", parameters: { host: "h", port: 22 } }),
    "checks.web.kind",
    "checks.web.kind",
  ],
  "a kind of one profile": [
    check({ kind: "file_timestamp", parameters: { path: "/x" } }),
    null,
    "checks.web.kind",
  ],
  "a parameter": [
    check({ kind: "script", parameters: { path: "/x", environment: { A: "b" } } }),
    "checks.web.parameters.environment",
    "checks.web.parameters.environment",
  ],
  "a channel": [
    channel("desktop_notification", { icon: "dialog-warning" }),
    "defaults.notifications[0].kind",
    "defaults.notifications[0].kind",
  ],
};

Deno.test("loadConfig() rejects keys that a profile does not have", async (t) => {
  await testRows(t, BEYOND, async ([config, a, b]) => {
    assert.deepEqual(await problemsOf(config), [], "the default schema has it");
    for (const [shape, place] of [["a", a], ["b", b]] as const) {
      const problems = await problemsOf(config, { shape });
      assert.deepEqual(problems.map((problem) => problem.split(": ")[0]), place === null ? [] : [place]);
      for (const problem of problems) assert.match(problem, /the default schema has it/);
    }
  });
});
