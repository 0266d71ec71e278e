/**
 * Configs that try to be slow, to overflow or to attack the program. Nothing is timed here: a busy machine would make
 * that fail. `deno task soak configs` compares the same configs at a megabyte with ordinary checks.
 */
import assert from "node:assert/strict";
import { ConfigError, type PlacedProblem } from "../../src/config/problem.ts";
import { intervalsOf } from "../support/checks.ts";
import { load, type LoadTestOptions, problemsOf } from "../../testing/config_system.ts";
import fc from "../support/property.ts";
import { STARTER_CONFIG } from "../../src/cli/commands/init.ts";
import { isCron } from "../../src/domain/schedule.ts";
import { CONFIG_EXAMPLES, configOf, FILES } from "../docs/examples.ts";
import { type Json, replaceNth, textDamages, valueDamages } from "./damages.ts";
import { HOSTILE_DOCUMENTS, HOSTILE_NAMES } from "../../testing/hostile_configs.ts";
import { MESSAGE_CASES } from "./message_cases.ts";
import { campaign } from "../../testing/seed.ts";
import { testRows } from "../support/rows.ts";
import { estimateSteps } from "../../src/config/expressions.ts";
import { RE2JS } from "re2js";

/**
 * Loads any text. It must result in errors whose positions are in the text, in words without internals; returns all
 * messages. No text may add a property to an object of the program.
 */
async function loadAnything(text: string, options: LoadTestOptions = {}): Promise<readonly string[]> {
  const before = inheritedNames();
  try {
    const { checks, warnings, placed } = await load(text, options);
    for (const { name, schedule, threshold, recoveryThreshold, timeoutMs } of checks) {
      assert.equal(typeof name, "string");
      if (!("times" in schedule)) {
        const { regularIntervalMs, attentiveIntervalMs } = intervalsOf({ schedule });
        const numbers = [regularIntervalMs, attentiveIntervalMs, timeoutMs];
        const isFull = options.withoutSecrets !== true;
        assert.ok(
          numbers.every((number) =>
            (isFull || !Number.isNaN(number)) ? number >= 1000 && number < 2 ** 52 : true
          ),
        );
      }
      assert.ok(threshold >= 1 && recoveryThreshold >= 1);
    }
    return placed(warnings).flatMap((warning) => saidOf(warning, text));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const isUnread = /UTF-16|bytes, and at most/.test(error.message);
    assert.ok(error.problems.length > 0 || isUnread, error.message);
    return [error.message, error.hint ?? "", ...error.problems.flatMap((problem) => saidOf(problem, text))];
  } finally {
    assert.deepEqual(inheritedNames(), before, "an object that all others inherit from has changed");
  }
}

function inheritedNames(): readonly string[] {
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype].flatMap((prototype) =>
    Reflect.ownKeys(prototype).map(String)
  );
}

/** Words of internal errors. */
const INTERNAL = /TypeError|RangeError|\bundefined\b|\[object |\bNaN\b|is not a function|\n\s+at |call stack/;

function saidOf(
  { path, message, hint, line, column, offset, source }: PlacedProblem,
  text: string,
): readonly string[] {
  // A byte-order mark is not part of the text for positions.
  const { plain, lines, isInternal } = factsOf(source?.text ?? text.replace(/^\ufeff/, ""));
  assert.ok(offset >= 0 && offset <= plain.length);
  assert.ok(line >= 1 && line <= lines.length && column >= 1);
  assert.ok(column <= (lines[line - 1]?.length ?? 0) + 2);
  assert.ok(message.length > 0 && !message.endsWith("."), message);
  if (!isInternal) assert.doesNotMatch(`${message} ${hint ?? ""}`, INTERNAL);
  // Quotations are truncated, so that no error fills a screen.
  assert.ok(message.length < 3000 && (hint ?? "").length < 3000, `${message.slice(0, 200)}…`);
  return [path, message, hint ?? ""];
}

interface TextFacts {
  readonly plain: string;
  readonly lines: readonly string[];
  /** Whether the text itself contains words of internal errors. */
  readonly isInternal: boolean;
}

let latest: TextFacts = { plain: "", lines: [""], isInternal: false };

/** A text may have 100,000 errors, and is analyzed once. */
function factsOf(plain: string): TextFacts {
  if (latest.plain !== plain) {
    latest = { plain, lines: plain.split(/\r\n|\n|\r/), isInternal: INTERNAL.test(plain) };
  }
  return latest;
}

const MACHINE = { environment: { A: "b", X: "sw0rdf1sh", PATH: "/bin:/usr/bin" } };

Deno.test("loadConfig() returns a config or located errors for each hostile config", async (t) => {
  await testRows(t, HOSTILE_DOCUMENTS, async (make) => {
    for (const size of [1, campaign(8_000, 200)]) await loadAnything(make(size), MACHINE);
  });
});

Deno.test("loadConfig() returns more errors than a call accepts arguments", async (t) => {
  const rows: Readonly<Record<string, number>> = {
    "one name again and again": 300_000,
    "channels that are numbers": 200_000,
    "look-alikes": 500_000,
    "missing commas": 200_000,
  };
  for (const [name, size] of Object.entries(rows).slice(-campaign(4))) {
    await t.step(name, async () => void await loadAnything(HOSTILE_DOCUMENTS[name]?.(size) ?? "", MACHINE));
  }
});

Deno.test("loadConfig() stops after a maximum of errors, and notes it", async () => {
  const text = HOSTILE_DOCUMENTS["channels that are numbers"]?.(10_000) ?? "";
  await assert.rejects(load(text), { message: /: 1000 errors or more$/ });
});

Deno.test("loadConfig() accepts very many checks", async () => {
  const count = campaign(20_000, 1_000);
  const checks = Array.from({ length: count }, (_, index) => `"c${index}":{"kind":"test","parameters":{}}`);
  const { checks: loaded } = await load(`{"defaults":{},"checks":{${checks.join(",")}}}`);
  assert.equal(loaded.length, count);
});

Deno.test("loadConfig() accepts any name of a check or a dependency", async (t) => {
  for (const name of HOSTILE_NAMES) {
    await t.step(JSON.stringify(name.slice(0, 40)), async () => {
      const check = { kind: "test", parameters: {} };
      const config = `{"defaults":{},"checks":{${JSON.stringify(name)}:${JSON.stringify(check)},"after":${
        JSON.stringify({ ...check, depends_on: [name] })
      }}}`;
      const { checks } = await load(config);
      assert.deepEqual(new Set(checks.map((one) => one.name)), new Set([name, "after"]));
      assert.deepEqual(checks.find((one) => one.name === "after")?.dependsOn, [name]);
    });
  }
});

/** Real configs: those of the pages and of `init`, and those of the end-to-end tests. */
const REAL_DOCUMENTS: readonly string[] = [
  STARTER_CONFIG,
  ...CONFIG_EXAMPLES.map(({ block }) => configOf(block)),
  ...configsBelow(new URL("../specs/", import.meta.url)),
  ...MESSAGE_CASES.map(({ config }) => config),
];

Deno.test("loadConfig() returns located errors for a mutated real config, and for what it includes", async () => {
  assert.ok(REAL_DOCUMENTS.length > 200);
  const patterns = fc.array(
    fc.oneof(
      fc.constantFrom(..."conf.d/*.jsonc * conf.d/a.jsonc ../monitor/*.jsonc conf.d / . ** ?".split(" ")),
      fc.string({ unit: fc.constantFrom(..."*?/.acond\0\\[]{}\ud800é"), maxLength: 12 }),
    ),
    { maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...REAL_DOCUMENTS),
      textDamages(),
      fc.boolean(),
      fc.tuple(patterns, patterns),
      async (text, damage, withoutSecrets, [outer, inner]) => {
        const damaged = damage(text);
        await loadAnything(damaged, { ...MACHINE, files: FILES, withoutSecrets });
        const files = { "a.jsonc": JSON.stringify({ include: inner }), "b.jsonc": damaged };
        const included = Object.entries(files).map(([name, file]) => [`/etc/monitor/conf.d/${name}`, file]);
        await loadAnything(JSON.stringify({ defaults: {}, include: outer }), {
          ...MACHINE,
          files: { ...FILES, ...Object.fromEntries(included) },
        });
      },
    ),
    { numRuns: roundsOf(600) },
  );
});

const REAL_VALUES = REAL_DOCUMENTS.flatMap((text): readonly Json[] => {
  try {
    return [JSON.parse(text.replace(/^\s*\/\/.*$/gm, ""))];
  } catch {
    return []; // with comments elsewhere, or with an error
  }
});

Deno.test("loadConfig() returns located errors for a real config with wrong values", async () => {
  assert.ok(REAL_VALUES.length > 100);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...REAL_VALUES),
      fc.array(valueDamages(), { minLength: 1, maxLength: 4 }),
      fc.constantFrom("monitor" as const, "a" as const, "b" as const),
      fc.boolean(),
      async (config, damages, shape, withoutSecrets) => {
        const value = damages.reduce((whole, damage) => damage(whole), config);
        await loadAnything(JSON.stringify(value, null, 1), {
          ...MACHINE,
          files: FILES,
          shape,
          withoutSecrets,
        });
      },
    ),
    { numRuns: roundsOf(600) },
  );
});

Deno.test("loadConfig() never throws for any schedule, and a valid one has a next time", async () => {
  const field = fc.oneof(
    fc.constantFrom(..."* 0 */5 1-5 L 5#2 mon jan,feb 59 60 -1 1/0 ? 29 30 31".split(" ")),
    fc.string({ unit: fc.constantFrom(..."*/,-0123456789LW#?+monjaf"), maxLength: 6 }),
  );
  const expressions = fc.oneof(
    fc.array(field, { minLength: 1, maxLength: 7 }).map((fields) => fields.join(" ")),
    fc.constantFrom("@daily", "@reboot", "@", "@yearly", ""),
    fc.string(),
  );
  const zones = fc.constantFrom("UTC", "Europe/Zurich", "Nowhere", "", "+01:00", "europe/zurich");
  await fc.assert(
    fc.asyncProperty(expressions, fc.option(zones, { nil: undefined }), async (cron, time_zone) => {
      const schedule = { cron, ...(time_zone !== undefined && { time_zone }) };
      const config = { defaults: { schedule }, checks: { a: { kind: "test", parameters: {} } } };
      await loadAnything(JSON.stringify(config));
      if ((await problemsOf(config)).length > 0) return;
      const [check] = (await load(config)).checks;
      assert.ok(check !== undefined && isCron(check.schedule));
      const next = check.schedule.times.after(Date.UTC(2026, 0, 31));
      assert.ok(next > Date.UTC(2026, 0, 31) && next < Date.UTC(2070, 0, 1), `${cron} comes at ${next}`);
    }),
    { numRuns: roundsOf(500) },
  );
});

Deno.test("loadConfig() never prints the value of a placeholder", async () => {
  const SECRET = "sw0rdf1sh";
  const values = fc.constantFrom(
    ...["S", "S://h", "5 S", "S S", "S@", "S:25", "http://S /", "a\0S", "\nS"].map((text) =>
      text.replaceAll("S", SECRET)
    ),
  );
  const written = fc.constantFrom("${env:X}", "a${env:X}", "${file:/x}", "$${${env:X}}", "${env:X}${env:X}");
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...REAL_VALUES),
      fc.array(fc.tuple(fc.nat(), written), { minLength: 1, maxLength: 3 }),
      values,
      fc.constantFrom("monitor", "a", "b"),
      async (config, places, value, shape) => {
        const isText = (found: Json) => typeof found === "string";
        const whole = places.reduce(
          (before, [index, text]) => replaceNth(before, index, text, isText),
          config,
        );
        const options = { environment: { X: value }, files: { "/x": value }, mode: 0o666, shape } as const;
        for (const text of await loadAnything(JSON.stringify(whole), options)) {
          assert.ok(!text.includes(SECRET), text);
        }
      },
    ),
    { numRuns: roundsOf(600) },
  );
});

function roundsOf(few: number): number {
  return Number(Deno.env.get("CONFIG_ROUNDS") ?? campaign(few));
}

function configsBelow(directory: URL): readonly string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }): readonly string[] => {
    const place = new URL(isDirectory ? `${encodeURIComponent(name)}/` : encodeURIComponent(name), directory);
    if (isDirectory) return configsBelow(place);
    return /\.jsonc?$/.test(name) && name !== "spec.json" ? [Deno.readTextFileSync(place)] : [];
  });
}

Deno.test("estimateSteps() estimates the size of a compiled regular expression", async (t) => {
  const patterns: readonly string[] = [
    `(${"a".repeat(980)}){10}`,
    `(${"\\pL".repeat(300)}){5}`,
    `(${"a{1000}".repeat(5)})`,
    "((a{10}){10}){10}",
    "[]a]{500}",
    "(?P<name>ab){300}",
    "(?i:ab){300}",
    "\\x{10FFFF}{70}",
    "\\p{Greek}{700}",
    "\\({500}",
  ];
  for (const pattern of patterns) {
    await t.step(pattern.slice(0, 30), () => {
      const steps = RE2JS.compile(pattern).programSize();
      const estimate = estimateSteps(pattern);
      assert.ok(estimate > steps / 3 && estimate < steps * 3, `${estimate} for ${steps}`);
    });
  }
});
