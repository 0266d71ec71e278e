import type { Channel, ChannelByKind, ChannelFilters, SummarySettings } from "../domain/channel.ts";
import type { Check, CheckByKind } from "../domain/check.ts";
import type * as config from "../domain/generated/config.ts";
import type { CronTimes, MaintenanceWindow, Schedule } from "../domain/schedule.ts";
import { hashHex } from "../shared/hash.ts";
import { channelKey, withoutFilters } from "./channel_uses.ts";
import { type ConversionOptions, convertValue, resolvedName } from "./quantities.ts";
import type { ConfigPath } from "./problem.ts";
import { type CreateCronTimes, timesOf } from "./schedules.ts";
import { isObject, type Schema, type SchemaReader, type SchemaView, valueAt } from "./schema_view.ts";
import { createObject, type JsonObject, type JsonValue } from "./syntax.ts";

export interface ResolveOptions extends ConversionOptions {
  /** Of the default schema: it alone defines the meaning of a config. */
  readonly reader: SchemaReader;
  readonly written: JsonObject;
  /** For an included file: the config itself, whose defaults apply if the file has none. */
  readonly outer?: { readonly config: JsonObject; readonly options: ResolveOptions };
  /** Describes things that this machine lacks for a value; empty: nothing. @default nothing */
  lacksAt?(path: ConfigPath): readonly string[];
  /** Returns the machine's time zone, for schedules and windows without one: the start is faster without it. */
  timeZone(): string;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly createCronTimes: CreateCronTimes;
  /** Reads windows; the config has none without it. */
  readonly readWindow: ReadWindow | null;
}

export type ReadWindow = typeof import("./window_rules.ts").readWindow;

const NOTIFICATIONS = "notifications";

/** The source of a check's setting; `outer`: the defaults of the config that includes the check's file. */
export type Origin = "check" | "defaults" | "outer" | "built-in";

/**
 * Resolves a valid config to checks: with every default, names in camel case, intervals in milliseconds (`timeout`
 * becomes `timeoutMs`), absolute paths and commands. The schema has the rules, so this file contains no kind. An
 * interval whose placeholder is unresolved becomes `NaN`.
 */
export function resolveChecks(config: JsonObject, options: ResolveOptions): readonly Check[] {
  const checks = config["checks"];
  const schema = options.reader.view(options.reader.root, config).keys.get("checks");
  if (!isObject(checks) || schema === undefined) return [];
  const checkSchema = options.reader.view(schema, checks).otherKeys;
  if (checkSchema === undefined) return [];
  const resolver = new Resolver(config, options);
  return Object.keys(checks).map((name) => {
    const check = checks[name];
    return resolver.resolveCheck(name, isObject(check) ? check : {}, options.reader.view(checkSchema, check));
  });
}

/**
 * A part of the config that is no check, such as `heartbeat`, resolved; `undefined` when it is not given, or this
 * machine lacks something that it names. Of a list only the items are left out that lack something.
 */
export function resolveSetting<Name extends keyof config.ConfigParts>(
  config: JsonObject,
  name: Name,
  options: ResolveOptions,
): config.ConfigParts[Name] | undefined {
  const schema = options.reader.view(options.reader.root, config).keys.get(name);
  const value = withoutLacking(config[name], [name], options);
  if (schema === undefined || value === undefined) return undefined;
  return new Resolver(config, options).resolveValue(schema, value) as config.ConfigParts[Name];
}

/** Resolves `agents`. One whose key this machine lacks has an empty one, which nothing matches. */
export function resolveAgents(config: JsonObject, options: ResolveOptions): config.ConfigParts["agents"] {
  const agents = resolveSetting(config, "agents", { ...options, lacksAt: () => [] }) ?? {};
  return Object.fromEntries(
    Object.entries(agents).map(([name, agent]) => {
      const isLacking = (options.lacksAt?.(["agents", name]) ?? []).length > 0;
      return [name, isLacking ? { ...agent, key: "" } : agent];
    }),
  );
}

function withoutLacking(
  value: JsonValue | undefined,
  path: ConfigPath,
  { lacksAt }: ResolveOptions,
): JsonValue | undefined {
  if (lacksAt === undefined || lacksAt(path).length === 0) return value;
  if (!Array.isArray(value)) return undefined;
  return value.filter((_item, index) => lacksAt([...path, index]).length === 0);
}

/** Resolves `summary`; `null`: there is none, or this machine lacks something of it other than a channel. */
export function resolveSummary(config: JsonObject, options: ResolveOptions): SummarySettings | null {
  const { reader, written, lacksAt } = options;
  const value = config[SUMMARY];
  const schema = reader.view(reader.root, config).keys.get(SUMMARY);
  const list = valueAt(written, [SUMMARY, NOTIFICATIONS]);
  if (schema === undefined || !isObject(value) || !Array.isArray(list)) return null;
  const isLacking = [...reader.view(schema, value).keys.keys()].some((key) =>
    key !== NOTIFICATIONS && (lacksAt?.([SUMMARY, key]) ?? []).length > 0
  );
  return isLacking ? null : new Resolver(config, options).resolveSummary(schema, value, list);
}

const SUMMARY = "summary";

/** The settings of a file for its checks; an included file may have none. */
export function defaultsOf(config: JsonObject): JsonObject {
  const defaults = config["defaults"];
  return isObject(defaults) ? defaults : createObject();
}

interface NamedSetting {
  readonly name: string;
  /** Its name in the specification, if that is another one. */
  readonly otherName?: string | undefined;
  readonly builtIn: JsonValue | undefined;
}

interface PickedSetting {
  readonly name: string;
  readonly value: JsonValue | undefined;
  readonly origin: Origin;
}

/**
 * Returns the value of a setting from the check, else from `defaults`, else the built-in one. `outer`: the defaults of
 * the config, where that is another file.
 */
export function pickSetting(
  { name, otherName = name, builtIn }: NamedSetting,
  check: JsonObject,
  { defaults, outer }: { readonly defaults: JsonObject; readonly outer: JsonObject | null },
): PickedSetting {
  const of = (source: JsonObject, origin: Origin): PickedSetting | null => {
    const given = name in source ? name : otherName;
    return given in source ? { name: given, value: source[given], origin } : null;
  };
  return of(check, "check") ?? of(defaults, "defaults") ?? (outer && of(outer, "outer")) ??
    { name, value: builtIn, origin: "built-in" };
}

/** A check whose keys are resolved, each for itself. */
type ResolvedCheck = Omit<config.Check, "notifications"> & CheckByKind & {
  readonly notifications: readonly ListedChannel[];
};

interface ResolvedSummary extends Omit<config.Summary, "notifications"> {
  readonly notifications: readonly ListedChannel[];
}

/** An item of a list of notifications; a text is the name of a channel. */
type ListedChannel =
  | Omit<config.ChannelObject, "channel"> & (ChannelByKind | { readonly channel: string })
  | string;

interface Setting extends NamedSetting {
  readonly target: string;
  readonly schema: Schema;
}

/** The schema of an object, and a value of `defaults` or of the schema, is evaluated once for all checks. */
class Resolver {
  readonly #config: JsonObject;
  readonly #defaults: JsonObject;
  readonly #options: ResolveOptions;
  readonly #settings = new WeakMap<SchemaView, readonly Setting[]>();
  /** By the key's schema; a kind's own default has its own schema. */
  readonly #shared = { defaults: new Map<Schema, unknown>(), "built-in": new Map<Schema, unknown>() };
  /** Resolves values of the config's defaults: paths there are relative to its directory. */
  readonly #outer: Resolver | null;
  /** Channels with their keys, by the list as it is written. */
  readonly #keyed = new WeakMap<readonly JsonValue[], readonly Channel[]>();
  /** Windows that checks share, by the list of their own. */
  readonly #joinedWindows = new Map<readonly config.Window[], readonly MaintenanceWindow[]>();
  #configWindows: readonly MaintenanceWindow[] | undefined;
  /** Times, by expression and zone: checks share them because parsing is slow. */
  readonly #times = new Map<string, CronTimes>();

  constructor(config: JsonObject, options: ResolveOptions) {
    const { outer } = options;
    this.#config = config;
    this.#defaults = defaultsOf(config);
    this.#options = options;
    this.#outer = outer === undefined ? null : new Resolver(outer.config, outer.options);
  }

  resolveCheck(name: string, check: JsonObject, view: SchemaView): Check {
    const settings: Record<string, unknown> = {};
    const lacks: string[] = [];
    for (const setting of this.#settingsOf(view)) {
      const { value, origin } = this.#pick(name, setting, check, lacks);
      if (value !== undefined) settings[setting.target] = this.#resolve(setting.schema, value, origin);
    }
    const { threshold, recoveryThreshold = threshold, schedule, notifications, ...other } = settings as
      & Record<string, unknown>
      & ResolvedCheck;
    const { maintenanceWindows, locations, action, ...rest } = other;
    const definition = this.#definitionOf(name);
    return {
      ...rest,
      name,
      ...definition !== null && { definition },
      threshold,
      recoveryThreshold,
      schedule: this.#schedule(schedule),
      ...lacks.length === 0 && "cron" in rest.parameters && rest.parameters.cron !== undefined && {
        jobTimes: this.#sharedTimes(rest.parameters.cron, rest.parameters.timeZone),
      },
      ...this.#rehearsed(rest.parameters),
      maintenanceWindows: this.#maintenanceWindows(maintenanceWindows),
      notifications: this.#withKeys(name, notifications, view),
      ...locations !== undefined && {
        locations: { agree: Math.floor(locations.from.length / 2) + 1, ...locations },
      },
      ...action !== undefined && { action: { after: threshold, ...action } },
      ...lacks.length > 0 && { lack: describeLacks(lacks) },
    };
  }

  #rehearsed(parameters: CheckByKind["parameters"]): Pick<Check, "rehearsed"> {
    const channel = "channel" in parameters ? this.#options.channels.get(parameters.channel) : undefined;
    return channel === undefined ? {} : { rehearsed: withoutFilters(channel) };
  }

  /** A placeholder may have another value on another machine, and none in a command that only reads. */
  #definitionOf(name: string): string | null {
    const written = valueAt(this.#options.written, ["checks", name]);
    if (!isObject(written)) return null;
    // The order of keys means nothing.
    const sorted = (_key: string, value: JsonValue): JsonValue =>
      isObject(value)
        ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, value[key] ?? null]))
        : value;
    const { kind, parameters, invert } = written;
    return hashHex(JSON.stringify([kind, parameters, ...invert === true ? [invert] : []], sorted), 16);
  }

  /** If this machine lacks something in it, the built-in value serves for settings other than the target. */
  #pick(name: string, setting: Setting, check: JsonObject, lacks: string[]): PickedSetting {
    const picked = pickSetting(setting, check, {
      defaults: this.#defaults,
      outer: this.#outer === null ? null : this.#outer.#defaults,
    });
    // A channel that lacks something is no reason not to run.
    if (setting.name === NOTIFICATIONS) return picked;
    // Nor is an action, which then does not run.
    const isAction = setting.name === "action";
    const found = this.#lacksOf(picked.origin, ["checks", name, picked.name], ["defaults", picked.name]);
    if (!isAction) lacks.push(...found);
    if (found.length === 0 || setting.name === "parameters") return picked;
    return { ...picked, value: setting.builtIn, origin: "built-in" };
  }

  #lacksOf(origin: Origin, own: ConfigPath, shared: ConfigPath): readonly string[] {
    if (origin === "built-in") return [];
    if (origin === "outer") return this.#outer === null ? [] : this.#outer.#lacksOf("defaults", own, shared);
    return this.#options.lacksAt?.(origin === "check" ? own : shared) ?? [];
  }

  #maintenanceWindows(own: readonly config.Window[]): readonly MaintenanceWindow[] {
    const all = (this.#outer ?? this).#windowsOfAll();
    return this.#joinedWindows.getOrInsertComputed(
      own,
      () => own.length === 0 ? all : [...all, ...readWindows(own, this.#options)],
    );
  }

  #windowsOfAll(): readonly MaintenanceWindow[] {
    return this.#configWindows ??= readWindows(
      resolveSetting(this.#config, "maintenance_windows", this.#options) ?? [],
      this.#options,
    );
  }

  #schedule(schedule: config.Schedule): Schedule {
    const { regularIntervalMs = NaN, attentiveIntervalMs, cron, timeZone } = schedule;
    if (cron === undefined) {
      return { regularIntervalMs, attentiveIntervalMs: attentiveIntervalMs ?? regularIntervalMs };
    }
    return { times: this.#sharedTimes(cron, timeZone), attentiveIntervalMs: attentiveIntervalMs ?? null };
  }

  #sharedTimes(cron: string, timeZone = this.#options.timeZone()): CronTimes {
    return this.#times.getOrInsertComputed(
      JSON.stringify([cron, timeZone]),
      () => this.#timesOf(cron, timeZone),
    );
  }

  #timesOf(expression: string, timeZone: string): CronTimes {
    if (/\$\{/.test(expression + timeZone)) return { expression, timeZone, after: () => NaN };
    return timesOf(expression, timeZone, this.#options.createCronTimes);
  }

  /** Puts channels in the place of names, and gives the others their keys; checks that share their channels share the list. */
  #withKeys(name: string, channels: readonly ListedChannel[], view: SchemaView): readonly Channel[] {
    const { reader, written } = this.#options;
    const setting = view.keys.get(NOTIFICATIONS);
    const check = valueAt(written, ["checks", name]);
    if (setting === undefined || !isObject(check)) return [];
    const { default: builtIn, items } = reader.view(setting, undefined);
    const { value, origin } = pickSetting({ name: NOTIFICATIONS, builtIn }, check, {
      defaults: defaultsOf(written),
      outer: this.#outer === null ? null : defaultsOf(this.#outer.#options.written),
    });
    if (!Array.isArray(value) || items === undefined) return [];
    const resolver = origin === "outer" && this.#outer !== null ? this.#outer : this;
    const path = origin === "check" ? ["checks", name, NOTIFICATIONS] : ["defaults", NOTIFICATIONS];
    return resolver.#keysOf(channels, value, { items, path });
  }

  /** The list is at the path; a built-in list lacks nothing. */
  #keysOf(
    channels: readonly ListedChannel[],
    written: readonly JsonValue[],
    { items, path }: { readonly items: Schema; readonly path: ConfigPath },
  ): readonly Channel[] {
    const { reader, directory, outer, lacksAt, channels: named } = this.#options;
    return this.#keyed.getOrInsertComputed(written, () => {
      const otherDirectory = outer === undefined || outer.options.directory === directory ? null : directory;
      return channels.flatMap((channel, index): Channel | readonly Channel[] => {
        const asWritten = written[index];
        if (typeof channel === "string") return named.get(String(asWritten)) ?? [];
        const { hours: _hours, ...rest } = channel;
        const use = { ...rest, ...readHours(channel, this.#options) };
        if ("channel" in use) {
          const { channel: name, ...filters } = use;
          return named.has(name) ? { ...named.get(name), ...filters } as Channel : [];
        }
        const key = isObject(asWritten) ? channelKey(asWritten, items, { reader, otherDirectory }) : "";
        const lacks = lacksAt?.([...path, index]) ?? [];
        return { ...use, key, ...(lacks.length > 0 && { lack: describeLacks(lacks) }) };
      });
    });
  }

  /** `list` has its notifications as written. */
  resolveSummary(schema: Schema, value: JsonObject, list: readonly JsonValue[]): SummarySettings | null {
    const { cron, timeZone, notifications, ...rest } = this.resolveValue(schema, value) as ResolvedSummary;
    const { reader } = this.#options;
    const setting = reader.view(schema, value).keys.get(NOTIFICATIONS);
    const items = setting === undefined ? undefined : reader.view(setting, undefined).items;
    if (items === undefined) return null;
    const channels = this.#keysOf(notifications, list, { items, path: [SUMMARY, NOTIFICATIONS] });
    return {
      ...rest,
      times: this.#timesOf(cron, timeZone ?? this.#options.timeZone()),
      notifications: channels.map(withoutFilters),
    };
  }

  resolveValue(schema: Schema, value: JsonValue): unknown {
    return this.#resolve(schema, value, "check");
  }

  #resolve(schema: Schema, value: JsonValue, origin: Origin): unknown {
    if (origin === "outer" && this.#outer !== null) return this.#outer.#resolve(schema, value, "defaults");
    if (origin === "check" || origin === "outer") {
      return this.#resolveValue(value, this.#options.reader.view(schema, value));
    }
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
      return view.otherKeys === undefined
        ? this.#resolveSettings(value, view)
        : this.#resolveNamed(value, view.otherKeys);
    }
    return convertValue(value, format, this.#options);
  }

  #resolveSettings(value: JsonObject, view: SchemaView): unknown {
    const target: Record<string, unknown> = {};
    for (const { name, target: targetName, schema, builtIn } of this.#settingsOf(view)) {
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

  #settingsOf(view: SchemaView): readonly Setting[] {
    return this.#settings.getOrInsertComputed(view, () =>
      [...view.plainKeys].map(([name, schema]) => {
        const key = this.#options.reader.view(schema, undefined);
        const otherName = view.otherNames.get(name);
        return { name, otherName, target: resolvedName(name, key), schema, builtIn: key.default };
      }));
  }
}

export function readHours(
  { hours }: Pick<config.ChannelObject, "hours">,
  options: WindowOptions,
): Pick<ChannelFilters, "hours"> {
  return hours === undefined ? {} : { hours: readWindows(hours, options) };
}

type WindowOptions = Pick<ResolveOptions, "readWindow" | "timeZone" | "createCronTimes">;

function readWindows(
  windows: readonly config.Window[],
  { readWindow, ...options }: WindowOptions,
): readonly MaintenanceWindow[] {
  if (readWindow === null || windows.length === 0) return [];
  const timeZone = options.timeZone();
  return windows.map((window) => readWindow(window, { ...options, timeZone }));
}

const LACKS_SHOWN_MAX = 3;

export function describeLacks(lacks: readonly string[]): string {
  const different = [...new Set(lacks)];
  const rest = different.length - LACKS_SHOWN_MAX;
  return different.slice(0, LACKS_SHOWN_MAX).join("; ") + (rest > 0 ? `; and ${rest} more` : "");
}
