import assert from "node:assert/strict";
import type { Channel } from "../../src/domain/channel.ts";
import type { Check, CheckOf } from "../../src/domain/check.ts";
import { isCron } from "../../src/domain/schedule.ts";
import { load, problemsOf } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

const TEST = { kind: "test", parameters: {} };
const EMAIL = {
  kind: "email",
  parameters: {
    access: { host: "mail.example.org", port: 587, username: "monitor", password: "swordfish" },
    sender: "monitor@example.org",
    receivers: ["admin@example.org", "ops@example.org"],
    tags: ["production"],
  },
} as const;
const DESKTOP = { kind: "desktop_notification", parameters: { icon: "dialog-warning" } } as const;
const REQUEST = {
  target: "https://hooks.example.org/x",
  method: "PUT",
  headers: { "X-Token": "swordfish" },
  body: '{"text": "{{output}}"}',
} as const;
const COMMAND = { arguments: ["-v"], environment: { TO: "ops" } };

/** Every setting, written and meant. */
const ALL_SETTINGS = {
  title: "Website",
  active: false,
  threshold: 5,
  recovery_threshold: 2,
  flapping: "all",
  reminders: "6 hours",
  schedule: { regular_interval: "5 minutes", attentive_interval: 30 },
  maintenance_windows: [
    { days: ["sat", "sun"], from: "22:00", to: "06:00", time_zone: "Asia/Tokyo", reason: "restart" },
  ],
  notifications: [
    { kind: "console", parameters: {} },
    { kind: "file_touch", parameters: { path: "run/problem" } },
    EMAIL,
    DESKTOP,
    { kind: "webhook", parameters: { ...REQUEST, timeout: "5s" } },
    { kind: "command", parameters: { path: "./tell.sh", ...COMMAND } },
  ],
  locations: { from: ["fra", "nyc"], agree: 1 },
  invert: true,
  timeout: "2 minutes",
};
/** The keys are frozen: pending notifications must find their channel again after an update of the program. */
const CHANNELS: readonly Channel[] = [
  { kind: "console", key: "759b3b5e5976e80c", parameters: {} },
  { kind: "file_touch", key: "4a1a8e0976711db6", parameters: { path: "/etc/monitor/run/problem" } },
  { ...EMAIL, key: "71b36145478f9063" },
  { ...DESKTOP, key: "f7e8394742353838" },
  { kind: "webhook", key: "7411b710eecd04db", parameters: { ...REQUEST, timeoutMs: 5000 } },
  {
    kind: "command",
    key: "e5477547e0c44e1c",
    parameters: { path: "/etc/monitor/tell.sh", ...COMMAND, timeoutMs: 30_000 },
  },
];
const ALL_SETTINGS_MEANT = {
  name: "web",
  title: "Website",
  active: false,
  threshold: 5,
  recoveryThreshold: 2,
  flapping: "all" as const,
  invert: true,
  reminders: 21_600_000,
  schedule: { regularIntervalMs: 300_000, attentiveIntervalMs: 30_000 },
  maintenanceWindows: [
    {
      days: ["sat", "sun"] as const,
      fromMinute: 1320,
      toMinute: 360,
      timeZone: "Asia/Tokyo",
      reason: "restart",
    },
  ],
  notifications: CHANNELS,
  dependsOn: [],
  tags: [],
  locations: { from: ["fra", "nyc"], agree: 1 },
  timeoutMs: 120_000,
};

const OPTIONS = {
  files: { "/usr/lib/plugins/check_disk": { mode: 0o755 } },
  environment: { PATH: "/usr/lib/plugins" },
};

/** A kind that has most formats; tests/scripts/generate_test.ts tries the others, shapes_test.ts the defaults. */
Deno.test("resolveChecks() uses every value of the check", async () => {
  const parameters = {
    pattern: "java .*shop",
    pid_file: "shop.pid",
    executable: "bin/shop",
    user: "shop",
    count: { warning_below: 2, critical_below: 1, warning_above: 5, critical_above: 9 },
    age: { warning_below: 60, critical_below: "30 s", warning_above: "1 day", critical_above: "2 days" },
    memory: { warning_above: "1 GB", critical_above: 2_000_000_000 },
    command: "check_disk",
  };
  const expected: CheckOf<"process"> = {
    ...ALL_SETTINGS_MEANT,
    kind: "process",
    parameters: {
      pattern: "java .*shop",
      pidFile: "/etc/monitor/shop.pid",
      executable: "/etc/monitor/bin/shop",
      user: "shop",
      count: { warningBelow: 2, criticalBelow: 1, warningAbove: 5, criticalAbove: 9 },
      age: {
        warningBelowMs: 60_000,
        criticalBelowMs: 30_000,
        warningAboveMs: 86_400_000,
        criticalAboveMs: 172_800_000,
      },
      memory: { warningAboveBytes: 1e9, criticalAboveBytes: 2e9 },
      command: "/usr/lib/plugins/check_disk",
    },
  };
  assert.deepEqual(await resolved({ ...ALL_SETTINGS, kind: "process", parameters }), expected);
});

Deno.test("resolveChecks() uses the defaults for keys that a check does not set", async () => {
  const { title: _title, timeout: _timeout, invert: _invert, ...defaults } = ALL_SETTINGS;
  const { title: _meant, timeoutMs: _timeoutMs, ...settings } = ALL_SETTINGS_MEANT;
  assert.deepEqual(await resolved({ kind: "process", parameters: { name: "nginx" } }, defaults), {
    ...settings,
    invert: false,
    kind: "process",
    parameters: { name: "nginx", count: { criticalBelow: 1 }, age: {}, memory: {} },
    timeoutMs: 10_000,
  });
});

Deno.test("resolveChecks() uses the threshold as recovery threshold, whatever its source", async () => {
  const of = async (own: object, defaults: object = {}) =>
    (await resolved({ ...TEST, ...own }, defaults)).recoveryThreshold;
  assert.equal(await of({ threshold: 2 }), 2);
  assert.equal(await of({}, { threshold: 4 }), 4);
  assert.equal(await of({ threshold: 2 }, { recovery_threshold: 9 }), 9);
  assert.equal(await of({ recovery_threshold: 1 }, { recovery_threshold: 9 }), 1);
});

Deno.test("resolveChecks() keeps the names of headers and variables as they are", async () => {
  const text = `{ "defaults": {}, "checks": { "web": { "kind": "script", "parameters": {
    "path": "/x", "environment": { "__proto__": "1", "snake_case": "2", "timeout": "3" } } } } }`;
  const { checks: [check] } = await load(text);
  const { environment } = (check as CheckOf<"script">).parameters;
  assert.deepEqual(Object.entries(environment), [["__proto__", "1"], ["snake_case", "2"], ["timeout", "3"]]);
});

async function resolved(check: object, defaults: object = {}): Promise<Check> {
  const { checks: [found] } = await load({ defaults, checks: { web: check } }, OPTIONS);
  assert.ok(found !== undefined);
  const { definition, ...settings } = found;
  assert.match(definition ?? "", /^[0-9a-f]{16}$/);
  // Objects with free names have no prototype, which is not part of their meaning.
  return structuredClone(settings);
}

Deno.test("resolveChecks() has a definition of what a check observes, as it is written", async () => {
  const definitionOf = async (check: object): Promise<string> => {
    const { checks } = await load({ defaults: {}, checks: { web: check } }, {
      environment: { PLACE: "/a", OTHER: "/a" },
    });
    return checks[0]?.definition ?? "";
  };
  const test = (parameters: object, others = {}) => definitionOf({ kind: "test", parameters, ...others });
  const first = await test({ output: "${env:PLACE}", condition: "ok" });
  const settings = { title: "Web", threshold: 7, schedule: { regular_interval: "1 day" } };
  assert.equal(await test({ output: "${env:PLACE}", condition: "ok" }, settings), first);
  assert.equal(await test({ condition: "ok", output: "${env:PLACE}" }), first, "another order of keys");
  assert.equal(
    new Set([first, await test({ output: "${env:OTHER}" }), await test({ output: "/a" })]).size,
    3,
  );
  const nested = (headers: object) =>
    definitionOf({
      kind: "http_request",
      parameters: { request: { target: "http://example.org/", headers } },
    });
  assert.equal(await nested({ a: "x", b: "y" }), await nested({ b: "y", a: "x" }), "objects in objects");
});

Deno.test("resolveConfig() edits groups with the checks that they combine, and nothing else", async () => {
  const definitionsOf = async (output: string, from: readonly string[]): Promise<readonly unknown[]> => {
    const group = (...checks: readonly string[]): object => ({ kind: "group", parameters: { checks } });
    const { checks } = await load({
      defaults: {},
      checks: {
        outer: group("inner"),
        inner: group("web"),
        web: { kind: "test", parameters: { output }, locations: { from } },
        alone: { kind: "test", parameters: {}, depends_on: ["outer"] },
        others: group("alone"),
      },
    });
    return checks.map(({ definition }) => definition);
  };
  const first = await definitionsOf("a", ["fra"]);
  const changes = async (output: string, from: readonly string[]): Promise<readonly boolean[]> =>
    (await definitionsOf(output, from)).map((definition, index) => definition !== first[index]);
  assert.equal(new Set(first).size, 5);
  assert.deepEqual(await changes("a", ["fra"]), [false, false, false, false, false]);
  assert.deepEqual(await changes("b", ["fra"]), [true, true, true, false, false]);
  assert.deepEqual(await changes("a", ["nyc"]), [true, true, false, false, false]);
});

Deno.test("resolveChecks() parses cron schedules, in the machine's time zone unless the config sets one", async () => {
  const there = { cron: "30 6 * * *", time_zone: "Asia/Tokyo", attentive_interval: "5 minutes" };
  const { checks } = await load({
    defaults: { schedule: { cron: "30 6 * * *" } },
    checks: { here: TEST, there: { ...TEST, schedule: there } },
  });
  const found = checks.map(({ schedule }) => {
    assert.ok(isCron(schedule));
    const { times, attentiveIntervalMs } = schedule;
    return [times.timeZone, attentiveIntervalMs, new Date(times.after(Date.UTC(2026, 0, 10))).toISOString()];
  });
  assert.deepStrictEqual(found, [
    ["Europe/Zurich", null, "2026-01-10T05:30:00.000Z"],
    ["Asia/Tokyo", 300_000, "2026-01-10T21:30:00.000Z"],
  ]);
});

Deno.test("resolveChecks() resolves the config's windows, and those of the check or the defaults", async () => {
  const own = [{ from: "22:00", to: "06:00", reason: "backup" }];
  const { checks } = await load({
    defaults: { maintenance_windows: [{ from: "01:00", to: "02:00" }] },
    maintenance_windows: [{ days: ["sun"], from: "00:00", to: "24:00", time_zone: "UTC" }],
    checks: {
      taken: TEST,
      own: { ...TEST, maintenance_windows: own },
      none: { ...TEST, maintenance_windows: [] },
    },
  });
  const all = { days: ["sun"], fromMinute: 0, toMinute: 1440, timeZone: "UTC" };
  assert.deepEqual(checks.map(({ maintenanceWindows }) => maintenanceWindows), [
    [all, { fromMinute: 60, toMinute: 120, timeZone: "Europe/Zurich" }],
    [all, { fromMinute: 1320, toMinute: 360, timeZone: "Europe/Zurich", reason: "backup" }],
    [all],
  ]);
});

Deno.test("loadConfig() resolves every key of an http_request check", async () => {
  const request = {
    target: "https://h/",
    method: "PUT",
    tls: { ca_file: "ca.pem", certificate: "/c", key: "k" },
  };
  const response = {
    status_code: [200, "3xx"],
    json: { "$.a": { equals: { b_c: [{ d_e: 1 }] }, less_than: 1 }, "$.list": [{ f_g: null }], "$.b": "up" },
    warning_duration: "500 ms",
    critical_duration: 1.5,
  };
  const { checks } = await load({
    defaults: {},
    checks: { web: { kind: "http_request", parameters: { request, response } } },
  });
  const [check] = checks;
  assert.ok(check?.kind === "http_request");
  const { caFile: authority, certificate, key } = check.parameters.request?.tls ?? {};
  assert.deepEqual([authority, certificate, key], ["/etc/monitor/ca.pem", "/c", "/etc/monitor/k"]);
  const resolved = JSON.parse(JSON.stringify(check.parameters.response));
  assert.deepEqual(resolved, {
    statusCode: [200, "3xx"],
    headers: {},
    json: { "$.a": { equals: { b_c: [{ d_e: 1 }] }, lessThan: 1 }, "$.list": [{ f_g: null }], "$.b": "up" },
    warningDurationMs: 500,
    criticalDurationMs: 1500,
  });
});

Deno.test("loadConfig() rejects a pattern that is too long", async () => {
  const parameters = { request: { target: "https://h/" }, response: { body_pattern: "a".repeat(1001) } };
  const [problem] = await problemsOf({ defaults: {}, checks: { web: { kind: "http_request", parameters } } });
  assert.match(String(problem), /a{79}…" is not .*: it has 1001 characters, at most 1000 are accepted$/);
});

Deno.test("loadConfig() accepts annoy as the name of reminders in the specification", async (t) => {
  const rows: Readonly<Record<string, readonly [defaults: object, own: object, resolved: unknown]>> = {
    "in defaults": [{ annoy: "1 hour" }, {}, 3_600_000],
    "in a check": [{}, { annoy: true }, true],
    "in a check, over reminders of defaults": [{ reminders: "1 hour" }, { annoy: true }, true],
    "in defaults, under reminders of a check": [{ annoy: true }, { reminders: ["1 hour", 60] }, [
      3_600_000,
      60_000,
    ]],
  };
  await testRows(t, rows, async ([defaults, own, resolved]) => {
    const { checks } = await load({ defaults, checks: { web: { ...TEST, ...own } } });
    assert.deepEqual(checks[0]?.reminders, resolved);
    assert.ok(!("annoy" in (checks[0] ?? {})));
  });
});

Deno.test("loadConfig() uses no reminders if this machine lacks the value of annoy", async () => {
  const { checks } = await load({
    defaults: { reminders: true },
    checks: { web: { ...TEST, annoy: "${env:MISSING}" } },
  });
  assert.equal(checks[0]?.reminders, false);
  assert.match(checks[0].lack ?? "", /MISSING/);
});
