/**
 * Makes the program of an executable from a bundle: a first module, `start.js`, and `program.bin` alongside it, which
 * has all modules as scripts and cached code of those that usual runs need (see `program/load_program.ts`).
 */
import { Buffer } from "node:buffer";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { rollup } from "@rollup/wasm-node";
import { bundle } from "./bundle.ts";
import type { ProgramIndex } from "./program/load_program.ts";

const PROGRAM = basename(Deno.execPath());
const RECORDER = fileURLToPath(new URL("program/record.ts", import.meta.url));

/** The cached code of scripts by their names. */
export type CachedCode = ReadonlyMap<string, Uint8Array>;

/**
 * Makes the program in a directory, which is emptied first. Returns the paths of its first module and of `program.bin`.
 *
 * Cached code is for this machine's kind and the engine's flags; `null`: the program has none.
 */
export async function makeProgram(
  main: string,
  directory: string,
  engineFlags: readonly string[] | null,
): Promise<{ readonly module: string; readonly file: string }> {
  const { main: module } = await bundle(directory, "scripts/program/start.ts");
  const scripts = await toScripts(main);
  const code = engineFlags === null ? new Map() : await recordCode(scripts, engineFlags);
  const file = `${directory}/program.bin`;
  await Deno.writeFile(file, encodeProgram(scripts, code));
  await Deno.utime(file, 0, 0);
  return { module, file };
}

/**
 * Turns each module into a script of the same name, a function that gets what is global in System.js.
 *
 * @throws {Error} If modules import each other in a circle.
 */
export async function toScripts(main: string): Promise<ReadonlyMap<string, string>> {
  const bundle = await rollup({
    input: main,
    treeshake: false,
    external: (id) => id.startsWith("node:"),
    logLevel: "warn",
    onLog: (_level, { code, message }) => {
      // In a circle, a function could be called before its script exports it.
      if (code === "CIRCULAR_DEPENDENCY") throw new Error(`Cannot make the program: ${message}`);
    },
    preserveEntrySignatures: "strict",
  });
  const { output } = await bundle.generate({
    format: "system",
    compact: true,
    hoistTransitiveImports: false,
    systemNullSetters: true,
    entryFileNames: "main.js",
    chunkFileNames: "[name].js",
    manualChunks: (path) => path === main ? undefined : path.slice(path.lastIndexOf("/") + 1, -".js".length),
  });
  await bundle.close();
  return new Map(output.map((module) => {
    if (module.type !== "chunk") throw new Error(`Cannot make the program: ${module.fileName} is no module`);
    return [module.fileName, `(function(System){${module.code}\n})`];
  }));
}

/** Encodes a program as `loadProgram()` reads it; if it has cached code, the scripts that usual runs don't need are deflated. */
export function encodeProgram(scripts: ReadonlyMap<string, string>, code: CachedCode): Uint8Array {
  const parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): void => {
    const padding = new Uint8Array(-part.length & 7);
    parts.push(part, padding);
    length += part.length + padding.length;
  };
  const places = [...scripts].map(([name, script]): [string, ProgramIndex[string]] => {
    const start = length;
    const text = new TextEncoder().encode(script);
    const cached = code.get(name);
    if (cached === undefined && code.size > 0) {
      const deflated = deflateRawSync(text, { level: 9 });
      add(deflated);
      return [name, [start, deflated.length, null]];
    }
    add(text);
    add(cached ?? new Uint8Array());
    return [name, [start, text.length, cached?.length ?? 0]];
  });
  const index = new TextEncoder().encode(JSON.stringify(Object.fromEntries(places)));
  const indexLength = new Uint8Array(4);
  new DataView(indexLength.buffer).setUint32(0, index.length, true);
  return Buffer.concat([indexLength, index, ...parts]);
}

/** Runs of the program, in this order, in a directory of their own. */
const RUNS: readonly (readonly string[])[] = [
  ["--version"],
  ["--help"],
  ["validate", "--config", "monitor.json"],
  ["check", "--once", "--config", "monitor.json", "--state", "none"],
  ["check", "--once", "--config", "monitor.json", "--state", "state.sqlite"],
  ["check", "--once", "--config", "monitor.json", "--state", "state.sqlite"],
  ["check", "--once", "--config", "request.json", "--state", "none"],
  ["check", "--once", "--config", "script.json", "--state", "none"],
  ["beat", "job", "--config", "jobs.json", "--state", "state.sqlite", "--", Deno.execPath(), "--version"],
  ["status", "--config", "monitor.json", "--state", "state.sqlite"],
];

/**
 * Flags in addition to the program's, without which the recorded code would depend on the time that the runs take: the
 * engine marks functions that it optimizes, drops code that it has not used between collections, and adds the places of
 * statements to functions that throw.
 */
const STEADY_FLAGS: readonly string[] = [
  "--single-threaded",
  "--no-sparkplug",
  "--no-maglev",
  "--no-turbofan",
  "--no-flush-bytecode",
  "--no-enable-lazy-source-positions",
];

/** Where cached code has the hash of the flags that it is for. The code itself is the same with the steady ones. */
const FLAGS_HASH = [12, 16] as const;

/**
 * Records the code of a series of runs. Each starts with the code of those before it, and returns that in addition to its
 * own. The same scripts give the same code.
 */
async function recordCode(
  scripts: ReadonlyMap<string, string>,
  engineFlags: readonly string[],
): Promise<CachedCode> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_code_" });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("fine"),
  );
  // Without it no process starts on Windows.
  const systemRoot = Deno.env.get("SystemRoot");
  const record = async (
    args: readonly string[],
    flags: readonly string[],
    code: CachedCode,
  ): Promise<CachedCode> => {
    await Deno.writeFile(`${directory}/program.bin`, encodeProgram(scripts, code));
    const own = [
      "--quiet",
      "--no-config",
      "--no-lock",
      "--allow-all",
      `--v8-flags=${flags.join(",")}`,
      RECORDER,
    ];
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", ...own, ...args],
      cwd: directory,
      clearEnv: true,
      env: {
        ...{ HOME: directory, DENO_DIR: `${directory}/deno`, TZ: "UTC", DENO_NO_UPDATE_CHECK: "1" },
        // The code depends on the words of a config, and those not on where this program is.
        PATH: dirname(Deno.execPath()),
        ...systemRoot !== undefined && { SystemRoot: systemRoot },
      },
      stdin: "null",
    }).output();
    if (!success) {
      const printed = [stderr, stdout].map((bytes) => new TextDecoder().decode(bytes)).join("");
      throw new Error(`Cannot record "${args.join(" ")}": ${printed}`);
    }
    return new Map([...code, ...await readRecord(directory)]);
  };
  try {
    for (const [name, checks] of Object.entries(configsFor(server))) {
      await Deno.writeTextFile(`${directory}/${name}`, JSON.stringify({ defaults: {}, checks }));
    }
    let code: CachedCode = new Map();
    for (const args of RUNS) code = await record(args, [...engineFlags, ...STEADY_FLAGS], code);
    const [ofProgram] = (await record(["--version"], engineFlags, new Map())).values();
    if (ofProgram === undefined) throw new Error('Cannot record "--version": there is no code');
    for (const cached of code.values()) cached.set(ofProgram.subarray(...FLAGS_HASH), FLAGS_HASH[0]);
    // Fails if the engine rejects any of it.
    for (const args of RUNS) await record(args, engineFlags, code);
    return code;
  } finally {
    await server.shutdown();
    await Deno.remove(directory, { recursive: true });
  }
}

/** Reads what the recorder has written to its working directory. */
export async function readRecord(directory: string): Promise<CachedCode> {
  const record = JSON.parse(await Deno.readTextFile(`${directory}/code.json`)) as Record<string, string>;
  return new Map(Object.entries(record).map(([name, code]) => [name, Buffer.from(code, "base64")]));
}

/** The checks of the configs, by their file: one in each, since the code depends on the order in which functions run. */
function configsFor(server: Deno.HttpServer<Deno.NetAddr>) {
  const target = `http://127.0.0.1:${server.addr.port}/`;
  return {
    "monitor.json": { fine: { kind: "test", parameters: { condition: "ok" } } },
    "jobs.json": { job: { kind: "job", parameters: { expected_every: "1 day" } } },
    "request.json": { site: { kind: "http_request", parameters: { request: { target } } } },
    "script.json": { script: { kind: "script", parameters: { path: PROGRAM, arguments: ["--version"] } } },
  };
}
