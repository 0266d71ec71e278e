import assert from "node:assert/strict";
import fc from "fast-check";
import { ConfigError, type PlacedProblem } from "../../src/config/problem.ts";
import { load, type LoadTestOptions } from "./config_system.ts";
import { intervalsOf } from "../support/checks.ts";
import { generatedDocuments } from "./documents.ts";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

Deno.test("loadDocument() answers a mutilated document with a document or with placed mistakes", async () => {
  await fc.assert(
    fc.asyncProperty(
      generatedDocuments("a"),
      textDamages(),
      fc.constantFrom(0, 2),
      async ({ document }, damage, indent) => {
        await loadAnything(damage(JSON.stringify(document, null, indent)));
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("loadDocument() answers a document of wrong values with placed mistakes", async () => {
  await fc.assert(
    fc.asyncProperty(
      generatedDocuments("a"),
      fc.array(valueDamages(), { minLength: 1, maxLength: 4 }),
      fc.constantFrom("monitor", "a", "b"),
      async ({ document }, damages, shape) => {
        const value = damages.reduce((whole, damage) => damage(whole), document as Json);
        await loadAnything(JSON.stringify(value, null, 1), { shape });
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("loadDocument() answers any JSON value", async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), async (text) => {
      await loadAnything(text);
    }),
    { numRuns: 500 },
  );
});

Deno.test("loadDocument() answers any bytes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
      await loadAnything(text.toWellFormed());
    }),
    { numRuns: 500 },
  );
});

Deno.test("loadDocument() never says what a placeholder stands for", async () => {
  const SECRET = "sw0rdf1sh";
  const values = fc.constantFrom(
    SECRET,
    `${SECRET}://h`,
    `5 ${SECRET}`,
    `${SECRET} ${SECRET}`,
    `${SECRET}@`,
    `${SECRET}:25`,
    `http://${SECRET} /`,
    `a\0${SECRET}`,
    `\n${SECRET}`,
  );
  const written = fc.constantFrom("${env:X}", "a${env:X}", "${file:/x}", "$${${env:X}}", "${env:X}${env:X}");
  await fc.assert(
    fc.asyncProperty(
      generatedDocuments("a"),
      fc.array(fc.tuple(fc.nat(), written), { minLength: 1, maxLength: 3 }),
      values,
      fc.constantFrom("monitor", "a", "b"),
      async ({ document }, places, value, shape) => {
        const isText = (found: Json) => typeof found === "string";
        const whole = places.reduce(
          (before, [index, text]) => replaceNth(before, index, text, isText),
          document as Json,
        );
        const options = { environment: { X: value }, files: { "/x": value }, mode: 0o666, shape } as const;
        for (const text of await loadAnything(JSON.stringify(whole), options)) {
          assert.ok(!text.includes(SECRET), text);
        }
      },
    ),
    { numRuns: 1000 },
  );
});

/**
 * Loads a text that may be anything. What is wrong must be said as mistakes whose places are in the text; the answer
 * is everything that was said.
 */
async function loadAnything(text: string, options: LoadTestOptions = {}): Promise<readonly string[]> {
  try {
    const { checks, warnings, place } = await load(text, options);
    for (const { name, schedule, threshold, recoveryThreshold, timeoutMs } of checks) {
      assert.equal(typeof name, "string");
      const { regularIntervalMs, attentiveIntervalMs } = intervalsOf({ schedule });
      const numbers = [regularIntervalMs, attentiveIntervalMs, timeoutMs];
      assert.ok(numbers.every((number) => number >= 1000 && Number.isSafeInteger(number)));
      assert.ok(threshold >= 1 && recoveryThreshold >= 1);
    }
    return warnings.map(place).flatMap((warning) => saidOf(warning, text));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const isUtf16 = error.message.includes("UTF-16");
    assert.ok(error.problems.length > 0 || isUtf16, error.message);
    return [error.message, error.hint ?? "", ...error.problems.flatMap((problem) => saidOf(problem, text))];
  }
}

function saidOf(
  { path, message, hint, line, column, offset }: PlacedProblem,
  text: string,
): readonly string[] {
  // A byte-order mark is no part of the text that is placed in.
  const plain = text.replace(/^\ufeff/, "");
  assert.ok(offset >= 0 && offset <= plain.length);
  const lines = plain.split(/\r\n|\n|\r/);
  assert.ok(line >= 1 && line <= lines.length && column >= 1);
  assert.ok(column <= (lines[line - 1]?.length ?? 0) + 2);
  assert.ok(message.length > 0 && !message.endsWith(".") && !message.includes("undefined"), message);
  return [path, message, hint ?? ""];
}

/** A few small damages to a text. */
function textDamages(): fc.Arbitrary<(text: string) => string> {
  const damage = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 60 })),
    inserted: fc.oneof(
      fc.constantFrom(
        "",
        ",",
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        "//",
        "/*",
        "*/",
        "0",
        "-",
        "\n",
        "\r",
        "\t",
        "${env:X}",
      ),
      fc.string({ maxLength: 3 }),
    ),
  });
  return fc.array(damage, { minLength: 1, maxLength: 4 }).map((damages) => (text) =>
    damages.reduce((whole, { at, removed, inserted }) => {
      const index = Math.floor(at * whole.length);
      return whole.slice(0, index) + inserted + whole.slice(index + removed);
    }, text)
  );
}

/** One wrong value, name or place in a document. */
function valueDamages(): fc.Arbitrary<(document: Json) => Json> {
  const values = fc.oneof(
    fc.constantFrom<Json>(null, true, -1, 0, 0.5, 1e300, "", "x", "${env:UNSET}", "-5 s", [], {}, [[]], {
      kind: "test",
    }),
    fc.constantFrom<Json>({ kind: "email", parameters: {} }, { regular_interval: null }, { "__proto__": 1 }),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  );
  const names = fc.constantFrom(
    "kind",
    "parameters",
    "path",
    "groups",
    "__proto__",
    "",
    "schedule",
    "x\ny",
    "\ud800",
  );
  return fc.oneof(
    fc.tuple(fc.nat(), values).map(([index, value]) => (document: Json) =>
      replaceNth(document, index, value)
    ),
    fc.tuple(fc.nat(), names, values).map(([index, name, value]) => (document: Json) =>
      addNth(document, index, name, value)
    ),
    fc.nat().map((index) => (document: Json) => removeNth(document, index)),
  );
}

/** A document with another value at one of its places, of those that are accepted. */
function replaceNth(
  document: Json,
  index: number,
  value: Json,
  accepts: (found: Json) => boolean = () => true,
): Json {
  return changeNth(document, index, (owner, name) => void (owner[name] = value), accepts);
}

function removeNth(document: Json, index: number): Json {
  return changeNth(document, index, (owner, name) => void delete owner[name]);
}

function addNth(document: Json, index: number, name: string, value: Json): Json {
  const isObject = (found: Json) => typeof found === "object" && found !== null && !Array.isArray(found);
  const add = (owner: Record<string, Json>, place: string) => {
    owner[place] = { ...owner[place] as Record<string, Json>, [name]: value };
  };
  return changeNth(document, index, add, isObject);
}

function changeNth(
  document: Json,
  index: number,
  change: (owner: Record<string, Json>, name: string) => void,
  accepts: (found: Json) => boolean = () => true,
): Json {
  const whole: Record<string, Json> = { document: structuredClone(document) };
  const places: [owner: Record<string, Json>, name: string][] = [];
  const walk = (owner: Record<string, Json>, isTop: boolean): void => {
    for (const [name, value] of Object.entries(owner)) {
      if (!isTop && accepts(value)) places.push([owner, name]);
      if (typeof value === "object" && value !== null) walk(value as Record<string, Json>, false);
    }
  };
  walk(whole, true);
  const [owner, name] = places[index % Math.max(places.length, 1)] ?? [whole, "document"];
  change(owner, name);
  return whole["document"] ?? null;
}
