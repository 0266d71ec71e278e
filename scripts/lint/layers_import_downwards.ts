import { visitModules } from "./modules.ts";
import { placedRule } from "./place.ts";

interface Layer {
  /** The layers that it may import, besides itself. */
  readonly imports: readonly string[];
  /** Whether it may import npm packages, the runtime's modules, and data files such as the schemas. */
  readonly packages: boolean;
}

const BASE: readonly string[] = ["domain", "shared", "condition"];
const ENGINE_MAY: readonly string[] = [...BASE, "config", "checks", "channels", "state"];
const MEMBERS_MAY: readonly string[] = [...ENGINE_MAY, "engine"];
const SCHEDULER_MAY: readonly string[] = [...MEMBERS_MAY, "members"];
const TOP_MAY: readonly string[] = [...SCHEDULER_MAY, "scheduler"];

/**
 * The layers: the directories of src from the bottom up, and their allowed imports. Those of one level never import
 * each other. Nothing but `main.ts` and `program.ts` imports `system`: everything else gets the machine through the
 * interfaces of `domain`.
 */
const LAYERS: ReadonlyMap<string, Layer> = new Map([
  ["domain", { imports: [], packages: false }],
  ["shared", { imports: ["domain"], packages: true }],
  ["condition", { imports: ["domain", "shared"], packages: false }],
  ["config", { imports: BASE, packages: true }],
  ["checks", { imports: BASE, packages: true }],
  ["channels", { imports: BASE, packages: true }],
  ["state", { imports: BASE, packages: true }],
  ["system", { imports: BASE, packages: true }],
  ["engine", { imports: ENGINE_MAY, packages: true }],
  ["members", { imports: MEMBERS_MAY, packages: false }],
  ["scheduler", { imports: SCHEDULER_MAY, packages: true }],
  ["outputs", { imports: TOP_MAY, packages: true }],
  ["permissions", { imports: TOP_MAY, packages: true }],
  ["rehearsal", { imports: [...TOP_MAY, "outputs"], packages: true }],
  ["import", { imports: [...BASE, "config", "state"], packages: true }],
  ["discover", { imports: [...BASE, "config", "checks", "permissions"], packages: true }],
  ["cli", {
    imports: [...TOP_MAY, "outputs", "permissions", "rehearsal", "import", "discover"],
    packages: true,
  }],
]);

/** What builds the program, above all layers. */
const OF_MAIN: ReadonlySet<string> = new Set(["main.ts", "program.ts"]);

/** The imports that those may have: all of src. */
const MAIN: Layer = { imports: [...LAYERS.keys()], packages: true };

/** Files with code, as opposed to data that a layer may embed. */
const CODE = /\.[cm]?[jt]sx?$/;

/**
 * `layers-import-downwards`: a layer imports only from lower ones, types included, and every file of src is in one.
 * Code shared by two layers of one level belongs to `shared` or `domain`. Nothing imports `main.ts`, and only that
 * imports `program.ts`.
 */
export const layersImportDownwards: Deno.lint.Rule = placedRule((context, path) => {
  const name = OF_MAIN.has(path) ? path : layerOf(path);
  const layer = name === null ? null : OF_MAIN.has(name) ? MAIN : LAYERS.get(name);
  if (name !== null && layer === undefined) {
    return {
      Program(node) {
        const message = `src/${name} is not a known layer`;
        context.report({ range: [node.range[0], node.range[0]], message, hint: HINTS.layer });
      },
    };
  }
  return visitModules(({ specifier, node }) => {
    const fault = faultOf(specifier, { path, name: name ?? "", layer: layer ?? null });
    if (fault !== null) context.report({ node, ...fault });
  });
});

interface Importer {
  /** Project path of the importing file. */
  readonly path: string;
  readonly name: string;
  /** `null` for files outside the program (tests, scripts …). */
  readonly layer: Layer | null;
}

interface Fault {
  readonly message: string;
  readonly hint: string;
}

const HINTS = {
  absolute: "import our own files by a relative path",
  computed: "write its name as a string, which the compiled executable needs too",
  downwards: "pass the value in, or move what both need down into shared or domain",
  main: "import the part of src that is needed, or run the program as a process",
  outside: "what the program needs belongs in src; only data files may come from elsewhere",
  packages: "domain and condition use no packages: pass the value in, or do it in another layer",
  tests: "move what scripts and benchmarks share with tests to testing/",
  layer: "move the file into one of the layers of scripts/lint/layers_import_downwards.ts",
} as const;

function faultOf(specifier: string | null, { path, name, layer }: Importer): Fault | null {
  if (specifier === null) {
    return layer === null ? null : { message: "A computed import cannot be checked", hint: HINTS.computed };
  }
  if (/^(file:|\/)/.test(specifier)) {
    return { message: `Import "${specifier}" is an absolute path`, hint: HINTS.absolute };
  }
  if (!specifier.startsWith(".")) {
    if (layer === null || layer.packages) return null;
    return { message: `${name} may not import package "${specifier}"`, hint: HINTS.packages };
  }
  const target = resolve(path, specifier);
  if (target === "main.ts") return { message: "Nothing may import main.ts", hint: HINTS.main };
  if (target === "program.ts" && path !== "main.ts") {
    return { message: "Only main.ts may import program.ts", hint: HINTS.main };
  }
  if (target.startsWith("tests/") && !path.startsWith("tests/")) {
    return { message: `Only tests may import "${specifier}" from tests/`, hint: HINTS.tests };
  }
  if (layer === null || path === "main.ts" && target === "program.ts") return null;
  const targetLayer = layerOf(target);
  if (targetLayer !== null) {
    if (targetLayer === name || layer.imports.includes(targetLayer)) return null;
    return { message: `${name} may not import ${targetLayer} ("${specifier}")`, hint: HINTS.downwards };
  }
  if (layer.packages && !CODE.test(target)) return null;
  return { message: `${name} may not import "${specifier}" from outside src`, hint: HINTS.outside };
}

/** The layer of a project path: the name of a file directly in src, `null` outside src. */
function layerOf(path: string): string | null {
  const [directory, layer] = path.split("/");
  return directory === "src" ? layer ?? null : null;
}

/** The project path that a relative specifier leads to; it keeps its `..` where it leaves the project. */
function resolve(path: string, specifier: string): string {
  const parts = path.split("/").slice(0, -1);
  for (const part of specifier.replace(/[?#].*$/, "").split("/")) {
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}
