/**
 * Loads the program of an executable from one file, which has all its modules, and for those of a usual run the code
 * that the engine made of them when the executable was built. Compiling them again would take longer than the run.
 *
 * The engine accepts cached code only for scripts. So the modules are scripts that call `System.register`, and this is
 * the part of System.js that a bundle needs. Whether cached code fits is up to the engine: it checks version, flags and
 * the length of the source, and otherwise compiles the script.
 */
import process from "node:process";
import { Script } from "node:vm";

/**
 * The first part of the file, as JSON behind its length in four bytes: where each script begins, counted from its end,
 * the script's length, and that of its cached code, which begins at the next multiple of eight bytes behind the script; 0:
 * it has none; `null`: the script is deflated (RFC 1951), since the runtime copies the whole file twice at each start.
 */
export type ProgramIndex = Readonly<
  Record<string, readonly [start: number, length: number, code: number | null]>
>;

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
  /** Of the evaluated modules that import it: called for each export that comes later. */
  readonly setters: Setter[];
  imports: readonly { readonly module: Module; readonly setter: Setter }[];
  execute: Execute;
  /** `null`: not yet evaluated; a promise: it or a module that it imports waits at its top level, or has thrown. */
  evaluation: null | "done" | Promise<void>;
}

/**
 * Evaluates the first module of a program, `main.js`, and those that it imports. Reads only the parts of the file that are
 * needed: each read is one more copy.
 */
export async function loadProgram(
  file: Deno.FsFile,
  onScript: (name: string, script: Script) => void = () => {},
): Promise<void> {
  const decoder = new TextDecoder();
  const readPart = createPartReader(file);
  const indexLength = new DataView(readPart(0, 4).buffer).getUint32(0, true);
  const index = JSON.parse(decoder.decode(readPart(4, indexLength))) as ProgramIndex;
  const modules = new Map<string, Module>();

  const register = (name: string, System: { readonly register: Register }): void => {
    const place = index[name];
    if (place === undefined) throw new TypeError(`Cannot import "${name}"`);
    const [start, length, codeLength] = place;
    const codeStart = length + (-length & 7);
    const part = readPart(4 + indexLength + start, codeLength ? codeStart + codeLength : length);
    const text = part.subarray(0, length);
    const script = new Script(decoder.decode(codeLength === null ? inflate(text) : text), {
      filename: name,
      ...(codeLength && { cachedData: part.subarray(codeStart) }),
    });
    onScript(name, script);
    script.runInThisContext()(System);
  };

  const link = (name: string): Module => {
    const linked = modules.get(name);
    if (linked !== undefined) return linked;
    const builtin = name.startsWith("node:") ? process.getBuiltinModule(name) ?? null : null;
    const module: Module = {
      // Not a copy: that would load parts of the runtime which are loaded at their first use. Without a prototype, the
      // engine makes a hash table: adding hundreds of exports to a plain object would move them again and again.
      exports: Object.create(builtin, builtin === null ? {} : { default: { value: builtin } }) as Exports,
      setters: [],
      imports: [],
      execute: () => {},
      evaluation: null,
    };
    modules.set(name, module);
    if (builtin !== null) return module;
    try {
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
          module.imports = imports.map((imported, position) => (
            { module: link(imported.replace("./", "")), setter: setters[position] ?? null }
          ));
        },
      });
    } catch (error) {
      // A further import fails too, rather than to get half a module.
      modules.delete(name);
      throw error;
    }
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
  for (const { module: imported } of module.imports) {
    waiting = waiting === undefined ? evaluate(imported) : waiting.then(() => evaluate(imported));
  }
  const execute = (): void | Promise<void> => {
    // Modules never import each other in a circle, so all exports are there: a setter is called once rather than for each.
    for (const { module: { exports, setters }, setter } of module.imports) {
      setter?.(exports);
      setters.push(setter);
    }
    return module.execute();
  };
  let own: void | Promise<void>;
  try {
    own = waiting === undefined ? execute() : waiting.then(execute);
  } catch (error) {
    // A further import gets the same error, rather than half a module.
    own = Promise.reject(error);
  }
  if (!(own instanceof Promise)) return undefined;
  return module.evaluation = own;
}

function inflate(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  return process.getBuiltinModule("node:zlib").inflateRawSync(bytes);
}

/** Returns a function that reads a part of a file, which stays until the next one: new memory costs more than the copy. */
function createPartReader(file: Deno.FsFile): (start: number, length: number) => Uint8Array<ArrayBuffer> {
  let memory = new Uint8Array();
  return (start, length) => {
    if (memory.length < length) memory = new Uint8Array(length);
    const part = memory.subarray(0, length);
    file.seekSync(start, Deno.SeekMode.Start);
    for (let end = 0; end < length;) {
      const count = file.readSync(part.subarray(end));
      if (count === null) throw new RangeError("The program is cut off");
      end += count;
    }
    return part;
  };
}
