import { type ModuleUse, runtimeModule, visitModules } from "./modules.ts";
import { isIn, OUTSIDE_THE_LAYERS, placedRule } from "./place.ts";
import { isGlobalUse } from "./scope.ts";
import { membersTaken, type Node, parentOf, withWrapping } from "./syntax.ts";

const TIME = "take it in as a value (`nowMs`) or use `Clock` of src/domain/clock.ts";
const TIMER = "use `Clock.after` of src/domain/clock.ts";
const RANDOM = "take the random value, or a function that makes one, in as a parameter";
const OUTPUT = "return the text, or write to a `TextSink` of src/domain/system.ts";
const NETWORK = "use `Requests` of src/domain/system.ts, or add what is missing there and in src/system";
const MACHINE = "use an interface of src/domain/system.ts, or add what is missing there and in src/system";
const FILES = "use `Files` of src/domain/system.ts, or add what is missing there and in src/system";
const PROCESSES = "use `Processes` of src/domain/system.ts, or add what is missing there and in src/system";

/** Ambient values (a global, a property of one, a use of one), and their replacement. */
const AMBIENT: ReadonlyMap<string, string> = new Map([
  ["Date()", TIME],
  ["new Date()", TIME],
  ["Date.now", TIME],
  ["Temporal.Now", TIME],
  ["performance", TIME],
  ["setTimeout", TIMER],
  ["setInterval", TIMER],
  ["setImmediate", TIMER],
  ["AbortSignal.timeout", TIMER],
  ["Math.random", RANDOM],
  ["crypto.randomUUID", RANDOM],
  ["crypto.getRandomValues", RANDOM],
  ["console", OUTPUT],
  ["alert", OUTPUT],
  ["confirm", OUTPUT],
  ["prompt", OUTPUT],
  ["fetch", NETWORK],
  ["EventSource", NETWORK],
  ["WebSocket", NETWORK],
  ["WebSocketStream", NETWORK],
  ["Deno", MACHINE],
  ["process", MACHINE],
  ["navigator", MACHINE],
  ["caches", MACHINE],
  ["localStorage", MACHINE],
  ["sessionStorage", MACHINE],
  ["BroadcastChannel", MACHINE],
  ["Worker", MACHINE],
]);

/** Harmless properties of ambient objects: error classes, which `instanceof` requires. */
const HARMLESS: ReadonlySet<string> = new Set(["Deno.errors"]);

/** Names of the global object: its properties are treated like global names. */
const GLOBAL_OBJECTS: ReadonlySet<string> = new Set(["globalThis", "self", "window", "global"]);

/** The runtime's modules that reach the machine, with all that is under their name (`node:fs/promises`). */
const AMBIENT_MODULES: ReadonlyMap<string, string> = new Map([
  ["node:child_process", PROCESSES],
  ["node:cluster", PROCESSES],
  ["node:worker_threads", PROCESSES],
  ["node:fs", FILES],
  ["node:dgram", NETWORK],
  ["node:dns", NETWORK],
  ["node:http", NETWORK],
  ["node:http2", NETWORK],
  ["node:https", NETWORK],
  ["node:net", NETWORK],
  ["node:tls", NETWORK],
  ["node:console", OUTPUT],
  ["node:os", MACHINE],
  ["node:process", MACHINE],
  ["node:perf_hooks", TIME],
  ["node:timers", TIMER],
  ["node:sqlite", "keep what is kept in src/state"],
]);

/** Rooms that may use a module of the list nevertheless. */
const MODULE_LAYERS: ReadonlyMap<string, readonly string[]> = new Map([["node:sqlite", ["src/state/"]]]);

/** Exports that are ambient in modules that else are not. */
const AMBIENT_EXPORTS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    "node:crypto",
    new Set([
      "getRandomValues",
      "randomBytes",
      "randomFill",
      "randomFillSync",
      "randomInt",
      "randomUUID",
      "webcrypto",
    ]),
  ],
]);

/** Where everything is allowed. */
const ALLOWED: readonly string[] = ["src/system/", ...OUTSIDE_THE_LAYERS];

/** The identifiers that are worth a look. */
const ROOTS: ReadonlySet<string> = new Set([...GLOBAL_OBJECTS, ...[...AMBIENT.keys()].map(rootOf)]);

/**
 * `no-ambient`: time, timers, environment, files, processes, the network, randomness and the console are used in
 * `src/system` alone. Everywhere else they come in as values or through the interfaces of `src/domain/system.ts`, so
 * that a test can replace them and one layer has all uses of the machine.
 *
 * Local names that happen to be those of globals are ignored, and so are types.
 */
export const noAmbient: Deno.lint.Rule = placedRule((context, path) => {
  if (isIn(path, ALLOWED)) return {};

  const report = (node: Node, what: string, hint: string) => {
    context.report({ node, message: `${what} is ambient: only src/system may use it`, hint });
  };

  return {
    Identifier(node) {
      if (ROOTS.has(node.name) && isGlobalUse(node)) checkGlobal(node.name, node, report);
    },
    ...visitModules((use) => checkModule(use, path, report)),
  };
});

type Notification = (node: Node, what: string, hint: string) => void;

function checkGlobal(name: string, node: Node, report: Notification): void {
  const hint = AMBIENT.get(name);
  for (const use of membersTaken(node)) {
    const full = use.name === null ? name : `${name}.${use.name}`;
    if (GLOBAL_OBJECTS.has(name)) {
      if (use.name === null) report(use.node, name, "name the global that is needed");
      else checkGlobal(use.name, use.node, report);
    } else if (hint !== undefined) {
      if (!HARMLESS.has(full)) report(use.node, full, hint);
    } else {
      const call = use.name === null ? callOf(name, node) : { text: full, node: use.node };
      const callHint = AMBIENT.get(call.text);
      if (callHint !== undefined) report(call.node, call.text, callHint);
    }
  }
}

/** How a global function or class is called, as the list has it: `Date()`, `new Date()`; else its name. */
function callOf(name: string, value: Node): { readonly text: string; readonly node: Node } {
  const callee = withWrapping(value);
  const node = parentOf(callee);
  if (node?.type === "CallExpression" && node.callee === callee) return { text: `${name}()`, node };
  if (node?.type === "NewExpression" && node.callee === callee && node.arguments.length === 0) {
    return { text: `new ${name}()`, node };
  }
  return { text: name, node: value };
}

function checkModule(use: ModuleUse, path: string, report: Notification): void {
  if (use.specifier === null || use.typeOnly) return;
  const name = runtimeModule(use.specifier);
  const hint = AMBIENT_MODULES.get(name);
  if (hint !== undefined && !isIn(path, MODULE_LAYERS.get(name) ?? [])) return report(use.node, name, hint);
  const ambientExports = AMBIENT_EXPORTS.get(name);
  if (ambientExports === undefined) return;
  for (const value of use.values) {
    if (value === null) report(use.node, `${name} as a whole`, "import what is needed of it by name");
    else if (ambientExports.has(value)) report(use.node, `${value} of ${name}`, RANDOM);
  }
}

function rootOf(name: string): string {
  return name.replace(/^new /, "").replace(/\.\w+$|\(\)$/, "");
}
