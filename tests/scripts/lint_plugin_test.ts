import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { projectPath } from "../../scripts/lint/place.ts";
import plugin from "../../scripts/lint_plugin.ts";
import { runChild } from "../../testing/tools.ts";

const PROJECT = join(import.meta.dirname ?? "", "../..");

/** Codes, all in one file of the project, with the findings of the tested rule in each: the marked code. */
type Rows = Readonly<Record<string, readonly [code: string, ...marked: readonly string[]]>>;

testRule("no-ambient", "finds every use of what is ambient", "src/checks/example.ts", {
  "the wall clock": ["const now = Date.now();", "Date.now"],
  "the wall clock in brackets": ['const now = Date["now"]();', 'Date["now"]'],
  "the wall clock behind a cast": ["const now = (Date as unknown as X).now();", "(Date as unknown as X).now"],
  "the wall clock, handed on": ["run({ now: Date.now });", "Date.now"],
  "the wall clock, taken apart": ["const { now } = Date;", "now"],
  "a new date without arguments": ["const date = new Date();", "new Date()"],
  "a new date without brackets": ["const date = new Date;", "new Date"],
  "a date as text": ["const text = Date();", "Date()"],
  "the monotonic clock": ["const now = performance.now();", "performance.now"],
  "the monotonic clock, aliased": ["const clock = performance;", "performance"],
  "Temporal's clock": ["const now = Temporal.Now.instant();", "Temporal.Now"],
  "timers": ["setTimeout(f, 1); setInterval(f, 1);", "setTimeout", "setInterval"],
  "a timer, aliased": ["const later = setTimeout;", "setTimeout"],
  "a timer as an optional call": ["setTimeout?.(f, 1);", "setTimeout"],
  "a timeout": ["const signal = AbortSignal.timeout(10);", "AbortSignal.timeout"],
  "the runtime": ['await Deno.readTextFile("x");', "Deno.readTextFile"],
  "the runtime's environment": ['Deno.env.get("HOME");', "Deno.env"],
  "the runtime behind a question mark": ["Deno?.env;", "Deno?.env"],
  "the runtime, handed on": ["run(Deno);", "Deno"],
  "the runtime, taken apart": ["const { env, errors, ...rest } = Deno;", "env", "...rest"],
  "the runtime in an assignment": ["let env; ({ env } = Deno);", "env"],
  "the runtime by a computed name": ["Deno[name]();", "Deno[name]"],
  "a class of the runtime": ["class A extends Deno.Command {}", "Deno.Command"],
  "the runtime in a default": ["function f(pid = Deno.pid) { return pid; }", "Deno.pid"],
  "the runtime in an enumeration": ["enum A { pid = process.pid, id = prompt }", "process.pid", "prompt"],
  "the runtime as a computed key": ["const table = { [Deno.pid]: 1 };", "Deno.pid"],
  "the process": ["process.env.HOME; process.on(a, b);", "process.env", "process.on"],
  "a request": ['await fetch("http://localhost/");', "fetch"],
  "a request next to a class and a function without names": [
    "export default class { a() { fetch(x); } } f(function () { return class { b = fetch; }; });",
    "fetch",
    "fetch",
  ],
  "a request in a loop without a start": ["for (;;) { fetch(x); }", "fetch"],
  "a request next to holes": ["const [, a] = b; try { f(); } catch { fetch(a); }", "fetch"],
  "a request in a class's own block": ["class A { static { fetch(x); } }", "fetch"],
  "a request as a shorthand member": ["const tools = { fetch };", "fetch"],
  "a request as a default value": ["const send = options.send ?? fetch;", "fetch"],
  "a socket": ['new WebSocket("ws://localhost/");', "WebSocket"],
  "the console": ["console.log(1);", "console.log"],
  "randomness": ["const n = Math.random();", "Math.random"],
  "a random id": ["const id = crypto.randomUUID();", "crypto.randomUUID"],
  "random bytes": ["crypto.getRandomValues(bytes);", "crypto.getRandomValues"],
  "a global by the global object": ["globalThis.fetch(x);", "globalThis.fetch"],
  "a member by the global object": ["globalThis.Date.now();", "globalThis.Date.now"],
  "a call by the global object": ["new globalThis.Date();", "new globalThis.Date()"],
  "the global object by another name": ['self["setTimeout"](f, 1);', 'self["setTimeout"]'],
  "the global object, handed on": ["run(globalThis);", "globalThis"],
  "the global object, taken apart": ["const { Deno: d, URL: u } = globalThis;", "Deno"],
  "the global object by a computed name": ["globalThis[name];", "globalThis[name]"],
  "a declared global": ["declare const process: X; process.exit;", "process", "process.exit"],
  "a local name elsewhere": [
    "function f(fetch: X) { return fetch; }\nfunction g() { return fetch(x); }",
    "fetch",
  ],
  "a runtime module": [
    'import { spawn } from "node:child_process";',
    'import { spawn } from "node:child_process";',
  ],
  "a module below one": ['import fs from "node:fs/promises";', 'import fs from "node:fs/promises";'],
  "a module without its prefix": ['import os from "os";', 'import os from "os";'],
  "a module for its effect": ['import "node:process";', 'import "node:process";'],
  "a module that is passed on": ['export * from "node:net";', 'export * from "node:net";'],
  "a part that is passed on": ['export { get } from "node:http";', 'export { get } from "node:http";'],
  "a module when needed": ['const tls = await import("node:tls");', 'import("node:tls")'],
  "a module by a template": ["const tls = await import(`node:tls`);", "import(`node:tls`)"],
  "the database outside storage": [
    'import { DatabaseSync } from "node:sqlite";',
    'import { DatabaseSync } from "node:sqlite";',
  ],
  "a random part of a module": [
    'import { createHash, randomBytes } from "node:crypto";',
    'import { createHash, randomBytes } from "node:crypto";',
  ],
  "a module with random parts as a whole": [
    'import * as crypto from "node:crypto";',
    'import * as crypto from "node:crypto";',
  ],
});

testRule("no-ambient", "leaves alone what is not ambient", "src/checks/example.ts", {
  "a date from a value": ["const date = new Date(nowMs); Date.parse(x); x instanceof Date;"],
  "a class for instanceof": ["if (error instanceof Deno.errors.NotFound) throw error;"],
  "types": ["let a: Deno.FileInfo; let b: typeof fetch; type C = typeof Deno.stat; f<typeof setTimeout>();"],
  "a microtask": ["queueMicrotask(f);"],
  "pure mathematics": ["Math.max(1, 2); crypto.subtle.digest(a, b); AbortSignal.any([]);"],
  "harmless members of the global object": ["globalThis.structuredClone(x);"],
  "a parameter": ["function f(fetch: X) { return fetch(1); }"],
  "a parameter of an arrow": ["const f = (fetch: X) => fetch(1);"],
  "a parameter that is taken apart": [
    "const f = ({ console: { log }, process = 1, ...Deno }: X) => [process, Deno, log];",
  ],
  "a rest parameter": ["function f(...process: X[]) { return process; }"],
  "a parameter property": ["class A { constructor(private readonly fetch: X) { fetch(1); } }"],
  "a local variable": ["function f() { const process = start(); return () => process.id; }"],
  "a variable of the file": ["const performance = 1; const f = () => performance;"],
  "an exported function": ["export function fetch() {} fetch();"],
  "a function expression's own name": ["const f = function fetch() { return fetch; };"],
  "a class's own name": ["const a = class Worker { b = Worker; };"],
  "an import": ['import { fetch } from "./other.ts"; fetch();'],
  "a loop variable": [
    "for (const process of all) process.end(); for (let prompt = 0; prompt < 1; prompt++) f(prompt);",
  ],
  "a caught value": ["try { f(); } catch (process) { g(process); }"],
  "a variable of a class's own block": ["class A { static { const prompt = 1; f(prompt); } }"],
  "a variable of a namespace": ["namespace A { const prompt = 1; f(prompt); }"],
  "an enumeration": ["enum Worker { a } f(Worker.a);"],
  "a namespace": ["namespace caches { export const a = 1; } f(caches.a);"],
  "a variable of a switch": ["switch (x) { case 1: { break; } case 2: const prompt = 1; f(prompt); }"],
  "members of other objects": [
    "system.fetch(); context.process.run(); this.#console; x?.Deno; a.Date.now();",
  ],
  "keys": [
    "const o = { fetch: 1, console() {}, get process() { return 1; } }; class A { fetch = 1; prompt() {} }",
  ],
  "keys that are taken": ["const { fetch: send, process: [first] } = tools; f(send, first);"],
  "names in types": [
    "interface A { fetch(process: X): void; console: Y } type B = (fetch: X) => void; let c: { Deno: 1 };",
  ],
  "names of an enumeration": ["enum A { fetch = 1 } namespace B { export const x = 1; }"],
  "labels": ["process: for (;;) { break process; }"],
  "renamed exports": ["const a = 1; export { a as fetch };"],
  "a type predicate": ["function f(process: X): process is Y { return true; }"],
  "harmless modules": ['import { join } from "node:path"; import { createHash } from "node:crypto";'],
  "types of modules": [
    'import type { Socket } from "node:net"; import { type Server } from "node:http"; export type { A } from "node:fs"; let a: import("node:os").B;',
  ],
  "a module that is only named like one": ['import { a } from "./fs.ts"; import b from "osc";'],
  "words in texts": ['const help = "fetch Deno.env console.log";'],
});

testPlaces("no-ambient", "goes by the file's place", "Deno.cwd();", {
  "the room for it": ["src/system/files.ts"],
  "the entry": ["main.ts"],
  "scripts": ["scripts/compile.ts"],
  "tests": ["tests/checks/example_test.ts"],
  "examples": ["examples/server.ts"],
  "benchmarks": ["bench/run.ts"],
  "a file directly in src": ["src/scheduler/run_checks.ts", "Deno.cwd"],
  "the command line": ["src/cli/check.ts", "Deno.cwd"],
  "a directory whose name begins alike": ["src/systems.ts", "Deno.cwd"],
  "a second entry": ["src/main.ts", "Deno.cwd"],
  "a directory below src that is named as one that may": ["src/cli/scripts/run.ts", "Deno.cwd"],
});

testPlaces(
  "no-ambient",
  "lets the stores have their database",
  'import { DatabaseSync } from "node:sqlite";',
  {
    "state": ["src/state/sqlite/sqlite_store.ts"],
    "system": ["src/system/deno_system.ts"],
  },
);

testRule("layers-import-downwards", "keeps a kind to the layers below", "src/checks/deep/example.ts", {
  "domain": ['import { a } from "../../domain/check.ts";'],
  "its own files": ['import { a } from "../registry.ts"; import { b } from "./other.ts";'],
  "packages": [
    'import a from "npm:ajv"; import b from "ajv"; import c from "node:path"; import d from "jsr:@std/path";',
  ],
  "a data file": ['import schema from "../../../schemas/monitor.schema.json" with { type: "json" };'],
  "another layer": ['import { a } from "../../config/load.ts";', 'import { a } from "../../config/load.ts";'],
  "another layer's types": [
    'import type { A } from "../../system/clock.ts";',
    'import type { A } from "../../system/clock.ts";',
  ],
  "another layer, by export": [
    'export { a } from "../../config/load.ts";',
    'export { a } from "../../config/load.ts";',
  ],
  "all of another layer": ['export * from "../../config/load.ts";', 'export * from "../../config/load.ts";'],
  "another layer, when needed": ['await import("../../cli/run.ts");', 'import("../../cli/run.ts")'],
  "another layer, by an import type": [
    'let a: import("../../state/a.ts").A;',
    'import("../../state/a.ts").A',
  ],
  "a way round": ['import "./../../checks/../cli/run.ts?x";', 'import "./../../checks/../cli/run.ts?x";'],
  "a file directly in src": [
    'import { a } from "../../monitor.ts";',
    'import { a } from "../../monitor.ts";',
  ],
  "the entry with a query": ['import "../../../main.ts?x#y";', 'import "../../../main.ts?x#y";'],
  "code outside src with a query": [
    'import "../../../tests/a.ts?x.json";',
    'import "../../../tests/a.ts?x.json";',
  ],
  "an unknown layer": ['import { a } from "../../attic/a.ts";', 'import { a } from "../../attic/a.ts";'],
  "the entry": ['import "../../../main.ts";', 'import "../../../main.ts";'],
  "code outside src": ['import "../../../tests/a.ts";', 'import "../../../tests/a.ts";'],
  "code outside the project": ['import "../../../../a.ts";', 'import "../../../../a.ts";'],
  "an absolute path": ['import "/src/domain/a.ts";', 'import "/src/domain/a.ts";'],
  "an address of a file": ['import "file:///src/domain/a.ts";', 'import "file:///src/domain/a.ts";'],
  "a computed name": ["await import(name);", "import(name)"],
});

/** Each layer with the layers it may import; all others, itself aside, it may not. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  shared: ["domain"],
  condition: ["domain", "shared"],
  config: ["domain", "shared", "condition"],
  checks: ["domain", "shared", "condition"],
  channels: ["domain", "shared", "condition"],
  state: ["domain", "shared", "condition"],
  system: ["domain", "shared", "condition"],
  members: ["domain", "shared"],
  alerting: ["domain", "shared", "condition", "config", "checks", "channels", "state", "members"],
  scheduler: [
    "domain",
    "shared",
    "condition",
    "config",
    "checks",
    "channels",
    "state",
    "members",
    "alerting",
  ],
  outputs: [
    "domain",
    "shared",
    "condition",
    "config",
    "checks",
    "channels",
    "state",
    "members",
    "alerting",
    "scheduler",
  ],
  permissions: [
    "domain",
    "shared",
    "condition",
    "config",
    "checks",
    "channels",
    "state",
    "members",
    "alerting",
    "scheduler",
  ],
  cli: [
    ...["domain", "shared", "condition", "config", "checks", "channels", "state", "members", "alerting"],
    ...["scheduler", "outputs", "permissions"],
  ],
};

Deno.test("layers-import-downwards accepts only the allowed imports of each layer", async (t) => {
  for (const [layer, allowed] of Object.entries(MAY_IMPORT)) {
    await t.step(layer, () => {
      const others = Object.keys(MAY_IMPORT).filter((other) => other !== layer);
      const imports = others.map((other) => `import "../${other}/a.ts";`);
      const refused = others.filter((other) => !allowed.includes(other)).map((other) =>
        `import "../${other}/a.ts";`
      );
      deepStrictEqual(
        find("layers-import-downwards", `src/${layer}/example.ts`, imports.join("\n")),
        refused,
      );
      const own = `import "./a.ts"; import "../${layer}/a.ts";`;
      deepStrictEqual(find("layers-import-downwards", `src/${layer}/example.ts`, own), []);
    });
  }
});

testPlaces("layers-import-downwards", "keeps packages out of the pure layers", 'import "node:path";', {
  "domain": ["src/domain/a.ts", 'import "node:path";'],
  "shared": ["src/shared/a.ts"],
  "condition": ["src/condition/a.ts", 'import "node:path";'],
  "members": ["src/members/a.ts", 'import "node:path";'],
  "config": ["src/config/a.ts"],
  "checks": ["src/checks/a.ts"],
  "channels": ["src/channels/a.ts"],
  "state": ["src/state/a.ts"],
  "system": ["src/system/a.ts"],
  "alerting": ["src/alerting/a.ts"],
  "scheduler": ["src/scheduler/a.ts"],
  "the command line": ["src/cli/a.ts"],
  "the entry": ["main.ts"],
});

testRule("layers-import-downwards", "keeps data out of the pure layers", "src/domain/a.ts", {
  "a data file": [
    'import a from "../../deno.json" with { type: "json" };',
    'import a from "../../deno.json" with { type: "json" };',
  ],
});

testRule(
  "layers-import-downwards",
  "lets the command line import what is below",
  "src/cli/commands/check.ts",
  {
    "layers below": ['import "../../scheduler/a.ts"; import "../run.ts"; import "../../checks/registry.ts";'],
    "the machine": ['import "../../system/a.ts";', 'import "../../system/a.ts";'],
    "the entry": ['import "../../../main.ts";', 'import "../../../main.ts";'],
  },
);

testRule("layers-import-downwards", "lets the entry have src", "main.ts", {
  "src": [
    'import "./src/cli/run.ts"; import "./src/scheduler/run_checks.ts"; import "./src/system/deno_system.ts";',
  ],
  "scripts": ['import "./scripts/compile.ts";', 'import "./scripts/compile.ts";'],
});

testRule("layers-import-downwards", "leaves all but the entry to tests", "tests/cli/run_test.ts", {
  "any layer": [
    'import "../../src/cli/run.ts"; import "../fakes.ts"; await import(name); import "node:path";',
  ],
  "the entry": ['import { a } from "../../main.ts";', 'import { a } from "../../main.ts";'],
  "a file with the entry's name elsewhere": ['import "./main.ts";'],
});

testRule("layers-import-downwards", "keeps scripts from the tests", "scripts/soak/memory.ts", {
  "a module of the tests": [
    'import "../../tests/support/tools.ts";',
    'import "../../tests/support/tools.ts";',
  ],
  "a shared module": ['import "../../testing/tools.ts";'],
});

testPlaces("layers-import-downwards", "rejects a file of src outside the layers", "export {};", {
  "an unknown layer": ["src/attic/a.ts", ""],
  "a file directly in src": ["src/a.ts", ""],
  "a layer": ["src/domain/a.ts"],
});

testRule("one-place-per-kind", "finds decisions by a kind's name", "src/cli/example.ts", {
  "a switch": ['switch (check.kind) { case "script": break; case "test": break; }', "check.kind"],
  "a switch on a variable": ["switch (kind) {}", "kind"],
  "a switch in brackets": ['switch (check["kind"]) {}', 'check["kind"]'],
  "a switch behind a question mark": ["switch (check?.kind) {}", "check?.kind"],
  "a switch behind a cast": ["switch (check.kind as X) {}", "check.kind as X"],
  "a comparison": ['if (check.kind === "script") f();', 'check.kind === "script"'],
  "a comparison of unlikeness": ['if (check.kind !== "http_request") f();', 'check.kind !== "http_request"'],
  "a comparison the other way round": [
    'if ("file_touch" === channel.kind) f();',
    '"file_touch" === channel.kind',
  ],
  "a comparison with a common word": ['f(result.check.kind === "test");', 'result.check.kind === "test"'],
  "a comparison with a channel": ['f(channel?.kind === "email");', 'channel?.kind === "email"'],
  "a comparison of a variable": ['const { kind } = check; f(kind === "console");', 'kind === "console"'],
  "a comparison with a template": ["f(check.kind === `script`);", "check.kind === `script`"],
  "a comparison behind a cast": [
    'f((check.kind as X) === ("script" as Y));',
    '(check.kind as X) === ("script" as Y)',
  ],
  "a name": ['const names = ["file_timestamp", "test"];', '"file_timestamp"'],
  "a name with a cast": ['const name = "script" as const;', '"script"'],
  "a name in a template": ["const name = `desktop_notification`;", "`desktop_notification`"],
  "a name as a case": ['switch (name) { case "file_touch": }', '"file_touch"'],
  "a table": ['const table = { "script": 1, http_request: 2, test: 3 };', '"script"', "http_request"],
  "a table, taken apart": ["const { http_request } = table;", "http_request"],
  "a look into a table": ["CHECK_KINDS.file_timestamp;", "file_timestamp"],
});

testRule("one-place-per-kind", "leaves alone what decides nothing", "src/cli/example.ts", {
  "types": [
    'let a: CheckKindEntry<"script">; type B = Extract<Check, { kind: "http_request" }>; interface C { http_request: 1 }',
  ],
  "types in templates": ["type A = `script`;"],
  "a look-up": ["CHECK_KINDS[check.kind].limit;"],
  "kinds of other things": ['facts.kind === "file"; switch (token.type) {} switch (facts.kindly) {}'],
  "comparisons of kinds": ["a.kind === b.kind;"],
  "common words": ['const words = ["test", "console", "email"]; f(word === "test");'],
  "texts with a name in them": ['const text = "an http_request check"; const path = "./script.ts";'],
  "a common key": ["const o = { script: 1 }; o.script;"],
});

testPlaces("one-place-per-kind", "lets a name stand in its places", 'const name = "script";', {
  "domain": ["src/domain/check.ts"],
  "the checks' registry": ["src/checks/registry.ts"],
  "the channels' registry": ["src/channels/registry.ts"],
  "the file named for it": ["src/checks/script.ts"],
  "a directory named for it": ["src/checks/script/output.ts"],
  "the file named for another kind": ["src/checks/http_request.ts", '"script"'],
  "a file of that name in another layer": ["src/cli/script.ts", '"script"'],
  "config": ["src/config/resolve.ts", '"script"'],
  "a writer of configs": ["src/cli/import/gatus.ts"],
  "tests": ["tests/checks/script_test.ts"],
  "scripts": ["scripts/generate.ts"],
});

testPlaces("one-place-per-kind", "lets only domain decide by a kind", 'f(check.kind === "script");', {
  "domain": ["src/domain/check.ts"],
  "the registry": ["src/checks/registry.ts", 'check.kind === "script"'],
  "the file named for it": ["src/checks/script.ts", 'check.kind === "script"'],
  "a writer of configs": ["src/cli/import/gatus.ts", 'check.kind === "script"'],
  "tests": ["tests/checks/script_test.ts"],
});

testPlaces("names", "goes by the file's name", "export {};", {
  "one word": ["src/domain/check.ts"],
  "several words": ["src/checks/file_timestamp.ts"],
  "a test": ["tests/checks/file_timestamp_test.ts"],
  "digits": ["tests/cli/tap_14_test.ts"],
  "the entry": ["main.ts"],
  "a door": ["src/checks/mod.ts"],
  "declarations": ["src/config/generated.d.ts"],
  "a word that begins alike": ["src/domain/common_name.ts"],
  "hyphens": ["src/checks/file-timestamp.ts", ""],
  "humps": ["src/checks/fileTimestamp.ts", ""],
  "a capital": ["src/domain/Check.ts", ""],
  "a dot": ["tests/checks/script.test.ts", ""],
  "two underscores": ["src/domain/check__kind.ts", ""],
  "a leading underscore": ["src/domain/_check.ts", ""],
  "index": ["src/checks/index.ts", ""],
  "utils": ["src/cli/utils.ts", ""],
  "helpers": ["tests/helpers.ts", ""],
  "common": ["src/cli/common.ts", ""],
  "misc": ["scripts/misc.ts", ""],
  "the test of such a file": ["tests/cli/utils_test.ts", ""],
});

testRule("exit-in-main", "finds every way out", "src/system/example.ts", {
  "an exit": ["Deno.exit(1);", "Deno.exit"],
  "an exit, handed on": ["onSignal(Deno.exit);", "Deno.exit"],
  "an exit, taken out": ["const { exit } = Deno;", "exit"],
  "the process's exit": ["process.exit(1);", "process.exit"],
  "an abort": ["process.abort();", "process.abort"],
  "an exit code": ["Deno.exitCode = 1;", "Deno.exitCode"],
  "an exit code, added to": ["Deno.exitCode |= 1;", "Deno.exitCode"],
  "the process's exit code": ["process.exitCode = 1;", "process.exitCode"],
});

testRule("exit-in-main", "leaves alone what ends nothing", "src/system/example.ts", {
  "reading the exit code": ["f(Deno.exitCode); const code = Deno.exitCode;"],
  "other members": ["Deno.kill(1); process.on(a, b);"],
  "members of other objects": ["child.exit(); state.exitCode = 1; f(options.Deno.exit);"],
  "a parameter": ["function f(process: X) { process.exit(); }"],
});

testPlaces("exit-in-main", "goes by the file's place", "Deno.exit(1);", {
  "the entry": ["main.ts"],
  "scripts": ["scripts/compile.ts"],
  "tests": ["tests/specs/run.ts"],
  "examples": ["examples/server.ts"],
  "benchmarks": ["bench/run.ts"],
  "the layer for ambient values": ["src/system/process/processes.ts", "Deno.exit"],
  "the command line": ["src/cli/run.ts", "Deno.exit"],
});

Deno.test("plugin suggests a fix", () => {
  const code = 'import { a } from "../channels/email.ts";\nDeno.stat(a);';
  const [layers, ambient] = Deno.lint.runPlugin(plugin, join(PROJECT, "src/checks/example.ts"), code)
    .sort((a, b) => a.id < b.id ? -1 : 1);
  strictEqual(ambient?.id, "monitor/no-ambient");
  strictEqual(ambient?.message, "Deno.stat is ambient: only src/system may use it");
  strictEqual(
    ambient?.hint,
    "use an interface of src/domain/system.ts, or add what is missing there and in src/system",
  );
  strictEqual(layers?.id, "monitor/layers-import-downwards");
  strictEqual(layers?.message, 'checks may not import channels ("../channels/email.ts")');
  strictEqual(
    layers?.hint,
    "pass the value in, or move what both need down into shared or domain",
  );
});

testRule(
  "children-in-tools",
  "finds child processes that a test starts by itself",
  "tests/checks/example_test.ts",
  {
    "a command": ['new Deno.Command("sh").spawn();', "Deno.Command"],
    "a command in brackets": ['new Deno["Command"]("sh");', 'Deno["Command"]'],
    "a command, taken apart": ["const { Command } = Deno;", "Command"],
    "a class of commands": ["class A extends Deno.Command {}", "Deno.Command"],
    "Node's module": [
      'import { spawn } from "node:child_process";',
      'import { spawn } from "node:child_process";',
    ],
    "Node's module without its prefix, later": ['await import("child_process");', 'import("child_process")'],
    "types of both": ['const o: Deno.CommandOptions = {}; import type { X } from "node:child_process";'],
    "another member": ["Deno.readTextFileSync(path);"],
    "another Deno": ["const Deno = { Command: Object }; new Deno.Command();"],
  },
);

testPlaces(
  "children-in-tools",
  "applies to tests, but not to the place that starts them",
  'new Deno.Command("sh");',
  {
    "a test": ["tests/checks/script_test.ts", "Deno.Command"],
    "a module of the tests": ["tests/support/promtool.ts", "Deno.Command"],
    "the place": ["testing/tools.ts"],
    "a script that tries its permissions": ["tests/executable/attempts.ts"],
    "scripts": ["scripts/test.ts"],
    "a source file": ["src/system/process/processes.ts"],
  },
);

Deno.test("plugin ignores files outside the project", () => {
  deepStrictEqual(Deno.lint.runPlugin(plugin, "/elsewhere/src/checks/index.ts", "Deno.exit(1);"), []);
  deepStrictEqual(Deno.lint.runPlugin(plugin, `${PROJECT}-copy/src/checks/index.ts`, "Deno.exit(1);"), []);
});

Deno.test("projectPath() names files from the project's directory on", async (t) => {
  const rows: Readonly<Record<string, readonly [file: string, directory: string, path: string | null]>> = {
    "a file of the project": ["/home/a/monitor/src/cli/run.ts", "/home/a/monitor", "src/cli/run.ts"],
    "a project below a directory src": ["/home/src/monitor/main.ts", "/home/src/monitor", "main.ts"],
    "a project that is named src": ["/home/src/tests/a.ts", "/home/src", "tests/a.ts"],
    "a directory src below the tests": ["/p/tests/src/cli/a.ts", "/p", "tests/src/cli/a.ts"],
    "backslashes": ["C:\\p\\src\\cli\\run.ts", "C:\\p", "src/cli/run.ts"],
    "a file elsewhere": ["/home/a/other/src/cli/run.ts", "/home/a/monitor", null],
    "a directory whose name begins alike": ["/home/a/monitor2/main.ts", "/home/a/monitor", null],
  };
  for (const [name, [file, directory, path]] of Object.entries(rows)) {
    await t.step(name, () => strictEqual(projectPath(file, directory), path));
  }
});

Deno.test("deno lint runs the plugin in a project below a directory that is named src", async () => {
  const above = await Deno.makeTempDir();
  try {
    const project = join(above, "src", "project");
    await Deno.mkdir(join(project, "scripts/lint"), { recursive: true });
    await Deno.mkdir(join(project, "src/checks"), { recursive: true });
    await Deno.copyFile(join(PROJECT, "scripts/lint_plugin.ts"), join(project, "scripts/lint_plugin.ts"));
    for await (const { name } of Deno.readDir(join(PROJECT, "scripts/lint"))) {
      await Deno.copyFile(join(PROJECT, "scripts/lint", name), join(project, "scripts/lint", name));
    }
    const config = { lint: { plugins: ["./scripts/lint_plugin.ts"] } };
    await Deno.writeTextFile(join(project, "deno.json"), JSON.stringify(config));
    await Deno.writeTextFile(join(project, "main.ts"), "Deno.exit(1);\n");
    await Deno.writeTextFile(join(project, "src/checks/index.ts"), "Deno.exit(1);\n");
    const { stdout } = await runChild(Deno.execPath(), ["lint", "--json"], { cwd: project });
    const { diagnostics } = JSON.parse(stdout) as {
      readonly diagnostics: readonly { readonly code: string; readonly filename: string }[];
    };
    const found = diagnostics.map(({ code, filename }) =>
      `${filename.slice(filename.lastIndexOf("/") + 1)} ${code}`
    );
    deepStrictEqual(found.sort(), [
      "index.ts monitor/exit-in-main",
      "index.ts monitor/names",
      "index.ts monitor/no-ambient",
    ]);
  } finally {
    await Deno.remove(above, { recursive: true });
  }
});

/** One step a row: the rule marks exactly these pieces of the code, in this order. */
function testRule(rule: string, sentence: string, file: string, rows: Rows): void {
  Deno.test(`${rule} ${sentence}`, async (t) => {
    for (const [name, [code, ...marked]] of Object.entries(rows)) {
      await t.step(name, () => deepStrictEqual(find(rule, file, code), marked));
    }
  });
}

/** Tests the same code in several files: one step a row, with the file and the code that the rule marks there. */
function testPlaces(rule: string, sentence: string, code: string, rows: Rows): void {
  Deno.test(`${rule} ${sentence}`, async (t) => {
    for (const [name, [file, ...marked]] of Object.entries(rows)) {
      await t.step(name, () => deepStrictEqual(find(rule, file, code), marked));
    }
  });
}

function find(rule: string, file: string, code: string): readonly string[] {
  return Deno.lint.runPlugin(plugin, join(PROJECT, file), code)
    .filter(({ id }) => id === `monitor/${rule}`)
    .sort((a, b) => a.range[0] - b.range[0])
    .map(({ range: [start, end] }) => code.slice(start, end));
}
