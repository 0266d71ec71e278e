import assert from "node:assert/strict";
import { generate } from "../../scripts/generate.ts";
import { messagePage } from "../../scripts/message_page.ts";
import { runFirstMinute, withFirstMinute } from "../../scripts/first_minute.ts";
import { manPage } from "../../scripts/man_page.ts";
import { loadCommands } from "../../src/cli/command_loaders.ts";
import { EXIT } from "../../src/cli/command_definition.ts";
import { type ChildEnd, runChild, testWith, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { expandReadyMade } from "../../src/config/ready_made_channels.ts";
import { resolveChecks } from "../../src/config/resolve.ts";
import { createSchemaReader, isObject, type Schema } from "../../src/config/schema_view.ts";
import { parseText } from "../../src/config/syntax.ts";

const COMMANDS = await loadCommands();

const PROJECT = new URL("../../", import.meta.url);

Deno.test("generate() returns the committed files", async (t) => {
  const files = await generate();
  for (const [path, text] of files) {
    // Validators import only each other, and published schemas have no keywords of the source.
    if (path.endsWith(".js")) {
      assert.doesNotMatch(text, /\brequire\(|^import .* from (?!"\.\/validate_)/m, path);
    }
    if (path.endsWith(".schema.json")) assert.doesNotMatch(text, /x-shape-/, path);
  }
  for (const [path, text] of files) {
    await t.step(path, async () => {
      const kept = await Deno.readTextFile(new URL(path, PROJECT));
      assert.ok(kept === text, `${path} is out of date: run "deno task generate"`);
    });
  }
  await t.step("and no other file is committed there", () => {
    const directories = ["schemas/", "src/config/generated/", "src/domain/generated/"];
    const kept = directories.flatMap((directory) =>
      [...Deno.readDirSync(new URL(directory, PROJECT))].map(({ name }) => directory + name)
    );
    const made = [...files.keys()].filter((path) =>
      directories.some((directory) => path.startsWith(directory))
    );
    assert.deepEqual(kept.filter((path) => path !== "schemas/source.json").toSorted(), made.toSorted());
  });
});

Deno.test("docs/reference/messages.md has the requests that the program sends", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/reference/messages.md", import.meta.url));
  assert.ok(page === await messagePage(), "it is out of date: deno task generate");
});

const README = await Deno.readTextFile(new URL("../../README.md", import.meta.url));

Deno.test("README.md shows the output of the first minute", async () => {
  // Where this fails: deno run -A scripts/first_minute.ts
  assert.equal(README, withFirstMinute(README, await runFirstMinute()));
});

const DATE = "2026-01-31";

/** Returns the output of a command for the page, and its warnings. */
async function readPage(program: "man" | "mandoc", ...args: readonly string[]): Promise<ChildEnd> {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  await Deno.writeTextFile(`${directory}/monitor.1`, manPage(COMMANDS, DATE));
  return await runChild(tool(program), [...args, `${directory}/monitor.1`], {
    env: { LC_ALL: "C.UTF-8", MANWIDTH: "400", MANROFFSEQ: "" },
  });
}

testWith("man")("manPage() is shown by man without a warning, with the whole text of --help", async () => {
  const { stdout, stderr } = await readPage("man", "--warnings", "--local-file");
  assert.strictEqual(stderr, "");
  const words = stdout.replace(/‐\n\s*/g, "").replace(/\s+/g, " ").replaceAll("‐", "-");
  for (const { name, description, options, examples } of COMMANDS) {
    assert.ok(words.includes(`monitor ${name}`), name);
    assert.ok(words.includes(description.replaceAll("…", "...")), description);
    for (const option of options) {
      assert.ok(words.includes(`--${option.name}`), option.name);
      assert.ok(words.includes(option.description.replaceAll("…", "...")), option.description);
    }
    for (const [line] of examples) assert.ok(words.includes(line), line);
  }
  for (const code of Object.values(EXIT)) assert.match(words, new RegExp(`\\b${code}\\b`));
});

testWith("mandoc")("manPage() has nothing that mandoc complains of", async () => {
  const { stdout } = await readPage("mandoc", "-T", "lint", "-W", "style");
  assert.strictEqual(stdout, "");
});

const SCHEMA = JSON.parse(Deno.readTextFileSync(new URL("schemas/monitor.schema.json", PROJECT))) as Schema;
const READER = createSchemaReader(SCHEMA);

/** Keys that become something with functions, or none that a check has, unless they are required. */
const SKIPPED: readonly string[] = ["cron", "for_each", "channel"];

/** A value that a schema accepts by itself: its example, or an object of the required or of all keys. */
function exampleOf(schema: Schema, value: object, isFull: boolean): unknown {
  const { keys, required, otherKeys, enum: values, default: builtIn } = READER.view(schema, { ...value });
  if (keys.size === 0 || otherKeys !== undefined) {
    return firstOf(schema.examples) ?? builtIn ?? firstOf(values) ?? firstOf(targetOf(schema)?.examples) ??
      {};
  }
  const all = [...keys].filter(([name]) => required.includes(name) || isFull && !SKIPPED.includes(name));
  return Object.fromEntries(all.map(([name, key]) => [name, exampleOf(key, {}, isFull)]));
}

function kindsOf(schema: Schema): readonly string[] {
  return (schema.properties?.["kind"]?.enum ?? []).map(String);
}

function firstOf(values: readonly unknown[] | undefined): unknown {
  return values?.[0];
}

function targetOf({ $ref, allOf }: Schema): Schema | undefined {
  const name = ($ref ?? allOf?.find((part) => part.$ref !== undefined)?.$ref)?.slice("#/$defs/".length);
  return name === undefined ? undefined : SCHEMA.$defs?.[name];
}

testWith("time")(
  "checks are of the generated types, written and resolved, with all keys and with the required ones",
  async () => {
    const { check = {}, channel = {} } = SCHEMA.$defs ?? {};
    const kinds = kindsOf(check);
    assert.ok(kinds.length > 10);
    const notifications = kindsOf(channel).flatMap((kind) => {
      const full = exampleOf(channel, { kind }, true) as object;
      const parameters = READER.view(channel, { kind }).keys.get("parameters") ?? {};
      return [{ ...full, kind }, { kind, parameters: exampleOf(parameters, {}, false) }];
    });
    // Notifications are the same with each kind, and a megabyte if each kind has them.
    const written = kinds.flatMap((kind, index) =>
      [true, false].map((isFull) => [
        `${kind} ${isFull}`,
        {
          ...exampleOf(check, { kind }, isFull) as object,
          kind,
          ...isFull && { notifications: index === 0 ? notifications : [] },
        },
      ])
    );
    const config = parseText(JSON.stringify({ defaults: {}, checks: Object.fromEntries(written) })).value;
    assert.ok(isObject(config));
    const checks = resolveChecks(expandReadyMade(config, READER), {
      reader: READER,
      written: config,
      directory: "/etc/monitor",
      commands: new Map(),
      timeZone: () => "UTC",
      channels: new Map(),
      createCronTimes: (expression, timeZone) => ({ expression, timeZone, after: () => NaN }),
      readWindow: null,
    });
    assert.equal(checks.length, 2 * kinds.length);
    const lines = checks.map(({ jobTimes: _, ...one }, index) =>
      `export const check${index}: CheckOf<"${one.kind}"> = ${literalOf(one)};\n`
    );
    lines.push(`export const written: Config = ${literalOf(config)};\n`);
    const path = await Deno.makeTempFile({ suffix: ".ts" });
    try {
      const [types, written] = ["check.ts", "generated/written_config.ts"].map((name) =>
        new URL(`src/domain/${name}`, PROJECT).href
      );
      const imports = `import type { CheckOf } from "${types}";\nimport type { Config } from "${written}";\n`;
      await Deno.writeTextFile(path, imports + lines.join(""));
      const config = new URL("deno.json", PROJECT).pathname;
      const { code, stderr } = await runChild(Deno.execPath(), [
        "check",
        "--quiet",
        "--config",
        config,
        path,
      ]);
      assert.equal(code, 0, `${stderr}\n${lines.join("")}`);
    } finally {
      await Deno.remove(path);
    }
  },
);

/** JSON has no `Infinity`. */
function literalOf(value: unknown): string {
  return JSON.stringify(
    value,
    (_, item: unknown) => item === Infinity || item === -Infinity ? `${item}!` : item,
  )
    .replaceAll(/"(-?Infinity)!"/g, "$1");
}
