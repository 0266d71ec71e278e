import assert from "node:assert/strict";
import { expandReadyMade } from "../../src/config/ready_made_channels.ts";
import { resolveChecks } from "../../src/config/resolve.ts";
import { createSchemaReader, isObject, type Schema } from "../../src/config/schema_view.ts";
import { parseText } from "../../src/config/syntax.ts";
import { requiresTools, runChild } from "../../testing/tools.ts";

const PROJECT = new URL("../../", import.meta.url);
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

Deno.test(
  "checks are of the generated types, written and resolved, with all keys and with the required ones",
  requiresTools("time"),
  async () => {
    const { check = {}, channel = {} } = SCHEMA.$defs ?? {};
    const kinds = kindsOf(check);
    assert.ok(kinds.length > 10);
    const notifications = kindsOf(channel).flatMap((kind) => {
      const full = exampleOf(channel, { kind }, true) as object;
      const parameters = READER.view(channel, { kind }).keys.get("parameters") ?? {};
      return [{ ...full, kind }, { kind, parameters: exampleOf(parameters, {}, false) }];
    });
    const written = kinds.flatMap((kind) =>
      [true, false].map((isFull) => [
        `${kind} ${isFull}`,
        { ...exampleOf(check, { kind }, isFull) as object, kind, ...isFull && { notifications } },
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
