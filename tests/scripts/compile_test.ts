import { Invocation } from "../../src/cli/command_definition.ts";
import assert from "node:assert/strict";
import {
  compileAll,
  GENERAL_PERMISSIONS,
  readTargets,
  refuseComputedImports,
  TARGETS,
} from "../../scripts/compile.ts";
import { openNewChecks, readAllOperands } from "../../src/cli/new_checks/read_operands.ts";
import { openSchema } from "../../src/config/schemas.ts";
import { requiredPermissionsOf } from "../../src/permissions/required_permissions.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { testRows } from "../support/rows.ts";
import { tempDirectory } from "../../testing/builders.ts";

const OWN_TARGET = TARGETS.find((target) => target === Deno.build.target) ?? TARGETS[0];
const FOREIGN_TARGET = TARGETS.find((target) => target !== OWN_TARGET) ?? TARGETS[1] ?? TARGETS[0];

Deno.test("readTargets() accepts nothing for this machine, names, and all", () => {
  assert.deepStrictEqual(readTargets([], undefined), [null]);
  assert.deepStrictEqual(readTargets(["--target", FOREIGN_TARGET], undefined), [FOREIGN_TARGET]);
  assert.deepStrictEqual(readTargets(["--all"], undefined), TARGETS);
  assert.deepStrictEqual(readTargets(["--target", OWN_TARGET], "/base"), [OWN_TARGET]);
  assert.throws(
    () => readTargets(["--target", "sparc"], undefined),
    /--target is "sparc", expected one of x86_64/,
  );
});

Deno.test("readTargets() rejects a base executable for another machine's target, and skips that in all", () => {
  assert.throws(
    () => readTargets(["--target", FOREIGN_TARGET], "/base"),
    /^Error: DENORT_BIN is "\/base", which Deno would use for "/,
  );
  assert.deepStrictEqual(readTargets(["--all"], "/base"), [Deno.build.target]);
});

Deno.test("compileAll() skips the targets whose base executable cannot be downloaded, with a warning", async () => {
  const made: unknown[] = [];
  const warnings = await compileAll(TARGETS, (target) => {
    if (target !== Deno.build.target) return Promise.reject(new Error("no such file on the server"));
    made.push(target);
    return Promise.resolve();
  });
  assert.deepStrictEqual(made, [Deno.build.target]);
  assert.strictEqual(warnings.length, TARGETS.length - 1);
  assert.match(warnings[0] ?? "", /^skipped [\w-]+: its base executable cannot be downloaded$/);
  await assert.rejects(
    () => compileAll(TARGETS, () => Promise.reject(new Error("no network"))),
    /^Error: Cannot build: no base executable can be downloaded$/,
  );
});

Deno.test("refuseComputedImports() accepts modules of the bundle and of Node, and rejects any other import", async (t) => {
  const plain =
    `const { a } = await import("./chunk.js");\nimport('./b.js');\nimport("node:fs");\nimport.meta.url;`;
  const rows: Readonly<Record<string, string>> = {
    "a variable": "await import(name);",
    "a template": "import(`./${name}.js`);",
    "a sum that begins like a module of the bundle": 'import("./" + name);',
    "an address": 'import("https://example.org/a.js");',
    "a package": 'import("npm:ajv");',
  };
  await testRows(t, rows, async (text) => {
    await using directory = await tempDirectory({ "main.js": plain });
    await refuseComputedImports(directory.path);
    await Deno.writeTextFile(`${directory.path}/other.js`, `${plain}\n${text}\n`);
    await assert.rejects(
      refuseComputedImports(directory.path),
      (error: Error) =>
        error.message.startsWith("Cannot build: other.js imports by a computed name: import(") &&
        text.includes(error.message.slice(error.message.indexOf("import("))),
    );
  });
});

/** A check of each kind, as `monitor add` reads them; that of a rehearsal needs a channel of the config. */
const OF_EACH_KIND =
  "test script /bin/true file_timestamp /x file /x log /x http_request https://localhost/ tcp_connect localhost:1 "
    .concat(
      "tls_certificate localhost disk_space / memory load network_interface x process x systemd_unit x dns_lookup x ping x domain_expiry x.org container x websocket ws://x/ ntp x grpc_health x:1 postgres_query postgres://h redis_command redis://h mysql_query mysql://h",
    )
    .split(" ")
    .concat("job", "1 d", "group", "test");

Deno.test("the general executable grants every system permission that a kind requires", async () => {
  const system = createMemorySystem();
  const read = await readAllOperands(OF_EACH_KIND, system);
  const { reader } = await openSchema("monitor");
  const all = reader.at({ checks: { x: {} } }, ["checks", "x", "kind"])?.enum ?? [];
  // They need channels or an agent, and nothing here.
  const kinds = all.filter((kind) => kind !== "rehearsal" && kind !== "reported");
  assert.deepStrictEqual(read.map(({ kind }) => kind).sort(), [...kinds].sort());
  const named = read.map((check, index) => ({ ...check, name: index === 0 ? "test" : `check ${index}` }));
  const invocation = new Invocation({});
  const { checks } = await openNewChecks(named, { invocation, system });
  const required = await requiredPermissionsOf({ checks, heartbeat: null, notifies: false }, system);
  const facts = required.filter(({ permission }) => permission === "sys").map(({ value }) => value);
  assert.deepStrictEqual(facts.toSorted(), ["loadavg", "statfs", "systemMemoryInfo"]);
  const granted = GENERAL_PERMISSIONS.find((flag) => flag.startsWith("--allow-sys="))?.split(/[=,]/) ?? [];
  assert.deepStrictEqual(facts.filter((fact) => !granted.includes(fact)), []);
});
