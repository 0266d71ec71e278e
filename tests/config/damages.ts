/** Ways to break a config. */
import fc from "../support/property.ts";
import { HOSTILE_NAMES, NUMBERS } from "../../testing/hostile_configs.ts";

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A few small damages to a text. */
export function textDamages(): fc.Arbitrary<(text: string) => string> {
  const damage = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 60 })),
    inserted: fc.oneof(
      fc.constantFrom(
        ...',:{}[]"\\0-\n\r\t',
        ...["", "//", "/*", "*/", "${env:X}"],
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

/** One wrong value, name or place in a config. */
export function valueDamages(): fc.Arbitrary<(config: Json) => Json> {
  const values = fc.oneof(
    fc.constantFrom<Json>(null, true, -1, 0, 0.5, 1e300, "", "x", "${env:UNSET}", "-5 s", [], {}, [[]], {
      kind: "test",
    }),
    fc.constantFrom<Json>({ kind: "email", parameters: {} }, { regular_interval: null }, { "__proto__": 1 }),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  );
  const words = "kind parameters path groups __proto__ schedule".split(" ");
  const names = fc.constantFrom(...words, "", "x\ny", "\ud800", ...HOSTILE_NAMES);
  return fc.oneof(
    fc.tuple(fc.nat(), values).map(([index, value]) => (config: Json) => replaceNth(config, index, value)),
    fc.tuple(fc.nat(), names, values).map(([index, name, value]) => (config: Json) =>
      addNth(config, index, name, value)
    ),
    fc.nat().map((index) => (config: Json) => removeNth(config, index)),
  );
}

/** A config with another value at one of its places, of those that are accepted. */
export function replaceNth(
  config: Json,
  index: number,
  value: Json,
  accepts: (found: Json) => boolean = () => true,
): Json {
  return changeNth(config, index, (owner, name) => void (owner[name] = value), accepts);
}

function removeNth(config: Json, index: number): Json {
  return changeNth(config, index, (owner, name) => void delete owner[name]);
}

function addNth(config: Json, index: number, name: string, value: Json): Json {
  const isObject = (found: Json) => typeof found === "object" && found !== null && !Array.isArray(found);
  const add = (owner: Record<string, Json>, place: string) => {
    owner[place] = { ...owner[place] as Record<string, Json>, [name]: value };
  };
  return changeNth(config, index, add, isObject);
}

function changeNth(
  config: Json,
  index: number,
  change: (owner: Record<string, Json>, name: string) => void,
  accepts: (found: Json) => boolean = () => true,
): Json {
  const whole: Record<string, Json> = { config: structuredClone(config) };
  const places: [owner: Record<string, Json>, name: string][] = [];
  const walk = (owner: Record<string, Json>, isTop: boolean): void => {
    for (const [name, value] of Object.entries(owner)) {
      if (!isTop && accepts(value)) places.push([owner, name]);
      if (typeof value === "object" && value !== null) walk(value as Record<string, Json>, false);
    }
  };
  walk(whole, true);
  const [owner, name] = places[index % Math.max(places.length, 1)] ?? [whole, "config"];
  change(owner, name);
  return whole["config"] ?? null;
}
