import type { Check } from "../domain/check.ts";
import { parseInterval } from "./interval.ts";
import { isObject, type Schema, type SchemaReader, type SchemaView } from "./schema_view.ts";
import { absolutePath } from "./source.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

/** What {@linkcode resolveChecks} needs besides the document. */
export interface ResolveOptions {
  /** Of the default schema: it alone tells what a document means. */
  readonly reader: SchemaReader;
  /** The document's folder, absolute. */
  readonly folder: string;
  /** Where each program that is named without a slash was found; absolute paths. */
  readonly programs: ReadonlyMap<string, string>;
}

/** Where a setting of a check comes from. */
export type Origin = "check" | "defaults" | "built-in";

/**
 * Turns a valid document into checks: every default filled in, names in camel case, intervals in milliseconds
 * (`timeout` becomes `timeoutMs`), paths and programs absolute. The schema tells all of this, so that nothing
 * here knows a kind. An interval whose placeholder is unresolved becomes `NaN`.
 */
export function resolveChecks(document: JsonObject, options: ResolveOptions): readonly Check[] {
  const checks = document["checks"];
  const defaults = document["defaults"];
  const schema = options.reader.view(options.reader.root, document).members.get("checks");
  if (!isObject(checks) || !isObject(defaults) || schema === undefined) return [];
  const checkSchema = options.reader.view(schema, checks).otherMembers;
  if (checkSchema === undefined) return [];
  const resolver = new Resolver(defaults, options);
  return Object.keys(checks).map((name) => {
    const check = checks[name];
    return resolver.resolveCheck(name, isObject(check) ? check : {}, options.reader.view(checkSchema, check));
  });
}

/** The value of a check's own member, from the check, else from `defaults`, else the built-in one. */
export function pickSetting(
  name: string,
  check: JsonObject,
  options: { readonly defaults: JsonObject; readonly builtIn: JsonValue | undefined },
): { readonly value: JsonValue | undefined; readonly origin: Origin } {
  if (name in check) return { value: check[name], origin: "check" };
  if (name in options.defaults) return { value: options.defaults[name], origin: "defaults" };
  return { value: options.builtIn, origin: "built-in" };
}

interface ResolvedSettings extends Record<string, unknown> {
  threshold: number;
  recoveryThreshold?: number;
  schedule: { regularIntervalMs: number; attentiveIntervalMs?: number };
}

/** A member as the schema knows it. */
interface Member {
  readonly name: string;
  /** The name that the program knows it by. */
  readonly target: string;
  readonly schema: Schema;
  readonly builtIn: JsonValue | undefined;
}

/**
 * Resolves the checks of one document. What the schema says of an object is worked out once, and so is a value
 * that many checks take from `defaults` or from the schema: they share it.
 */
class Resolver {
  readonly #defaults: JsonObject;
  readonly #options: ResolveOptions;
  readonly #members = new WeakMap<SchemaView, readonly Member[]>();
  /** By the member's schema; a kind's own default has a schema of its own. */
  readonly #shared = { defaults: new Map<Schema, unknown>(), "built-in": new Map<Schema, unknown>() };

  constructor(defaults: JsonObject, options: ResolveOptions) {
    this.#defaults = defaults;
    this.#options = options;
  }

  resolveCheck(name: string, check: JsonObject, view: SchemaView): Check {
    const settings: Record<string, unknown> = { name };
    for (const member of this.#membersOf(view)) {
      const { value, origin } = pickSetting(member.name, check, {
        defaults: this.#defaults,
        builtIn: member.builtIn,
      });
      if (value !== undefined) settings[member.target] = this.#resolve(member.schema, value, origin);
    }
    const { threshold, recoveryThreshold, schedule } = settings as ResolvedSettings;
    settings["recoveryThreshold"] = recoveryThreshold ?? threshold;
    settings["schedule"] = { attentiveIntervalMs: schedule.regularIntervalMs, ...schedule };
    // The schema and the hand-written types of `domain` say the same; tests/config/resolve_test.ts holds them together.
    return settings as unknown as Check;
  }

  #resolve(schema: Schema, value: JsonValue, origin: Origin): unknown {
    if (origin === "check") return this.#resolveValue(value, this.#options.reader.view(schema, value));
    const shared = this.#shared[origin];
    if (!shared.has(schema)) shared.set(schema, this.#resolve(schema, value, "check"));
    return shared.get(schema);
  }

  #resolveValue(value: JsonValue, view: SchemaView): unknown {
    const { items, format } = view;
    if (Array.isArray(value)) {
      return items === undefined ? value : value.map((item) => this.#resolve(items, item, "check"));
    }
    if (isObject(value)) {
      return view.otherMembers === undefined
        ? this.#resolveMembers(value, view)
        : this.#resolveNamed(value, view.otherMembers);
    }
    const convert = format === undefined ? undefined : CONVERSIONS[format];
    return convert === undefined ? value : convert(value, this.#options);
  }

  #resolveMembers(value: JsonObject, view: SchemaView): unknown {
    const target: Record<string, unknown> = {};
    for (const { name, target: targetName, schema, builtIn } of this.#membersOf(view)) {
      const item = value[name];
      if (item !== undefined) target[targetName] = this.#resolve(schema, item, "check");
      else if (builtIn !== undefined) target[targetName] = this.#resolve(schema, builtIn, "built-in");
    }
    return target;
  }

  /** Free names stay as they are; without a prototype any name is safe. */
  #resolveNamed(value: JsonObject, schema: Schema): unknown {
    const target = Object.create(null) as Record<string, unknown>;
    for (const [name, item] of Object.entries(value)) target[name] = this.#resolve(schema, item, "check");
    return target;
  }

  #membersOf(view: SchemaView): readonly Member[] {
    let members = this.#members.get(view);
    if (members === undefined) {
      members = [...view.members].map(([name, schema]) => this.#readMember(name, schema));
      this.#members.set(view, members);
    }
    return members;
  }

  #readMember(name: string, schema: Schema): Member {
    const { format, types, default: builtIn } = this.#options.reader.view(schema, undefined);
    const isInterval = format === "interval" && !types.includes("boolean");
    return { name, target: camelCase(name) + (isInterval ? "Ms" : ""), schema, builtIn };
  }
}

/** What a format makes of a value. The others only say what a text means. */
const CONVERSIONS: Readonly<Record<string, (value: JsonValue, options: ResolveOptions) => unknown>> = {
  interval: (value) => typeof value === "boolean" ? value : intervalMs(value),
  path: (value, options) => absolutePath(String(value), options.folder),
  program: (value, options) =>
    options.programs.get(String(value)) ?? absolutePath(String(value), options.folder),
};

/** What is no interval in a valid document is a placeholder that was left unresolved. */
function intervalMs(value: JsonValue): number {
  const interval = parseInterval(typeof value === "number" ? value : String(value));
  return "ms" in interval ? interval.ms : NaN;
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());
}
