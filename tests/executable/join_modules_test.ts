/** What the modules of an executable are joined to. */
import assert from "node:assert/strict";
import { bundle } from "../../scripts/bundle.ts";
import { joinModules } from "../../scripts/join_modules.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { runChild } from "../../testing/tools.ts";

/** The modules that a run of one check may read: program, command, check, and output. */
const MODULES_MAX = 20;
/** Their bytes together, a tenth more than today. */
const BYTES_MAX = 470_000;

Deno.test("joinModules() leaves a run few modules to read, and changes nothing else", async () => {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const { main } = await bundle(`${directory}/bundle`);
  const modules = `${directory}/bundle`;
  const before = [...Deno.readDirSync(modules)].length;
  await joinModules(main);
  const names = [...Deno.readDirSync(modules)].map(({ name }) => name);
  assert.ok(names.length < before - 50, `${before} modules became ${names.length}`);
  await Deno.writeTextFile(
    `${directory}/monitor.json`,
    JSON.stringify({ defaults: {}, checks: { a: { kind: "test", parameters: { condition: "warning" } } } }),
  );
  await Deno.writeTextFile(
    `${directory}/gatus.yaml`,
    "endpoints: [{ name: a, url: 'tcp://127.0.0.1:1' }]\n",
  );
  const run = (args: readonly string[]): ReturnType<typeof runChild> =>
    runChild(
      Deno.execPath(),
      ["run", "--quiet", "--no-config", "--allow-all", `${modules}/main.js`, ...args],
      { cwd: directory },
    );
  const imported = await run(["import", "gatus", "gatus.yaml"]);
  assert.match(imported.stdout, /"kind": "tcp_connect"/, imported.stderr);

  for (const name of names) {
    const text = await Deno.readTextFile(`${modules}/${name}`);
    await Deno.writeTextFile(
      `${modules}/${name}`,
      `console.error("read ${name} ${text.length}");${text}`,
    );
  }
  const { code, stdout, stderr } = await run(["check", "--once", "--state", "none"]);
  assert.strictEqual(code, 1, stderr);
  assert.match(stdout, /^WARNING/);
  const read = [...stderr.matchAll(/^read (\S+) (\d+)$/gm)];
  const bytes = read.reduce((sum, [, , length]) => sum + Number(length), 0);
  assert.ok(
    read.length <= MODULES_MAX,
    `${read.length} modules are read: ${read.map(([, name]) => name)}`,
  );
  assert.ok(bytes <= BYTES_MAX, `${bytes} bytes are read`);
});
