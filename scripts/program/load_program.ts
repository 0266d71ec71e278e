/**
 * Loads the program of an executable from one file, which has all its modules, and for those of a usual run the code
 * that the engine made of them when the executable was built. Compiling them again would take longer than the run.
 *
 * The engine accepts cached code only for scripts. So the modules are scripts that call `System.register`, and this is
 * the part of System.js that a bundle needs. Whether cached code fits is up to the engine: it checks version, flags and
 * source, and otherwise compiles the script.
 */
import process from "node:process";
import { Script } from "node:vm";

/**
 * The first part of the file, as JSON behind its length in four bytes: where each script begins, counted from its end,
 * the script's length, and that of its cached code; 0: it has none. That begins at the next multiple of eight bytes behind
 * the script.
 */
export type ProgramIndex = Readonly<Record<string, readonly [start: number, length: number, code: number]>>;

type Exports = Record<string, unknown>;
type Execute = () => void | Promise<void>;
type Setter = ((exports: Exports) => void) | null;

/** See https://github.com/systemjs/systemjs/blob/main/docs/system-register.md. */
type Declare = (
  set: (name: string | Exports, value?: unknown) => unknown,
  context: { readonly import: (name: string) => Promise<Exports> },
) => { readonly setters?: readonly Setter[]; readonly execute?: Execute };
type Register = (imports: readonly string[], declare: Declare) => void;

interface Module {
  readonly exports: Exports;
  /** Called for each export, also for those that come later. */
  readonly setters: Setter[];
  imports: readonly Module[];
  execute: Execute;
  /** `null`: not yet evaluated; a promise: it or a module that it imports waits at its top level, or has thrown. */
  evaluation: null | "done" | Promise<void>;
}

/**
 * Evaluates the first module of a program, `main.js`, and those that it imports. Reads only the parts of the file that are
 * needed, since a file of an executable is copied: all of it would take longer than to compile a small program.
 */
export async function loadProgram(
  file: Deno.FsFile,
  onScript: (name: string, script: Script) => void = () => {},
): Promise<void> {
  const decoder = new TextDecoder();
  const indexLength = new DataView(readPart(file, 0, 4).buffer).getUint32(0, true);
  const index = JSON.parse(decoder.decode(readPart(file, 4, indexLength))) as ProgramIndex;
  const modules = new Map<string, Module>();

  const register = (name: string, System: { readonly register: Register }): void => {
    const place = index[name];
    if (place === undefined) throw new TypeError(`Cannot import "${name}"`);
    const [start, length, codeLength] = place;
    const codeStart = length + (-length & 7);
    const part = readPart(file, 4 + indexLength + start, codeLength === 0 ? length : codeStart + codeLength);
    const script = new Script(decoder.decode(part.subarray(0, length)), {
      filename: name,
      ...(codeLength > 0 && { cachedData: part.subarray(codeStart) }),
    });
    onScript(name, script);
    script.runInThisContext()(System);
  };

  const link = (name: string): Module => {
    const linked = modules.get(name);
    if (linked !== undefined) return linked;
    const builtin = name.startsWith("node:") ? process.getBuiltinModule(name) ?? null : null;
    const module: Module = {
      // Not a copy: that would load parts of the runtime which are loaded at their first use.
      exports: builtin === null ? {} : Object.create(builtin, { default: { value: builtin } }),
      setters: [],
      imports: [],
      execute: () => {},
      evaluation: null,
    };
    modules.set(name, module);
    if (builtin !== null) return module;
    register(name, {
      register: (imports, declare) => {
        const set = (name: string | Exports, value?: unknown): unknown => {
          if (typeof name === "string") module.exports[name] = value;
          else Object.assign(module.exports, name);
          for (const setter of module.setters) setter?.(module.exports);
          return value;
        };
        const { setters = [], execute } = declare(set, { import: load });
        if (execute !== undefined) module.execute = execute;
        module.imports = imports.map((imported, position) => {
          const other = link(imported.replace("./", ""));
          const setter = setters[position] ?? null;
          setter?.(other.exports);
          other.setters.push(setter);
          return other;
        });
      },
    });
    return module;
  };

  const load = async (name: string): Promise<Exports> => {
    const module = link(name.replace("./", ""));
    await evaluate(module);
    return module.exports;
  };

  await load("main.js");
}

/** Evaluates a module behind those that it imports; returns a promise only if one of them waits or has thrown. */
function evaluate(module: Module): Promise<void> | undefined {
  if (module.evaluation !== null) return module.evaluation === "done" ? undefined : module.evaluation;
  module.evaluation = "done";
  let waiting: Promise<void> | undefined;
  for (const imported of module.imports) {
    waiting = waiting === undefined ? evaluate(imported) : waiting.then(() => evaluate(imported));
  }
  let own: void | Promise<void>;
  try {
    own = waiting === undefined ? module.execute() : waiting.then(module.execute);
  } catch (error) {
    // A further import gets the same error, rather than half a module.
    own = Promise.reject(error);
  }
  if (!(own instanceof Promise)) return undefined;
  return module.evaluation = own;
}

function readPart(file: Deno.FsFile, start: number, length: number): Uint8Array<ArrayBuffer> {
  const part = new Uint8Array(length);
  file.seekSync(start, Deno.SeekMode.Start);
  for (let end = 0; end < length;) end += file.readSync(part.subarray(end)) ?? length;
  return part;
}
