import fc from "../support/property.ts";
import type { Channel } from "../../src/domain/channel.ts";
import type { Check } from "../../src/domain/check.ts";

/** A valid config of one of the specification's shapes, and the checks that it means. */
export interface GeneratedConfig {
  readonly config: Readonly<Record<string, unknown>>;
  readonly checks: readonly Check[];
}

/** The directory of relative paths in {@linkcode generatedConfigs}. */
export const DIRECTORY = "/etc/monitor";

/** Random valid configs. Their meaning is computed here again from the specification's tables, without any schema. */
export function generatedConfigs(shape: "a" | "b"): fc.Arbitrary<GeneratedConfig> {
  return fc.record({
    defaults: settings(shape),
    checks: fc.option(
      fc.uniqueArray(fc.tuple(names(), check(shape)), { selector: ([name]) => name, maxLength: 5 }),
    ),
  }).map(({ defaults, checks }) => {
    const config: Record<string, unknown> = { defaults };
    if (checks !== null) config["checks"] = Object.fromEntries(checks);
    // JavaScript orders names that look like indexes first, and so does the text.
    const ordered = checks === null ? [] : Object.entries(Object.fromEntries(checks));
    return { config, checks: ordered.map(([name, own]) => meaning(name, own, defaults)) };
  });
}

type Shape = "a" | "b";
type Settings = {
  readonly active?: boolean;
  readonly threshold?: number;
  readonly annoy?: boolean;
  readonly schedule?: { readonly regular_interval: RawInterval; readonly attentive_interval?: RawInterval };
  readonly notifications?: readonly RawChannel[];
};
type RawInterval = number | keyof typeof TEXT_INTERVALS;
type RawCheck = Settings & {
  readonly title?: string;
  readonly kind: SpecifiedKind;
  readonly parameters: Readonly<Record<string, unknown>>;
};
type RawChannel = { readonly kind: Channel["kind"]; readonly parameters: Readonly<Record<string, unknown>> };

function names(): fc.Arbitrary<string> {
  const odd = fc.constantFrom(
    ..."__proto__ constructor toString 8080 0 \ud800 a/b ~ ä".split(" "),
    "",
    "a b",
  );
  return fc.oneof(fc.string(), odd, fc.constantFrom("web", "disk", "mail"));
}

/** Any text without special characters: a placeholder, a NUL. */
function texts(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string(),
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("", "${HOME}", "$x", "%s", "'\"\\"),
  )
    .filter((text) => !/\0|\$\{(env|file):|\$\$\{/.test(text));
}

function paths(): fc.Arbitrary<string> {
  return fc.constantFrom("/var/run/x", "x", "a/b", "../x", "./x", "/", "with space", "ä", "C:\\x");
}

const TEXT_INTERVALS = {
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  "2 hours": 7200,
  "90s": 90,
} as const;

function intervals(shape: Shape): fc.Arbitrary<RawInterval> {
  const seconds = fc.integer({ min: 1, max: 10_000_000 });
  const texts = Object.keys(TEXT_INTERVALS) as (keyof typeof TEXT_INTERVALS)[];
  return shape === "a" ? fc.oneof(seconds, fc.constantFrom(...texts)) : seconds;
}

function optional<T extends object>(
  keys: { [K in keyof T]-?: fc.Arbitrary<T[K]> },
): fc.Arbitrary<Partial<T>> {
  return fc.record(keys, { requiredKeys: [] }) as unknown as fc.Arbitrary<Partial<T>>;
}

function settings(shape: Shape): fc.Arbitrary<Settings> {
  const schedule = fc.record({ regular_interval: intervals(shape), attentive_interval: intervals(shape) }, {
    requiredKeys: ["regular_interval"],
  });
  const common = {
    active: fc.boolean(),
    schedule,
    notifications: fc.array(channel(shape), { maxLength: 3 }),
  };
  const keys = shape === "a" ? { ...common, threshold: fc.integer({ min: 1 }), annoy: fc.boolean() } : common;
  return optional(keys) as fc.Arbitrary<Settings>;
}

function channel(shape: Shape): fc.Arbitrary<RawChannel> {
  const addresses = fc.constantFrom("admin@example.org", "a@b", "x.y+z@mail.example", "ä@ö.example");
  const console = fc.record({ kind: fc.constant("console" as const), parameters: fc.constant({}) });
  const email = fc.record({
    kind: fc.constant("email" as const),
    parameters: fc.record({
      access: fc.record({
        host: fc.constantFrom("mail.example.org", "localhost", "127.0.0.1", "::1"),
        port: fc.integer({ min: 1, max: 65_535 }),
        username: texts(),
        // One that stands in a title as well would be hidden there.
        password: texts().map((text) => text === "" ? text : `password ${text}`),
      }),
      sender: addresses,
      receivers: fc.array(addresses, { minLength: 1, maxLength: 3 }),
      tags: fc.array(texts(), { maxLength: 3 }),
    }, { requiredKeys: ["access", "sender", "receivers"] }),
  });
  const touch = fc.record({
    kind: fc.constant("file_touch" as const),
    parameters: fc.record({ path: paths() }),
  });
  return shape === "a" ? fc.oneof(console, email, touch) : fc.oneof(console, email);
}

function check(shape: Shape): fc.Arbitrary<RawCheck> {
  const conditions = fc.constantFrom("unknown", "ok", "warning", "critical");
  const test = optional({ condition: conditions, output: texts() });
  const script = fc.record({
    // A command without a slash must exist, which tests/config/check_commands_test.ts tests.
    path: paths().map((path) => path.includes("/") ? path : `./${path}`),
    arguments: fc.array(texts(), { maxLength: 3 }),
  }, { requiredKeys: ["path"] });
  const file = fc.record({
    path: paths(),
    warning_age: fc.integer({ min: 1, max: 10_000_000 }),
    critical_age: fc.integer({ min: 1, max: 10_000_000 }),
    condition_on_missing: conditions,
    condition_on_implausible: conditions,
  }, { requiredKeys: ["path"] });
  const request = fc.record({
    request: fc.record({
      target: fc.constantFrom(
        "HTTP://[::1]:8080",
        "https://example.org/a%20b/ü?c=d&e#f",
        "http://user:x@münchen.example:81",
      ),
      method: fc.constantFrom("GET", "POST"),
    }, { requiredKeys: ["target"] }),
    response: optional({
      status_code: fc.option(fc.integer({ min: 100, max: 599 })),
      headers: fc.dictionary(fc.constantFrom("ETag", "X-A", "x-a", "__proto__", "constructor", "7"), texts()),
      body_part: texts(),
    }),
    as_warning: fc.boolean(),
  }, { requiredKeys: ["request"] });
  const kinds: Partial<Record<SpecifiedKind, fc.Arbitrary<object>>> = shape === "a"
    ? { test, script, file_timestamp: file, http_request: request }
    : { test, script, http_request: request };
  const own = fc.tuple(settings(shape), optional({ title: texts() }));
  return fc.oneof(
    ...Object.entries(kinds).map(([kind, parameters]) =>
      fc.tuple(own, parameters).map(([[settings, title], given]) =>
        ({ ...settings, ...title, kind, parameters: given }) as unknown as RawCheck
      )
    ),
  );
}

function meaning(name: string, own: RawCheck, defaults: Settings): Check {
  const { active, threshold = 3, annoy, schedule, notifications } = { ...defaults, ...own };
  const regularIntervalMs = milliseconds(schedule?.regular_interval ?? 60);
  return {
    name,
    ...(own.title !== undefined && { title: own.title }),
    active: active ?? true,
    threshold,
    recoveryThreshold: threshold,
    reminders: annoy ?? false,
    schedule: {
      regularIntervalMs,
      attentiveIntervalMs: schedule?.attentive_interval === undefined
        ? regularIntervalMs
        : milliseconds(schedule.attentive_interval),
    },
    notifications: (notifications ?? [{ kind: "console", parameters: {} }]).map(channelMeaning),
    dependsOn: [],
    tags: [],
    maintenanceWindows: [],
    timeoutMs: own.kind === "script" ? 30_000 : 10_000,
    kind: own.kind,
    parameters: PARAMETERS[own.kind](own.parameters),
  } as unknown as Check;
}

function milliseconds(interval: RawInterval): number {
  return 1000 * (typeof interval === "number" ? interval : TEXT_INTERVALS[interval]);
}

function absolute(path: unknown): string {
  const text = String(path);
  return text.startsWith("/") ? text : `${DIRECTORY}/${text.replace(/^\.\//, "")}`;
}

function channelMeaning({ kind, parameters }: RawChannel): unknown {
  if ("path" in parameters) return { kind, parameters: { path: absolute(parameters["path"]) } };
  return { kind, parameters: "access" in parameters ? { tags: [], ...parameters } : parameters };
}

type Parameters = Readonly<Record<string, unknown>>;

/** The kinds that the specification has; the others are in no shape. */
type SpecifiedKind = "test" | "script" | "file_timestamp" | "http_request";

const PARAMETERS: Readonly<Record<SpecifiedKind, (given: Parameters) => unknown>> = {
  test: (given) => ({ condition: "warning", output: "", ...given }),
  script: ({ path, arguments: given = [] }) => ({
    path: absolute(path),
    arguments: given,
    environment: {},
    conditionOnTimeout: "unknown",
  }),
  file_timestamp: (given) => ({
    path: absolute(given["path"]),
    warningAgeMs: 1000 * Number(given["warning_age"] ?? 3600),
    criticalAgeMs: 1000 * Number(given["critical_age"] ?? 86_400),
    conditionOnMissing: given["condition_on_missing"] ?? "warning",
    conditionOnImplausible: given["condition_on_implausible"] ?? "warning",
  }),
  http_request: (given) => {
    const request = given["request"] as Parameters;
    const response = given["response"] as Parameters | undefined;
    return {
      request: { method: "GET", ...request },
      response: {
        statusCode: response?.["status_code"] === undefined ? 200 : response["status_code"],
        headers: response?.["headers"] ?? {},
        ...(response?.["body_part"] !== undefined && { bodyPart: response["body_part"] }),
      },
      asWarning: given["as_warning"] ?? false,
    };
  },
};
