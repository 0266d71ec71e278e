import assert from "node:assert/strict";
import type { Check } from "../../src/domain/check.ts";
import { load, problemsOf, withCheck } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

/** The resolved check without settings. */
const NOTHING_SET = {
  name: "web",
  active: true,
  threshold: 3,
  recoveryThreshold: 3,
  flapping: "once",
  reminders: false,
  schedule: { regularIntervalMs: 60_000, attentiveIntervalMs: 60_000 },
  notifications: [{ kind: "console", parameters: {} }],
  dependsOn: [],
  invert: false,
  tags: [],
  maintenanceWindows: [],
  timeoutMs: 10_000,
};
const TEST = { kind: "test", parameters: { condition: "warning", output: "" } };
const SCRIPT = { path: "/etc/monitor/x", arguments: [], environment: {}, conditionOnTimeout: "unknown" };
const FILE = {
  path: "/etc/monitor/../x",
  warningAgeMs: 3_600_000,
  criticalAgeMs: 86_400_000,
  conditionOnMissing: "warning",
  conditionOnImplausible: "warning",
};
const ACCESS = { host: "mail.example.org", port: 587, username: "a", password: "password ${x}" };
const MAIL = { access: ACCESS, sender: "ä@ö.example", receivers: ["a@b"] };
const REQUEST = { target: "http://user:x@münchen.example:81" };
const RESPONSE = { statusCode: 200, headers: {} };
const SETTINGS = {
  active: false,
  schedule: { regular_interval: 90, attentive_interval: 9 },
  notifications: [{ kind: "email", parameters: MAIL }, {
    kind: "email",
    parameters: { ...MAIL, tags: ["a"] },
  }],
};
const SETTINGS_MEANT = {
  active: false,
  schedule: { regularIntervalMs: 90_000, attentiveIntervalMs: 9_000 },
  notifications: [{ kind: "email", parameters: { ...MAIL, tags: [] } }, SETTINGS.notifications[1]],
};
const ONLY_A = {
  threshold: 5,
  annoy: true,
  schedule: { regular_interval: "2 hours" },
  notifications: [{ kind: "file_touch", parameters: { path: "./x" } }],
};
const ONLY_A_MEANT = {
  threshold: 5,
  recoveryThreshold: 5,
  reminders: true,
  schedule: { regularIntervalMs: 7_200_000, attentiveIntervalMs: 7_200_000 },
  notifications: [{ kind: "file_touch", parameters: { path: "/etc/monitor/x" } }],
};

type Meaning = readonly [kind: string, own: object, meaning: object, defaults?: object];

/** The specified meaning of checks; omitted fields are those of a check without settings. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  "a test": ["test", { parameters: {} }, {}],
  "a test with all": ["test", { title: "", parameters: { condition: "ok", output: "$x" } }, {
    title: "",
    parameters: { condition: "ok", output: "$x" },
  }],
  "a script": ["script", { parameters: { path: "./x" } }, { timeoutMs: 30_000, parameters: SCRIPT }],
  "a script with all": ["script", { parameters: { path: "/", arguments: ["", "%s"] } }, {
    timeoutMs: 30_000,
    parameters: { ...SCRIPT, path: "/", arguments: ["", "%s"] },
  }],
  "a request": ["http_request", { parameters: { request: REQUEST } }, {
    parameters: { request: { method: "GET", ...REQUEST }, response: RESPONSE, asWarning: false },
  }],
  "a request with all": ["http_request", {
    parameters: {
      request: { ...REQUEST, method: "POST" },
      response: { status_code: null, headers: { ETag: "x", "7": "" }, body_part: "" },
      as_warning: true,
    },
  }, {
    parameters: {
      request: { ...REQUEST, method: "POST" },
      response: { statusCode: null, headers: { ETag: "x", "7": "" }, bodyPart: "" },
      asWarning: true,
    },
  }],
  "settings": ["test", { ...SETTINGS, parameters: {} }, SETTINGS_MEANT],
  "settings of the defaults": ["test", { parameters: {} }, SETTINGS_MEANT, SETTINGS],
  "settings, only in a": ["test", { ...ONLY_A, parameters: {} }, ONLY_A_MEANT],
  "settings of the defaults, only in a": ["test", { parameters: {} }, ONLY_A_MEANT, ONLY_A],
  "settings over those of the defaults, only in a": [
    "test",
    { ...ONLY_A, parameters: {} },
    { ...SETTINGS_MEANT, ...ONLY_A_MEANT },
    SETTINGS,
  ],
  "a file, only in a": ["file_timestamp", { parameters: { path: "../x" } }, { parameters: FILE }],
  "a file with all, only in a": ["file_timestamp", {
    parameters: {
      ...{ path: "/x", warning_age: 1, critical_age: 10_000_000 },
      ...{ condition_on_missing: "ok", condition_on_implausible: "critical" },
    },
  }, {
    parameters: {
      ...{ path: "/x", warningAgeMs: 1_000, criticalAgeMs: 10_000_000_000 },
      ...{ conditionOnMissing: "ok", conditionOnImplausible: "critical" },
    },
  }],
};

Deno.test("loadConfig() gives configs of a profile their specified meaning, with and without it", async (t) => {
  await testRows(t, MEANINGS, async ([kind, own, meaning, defaults = {}], name) => {
    const config = { defaults, checks: { web: { kind, ...own } } };
    const free = await load(config);
    assert.deepEqual(plain(free.checks), [{ ...NOTHING_SET, ...TEST, kind, ...meaning }]);
    for (const shape of name.endsWith("only in a") ? ["a"] as const : ["a", "b"] as const) {
      const held = await load(config, { shape });
      assert.deepEqual(plain(held.checks), plain(free.checks));
      assert.deepEqual(held.warnings, free.warnings);
    }
  });
  assert.deepEqual((await load({ defaults: {} }, { shape: "a" })).checks, []);
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
