import { loadConfig, type LoadedConfig, type LoadOptions } from "../src/config/load.ts";
import { ConfigError, type PlacedProblem } from "../src/config/problem.ts";
import type { FileFacts, Files, System } from "../src/domain/system.ts";
import { createMemorySystem } from "./memory_system.ts";

export interface ConfigSystemOptions {
  /**
   * Files by absolute path; of the other paths only `/x` exists, a command. An error is thrown when the file is read.
   */
  readonly files?: Readonly<Record<string, string | Uint8Array | Partial<FileFacts> | Error>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Variables that may not be read. */
  readonly forbidden?: readonly string[];
  readonly stdin?: string | Uint8Array;
  readonly workingDirectory?: string;
  readonly userId?: number | null;
  readonly platform?: System["platform"];
}

/** A system whose files and environment are the test's own. */
export function createConfigSystem(options: ConfigSystemOptions = {}): System {
  const environment = options.environment ?? {};
  const stdin = options.stdin ?? "";
  const system = createMemorySystem({ environment });
  return {
    ...system,
    files: { ...system.files, ...createFakeFiles({ "/x": { mode: 0o755 }, ...options.files }) },
    readStdin: () => Promise.resolve(typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin),
    environment: (name) => options.forbidden?.includes(name) ? undefined : environment[name],
    mayReadEnvironment: (name) => !options.forbidden?.includes(name),
    workingDirectory: options.workingDirectory ?? "/etc/monitor",
    platform: options.platform ?? "linux",
    userId: options.userId === undefined ? 1000 : options.userId,
  };
}

type FakeFiles = Pick<Files, "stat" | "read" | "list" | "realPath">;

function createFakeFiles(files: NonNullable<ConfigSystemOptions["files"]>): FakeFiles {
  const find = (path: string) => {
    const plain = path.replaceAll("/./", "/");
    const file = Object.hasOwn(files, plain) ? files[plain] : undefined;
    if (file === undefined) {
      throw new Deno.errors.NotFound(`No such file or directory (os error 2): '${path}'`);
    }
    if (file instanceof Error) throw file;
    return file;
  };
  const bytesOf = (file: string | Uint8Array | Partial<FileFacts>): Uint8Array => {
    if (typeof file === "string") return new TextEncoder().encode(file);
    return file instanceof Uint8Array ? file : new Uint8Array();
  };
  return {
    stat: async (path) => {
      const file = await find(path);
      const facts = typeof file === "string" || file instanceof Uint8Array ? {} : file;
      const plain = { kind: "file", modifiedAtMs: 0, mode: 0o644, ownerId: 1000 } as const;
      return { ...plain, sizeBytes: bytesOf(file).length, ...facts };
    },
    read: async (path) => bytesOf(await find(path)),
    realPath: async (path) => {
      await find(path);
      return path;
    },
    list: (directory) => {
      const start = `${directory.replace(/\/$/, "")}/`;
      const below = Object.keys(files).filter((path) => path.startsWith(start));
      if (below.length === 0) {
        return Promise.reject(new Deno.errors.NotFound(`No such directory: '${directory}'`));
      }
      return Promise.resolve([...new Set(below.map((path) => path.slice(start.length).split("/")[0] ?? ""))]);
    },
  };
}

/** The path that {@linkcode load} gives a config. */
export const CONFIG_PATH = "/etc/monitor/monitor.jsonc";

export interface LoadTestOptions extends ConfigSystemOptions, LoadOptions {
  /** Permission bits of the config. */
  readonly mode?: number;
}

/** Loads a config from its text or its value. */
export function load(config: unknown, options: LoadTestOptions = {}): Promise<LoadedConfig> {
  const text = typeof config === "string" ? config : JSON.stringify(config, null, 2);
  const system = createConfigSystem({ ...options, files: { ...options.files, [CONFIG_PATH]: text } });
  const files: Files = {
    ...system.files,
    stat: async (path) => {
      const facts = await system.files.stat(path);
      return path === CONFIG_PATH ? { ...facts, mode: options.mode ?? 0o600 } : facts;
    },
  };
  return loadConfig({ path: CONFIG_PATH, named: true }, { ...system, files }, options);
}

/** The error that loading a config ends with. */
export async function loadError(config: unknown, options: LoadTestOptions = {}): Promise<ConfigError> {
  return await errorOf(load(config, options));
}

/** The error that a promise is rejected with, which must be a {@linkcode ConfigError}. */
export async function errorOf(promise: Promise<unknown>): Promise<ConfigError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("the config is valid, expected a ConfigError");
}

/** Returns a problem as one line: place, message, and its hint. */
export function describe({ path, message, hint }: Pick<PlacedProblem, "path" | "message" | "hint">): string {
  return `${path}: ${message}${hint === null ? "" : ` (${hint})`}`;
}

/** Returns the missing requirements of a valid config on this machine, one line each. */
export async function lacksOf(config: unknown, options: LoadTestOptions = {}): Promise<readonly string[]> {
  const { lacks, placed } = await load(config, options);
  return placed(lacks).map(describe);
}

/** The problems of a config, one line each; none for a valid one. */
export async function problemsOf(config: unknown, options: LoadTestOptions = {}): Promise<readonly string[]> {
  try {
    await load(config, options);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(describe);
    throw error;
  }
}

/** The warnings of a valid config, one line each. */
export async function warningsOf(config: unknown, options: LoadTestOptions = {}): Promise<readonly string[]> {
  const { warnings, placed } = await load(config, options);
  return placed(warnings).map(describe);
}

/** A config with one check. */
export function withCheck(check: unknown, defaults: unknown = {}): unknown {
  return { defaults, checks: { web: check } };
}
