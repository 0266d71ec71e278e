import { strictEqual } from "node:assert/strict";
import { join } from "node:path";
import plugin from "../../scripts/lint_plugin.ts";

const PROJECT = join(import.meta.dirname ?? "", "../..");

/** Code in a file of the project, in which each rule marks exactly the pieces between « and ». */
const RULES: readonly (readonly [rule: string, file: string, codes: readonly string[]])[] = [
  ["no-ambient", "src/checks/example.ts", [
    "const now = «Date.now»();",
    "const { «now» } = Date;",
    "const date = «new Date()»;",
    "const now = «performance.now»();",
    "«setTimeout»(f, 1); «setInterval»(f, 1);",
    'await «Deno.readTextFile»("x");',
    "const { «env», errors, «...rest» } = Deno;",
    "function f(pid = «Deno.pid») { return pid; }",
    "«process.env».HOME; «process.on»(a, b);",
    'await «fetch»("http://localhost/");',
    "«console.log»(1);",
    "const n = «Math.random»();",
    "«globalThis.Date.now»();",
    "const { «Deno»: d, URL: u } = globalThis;",
    "declare const «process»: X; «process.exit»;",
    "function f(fetch: X) { return fetch; }\nfunction g() { return «fetch»(x); }",
    '«import { spawn } from "node:child_process";»',
    'const tls = await «import("node:tls")»;',
    '«import { createHash, randomBytes } from "node:crypto";»',
    "const date = new Date(nowMs); Date.parse(x); x instanceof Date;",
    "if (error instanceof Deno.errors.NotFound) throw error;",
    "let a: Deno.FileInfo; let b: typeof fetch; type C = typeof Deno.stat; f<typeof setTimeout>();",
    "export function fetch() {} fetch();",
    "system.fetch(); context.process.run(); this.#console; x?.Deno; a.Date.now();",
    "const o = { fetch: 1, console() {}, get process() { return 1; } }; class A { fetch = 1; prompt() {} }",
    "interface A { fetch(process: X): void; console: Y } type B = (fetch: X) => void; let c: { Deno: 1 };",
    'import type { Socket } from "node:net"; import { type Server } from "node:http"; export type { A } from "node:fs"; let a: import("node:os").B;',
  ]],
  ["layers-import-downwards", "src/checks/deep/example.ts", [
    'import { a } from "../registry.ts"; import { b } from "./other.ts";',
    'import a from "npm:ajv"; import b from "ajv"; import c from "node:path"; import d from "jsr:@std/path";',
    'import schema from "../../../schemas/monitor.schema.json" with { type: "json" };',
    '«import { a } from "../../config/load.ts";»',
    '«export { a } from "../../config/load.ts";»',
    'await «import("../../cli/run.ts")»;',
    '«import "./../../checks/../cli/run.ts?x";»',
    '«import { a } from "../../attic/a.ts";»',
    '«import "../../../main.ts";»',
    "await «import(name)»;",
  ]],
  ["layers-import-downwards", "src/domain/a.ts", [
    '«import a from "../../deno.json" with { type: "json" };»',
  ]],
  ["layers-import-downwards", "src/cli/commands/check.ts", [
    'import "../../scheduler/a.ts"; import "../run.ts"; import "../../checks/registry.ts";',
    '«import "../../system/a.ts";»',
    '«import "../../../main.ts";»',
  ]],
  ["layers-import-downwards", "main.ts", [
    'import "./src/cli/run.ts"; import "./src/scheduler/run_checks.ts"; import "./src/system/deno_system.ts";',
    'await import("./program.ts");',
    '«import "./scripts/compile.ts";»',
  ]],
  ["layers-import-downwards", "program.ts", [
    'import "./src/cli/run.ts"; import "./src/system/deno_system.ts";',
    '«import "./scripts/compile.ts";»',
  ]],
  ["layers-import-downwards", "tests/cli/run_test.ts", [
    'import "../../src/cli/run.ts"; import "../fakes.ts"; await import(name); import "node:path";',
    '«import { a } from "../../main.ts";»',
    '«import { runProgram } from "../../program.ts";»',
    'import "../life/program.ts";',
    'import "./main.ts";',
  ]],
  ["layers-import-downwards", "scripts/soak/memory.ts", [
    '«import "../../tests/support/tools.ts";»',
    'import "../../testing/tools.ts";',
  ]],
  ["one-place-per-kind", "src/cli/example.ts", [
    'switch («check.kind») { case "script": break; case "test": break; }',
    'switch («check["kind"]») {}',
    'if («check.kind === "script"») f();',
    'const names = [«"file_timestamp"», "test"];',
    "const name = «`desktop_notification`»;",
    'const table = { «"script"»: 1, «http_request»: 2, test: 3 };',
    'let a: CheckKindEntry<"script">; type B = Extract<Check, { kind: "http_request" }>; interface C { http_request: 1 }',
    'facts.kind === "file"; switch (token.type) {} switch (facts.kindly) {}',
    'const text = "an http_request check"; const path = "./script.ts";',
    "const o = { script: 1 }; o.script;",
  ]],
  ["exit-in-main", "src/system/example.ts", [
    "«Deno.exit»(1);",
    "«process.exit»(1);",
    "«Deno.exitCode» = 1;",
    "f(Deno.exitCode); const code = Deno.exitCode;",
    "child.exit(); state.exitCode = 1; f(options.Deno.exit);",
  ]],
  ["children-in-tools", "tests/checks/example_test.ts", [
    'new «Deno.Command»("sh").spawn();',
    '«import { spawn } from "node:child_process";»',
    'const o: Deno.CommandOptions = {}; import type { X } from "node:child_process";',
    "const Deno = { Command: Object }; new Deno.Command();",
  ]],
];

for (const [rule, file, codes] of RULES) {
  Deno.test(`${rule} marks exactly what it rejects in ${file}`, async (t) => {
    for (const code of codes) {
      await t.step(code, () => strictEqual(mark(rule, file, code.replaceAll(/[«»]/g, "")), code));
    }
  });
}

/** The same code, which a rule accepts in some files and rejects in others. */
const PLACES: readonly (readonly [rule: string, code: string, accepted: string, rejected: string])[] = [
  [
    "no-ambient",
    "Deno.cwd();",
    "src/system/files.ts main.ts scripts/compile.ts tests/checks/example_test.ts examples/server.ts bench/run.ts",
    "src/scheduler/run_checks.ts src/cli/check.ts src/systems.ts src/main.ts src/cli/scripts/run.ts",
  ],
  [
    "no-ambient",
    'import { DatabaseSync } from "node:sqlite";',
    "src/state/sqlite/sqlite_store.ts src/system/deno_system.ts",
    "src/checks/a.ts",
  ],
  [
    "layers-import-downwards",
    'import "node:path";',
    "src/shared/a.ts src/config/a.ts src/checks/a.ts src/channels/a.ts src/state/a.ts src/system/a.ts src/engine/a.ts src/scheduler/a.ts src/cli/a.ts main.ts",
    "src/domain/a.ts src/condition/a.ts src/members/a.ts",
  ],
  ["layers-import-downwards", "export {};", "src/domain/a.ts", "src/attic/a.ts src/a.ts"],
  [
    "one-place-per-kind",
    'const name = "script";',
    "src/domain/check.ts src/checks/registry.ts src/channels/registry.ts src/checks/script.ts src/checks/script/output.ts src/import/gatus.ts tests/checks/script_test.ts scripts/generate.ts",
    "src/checks/http_request.ts src/cli/script.ts src/config/resolve.ts",
  ],
  [
    "one-place-per-kind",
    'f(check.kind === "script");',
    "src/domain/check.ts tests/checks/script_test.ts",
    "src/checks/registry.ts src/checks/script.ts src/import/gatus.ts",
  ],
  [
    "names",
    "export {};",
    "src/domain/check.ts src/checks/file_timestamp.ts tests/checks/file_timestamp_test.ts tests/cli/tap_14_test.ts main.ts src/checks/mod.ts src/config/generated.d.ts src/domain/common_name.ts",
    "src/checks/file-timestamp.ts src/checks/fileTimestamp.ts src/domain/Check.ts tests/checks/script.test.ts src/domain/check__kind.ts src/domain/_check.ts src/checks/index.ts src/cli/utils.ts tests/helpers.ts src/cli/common.ts scripts/misc.ts tests/cli/utils_test.ts",
  ],
  [
    "exit-in-main",
    "Deno.exit(1);",
    "main.ts scripts/compile.ts tests/specs/run.ts examples/server.ts bench/run.ts",
    "src/system/process/processes.ts src/cli/run.ts",
  ],
  [
    "children-in-tools",
    'new Deno.Command("sh");',
    "testing/tools.ts tests/executable/attempts.ts scripts/test.ts src/system/process/processes.ts",
    "tests/checks/script_test.ts tests/support/promtool.ts",
  ],
];

for (const [rule, code, accepted, rejected] of PLACES) {
  Deno.test(`${rule} goes by the file's place for ${code}`, () => {
    const isAccepted = (file: string) => find(rule, file, code).length === 0;
    strictEqual(`${accepted} ${rejected}`.split(" ").filter(isAccepted).join(" "), accepted);
  });
}

function find(rule: string, file: string, code: string): readonly Deno.lint.Diagnostic[] {
  return Deno.lint.runPlugin(plugin, join(PROJECT, file), code).filter(({ id }) => id === `monitor/${rule}`);
}

function mark(rule: string, file: string, code: string): string {
  const ranges = find(rule, file, code).map(({ range }) => range).sort((one, other) => other[0] - one[0]);
  return ranges.reduce(
    (text, [from, to]) => `${text.slice(0, from)}«${text.slice(from, to)}»${text.slice(to)}`,
    code,
  );
}
