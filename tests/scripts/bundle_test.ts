import assert from "node:assert/strict";
import { bundle } from "../../scripts/bundle.ts";
import { joinModules } from "../../scripts/join_modules.ts";
import { keptLicenses, readLicenses } from "../../scripts/licenses.ts";
import { requiresTools, runChild } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";

Deno.test(
  "bundle() does not depend on its directory, and the licenses are those of the bundled packages",
  requiresTools("time"),
  async () => {
    await using directory = await tempDirectory();
    const { sources } = await bundle(`${directory.path}/one`);
    for (const { name } of Deno.readDirSync(`${directory.path}/one`)) {
      const path = `${directory.path}/one/${name}`;
      assert.doesNotMatch(name, /-[0-9A-Z]{8}\.js$/, "a hash that hangs on where the packages lie");
      assert.ok(!(await Deno.readTextFile(path)).includes(directory.path), `${name} names the directory`);
      assert.strictEqual((await Deno.stat(path)).mtime?.getTime(), 0);
    }
    const licenses = await readLicenses(sources);
    assert.deepStrictEqual(await keptLicenses(), licenses, 'they are out of date: run "deno task licenses"');
    const names = licenses.packages.map(({ name }) => name);
    assert.ok(names.includes("jsonc-parser") && names.includes("nodemailer"));
    assert.ok(names.includes("iregexp-check"), "json-p3 has it in its only file");
    assert.ok(!names.includes("fast-check"), "what only tests use is not in it");
    for (const { name, text } of licenses.packages) assert.match(text, /copyright/i, name);
  },
);

/** The modules that a run of one check may read: program, command, check, and output. */
const MODULES_MAX = 20;
/** Their bytes together, a tenth more than today. */
const BYTES_MAX = 470_000;

Deno.test(
  "joinModules() leaves a run few modules to read, and changes nothing else",
  requiresTools("time"),
  async () => {
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
  },
);
