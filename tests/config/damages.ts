/** Ways to break a document. */
import fc from "fast-check";
import { HOSTILE_NAMES, NUMBERS } from "./hostile_documents.ts";

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A few small damages to a text. */
export function textDamages(): fc.Arbitrary<(text: string) => string> {
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
        ...NUMBERS,
        ...HOSTILE_NAMES.map((name) => JSON.stringify(name).slice(1, -1)),
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
export function valueDamages(): fc.Arbitrary<(document: Json) => Json> {
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
    ...HOSTILE_NAMES,
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
export function replaceNth(
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
