/**
 * Every key of a config has an example in the schema, and a config with it is valid. Other required keys of such a
 * config come from their own examples.
 */
import assert from "node:assert/strict";
import { problemsOf } from "../../testing/config_system.ts";
import type { Schema } from "../../src/config/schema_view.ts";
import type { JsonObject, JsonValue } from "../../src/config/syntax.ts";
import { PROJECT } from "./pages.ts";

const FILTERS: readonly string[] = ["checks", "conditions", "events", "after", "hours", "outside_hours"];

const ROUTER = { kind: "test", parameters: {} };
/** Checks that examples of `depends_on` name. */
const ROUTERS = { router: ROUTER, "router-a": ROUTER, "router-b": ROUTER };

/** Further keys that a key depends on without requiring them. */
const COMPANIONS: Readonly<Record<string, JsonObject>> = {
  "schedule.time_zone": { cron: "@daily" },
  "schedule.attentive_interval": { regular_interval: 300 },
  "request.body": { method: "POST" },
  "listen.actions": { token: "${env:MONITOR_TOKEN}" },
  "tls.certificate": { key: "client.key" },
  "tls.key": { certificate: "client.pem" },
  ...windowsWith(["from", "to", "days", "days_of_month", "months", "time_zone", "reason"], {
    from: "22:00",
    to: "06:00",
  }),
  ...windowsWith(["until"], { from: "2026-12-24T18:00" }),
  ...windowsWith(["cron", "duration"], { cron: "0 2 * * *", duration: "2 hours" }),
  "heartbeat.interval": { path: "alive" },
  "agents.key": { checks: ["nas-*"] },
  "agents.silent_after": { checks: ["nas-*"] },
  ".agents": { checks: { "nas-disk": { kind: "reported", parameters: {}, tags: ["home"] } } },
  "notifications.kind": { parameters: {} },
  "notifications.parameters": { kind: "console" },
  "notifications.at_most": { kind: "console", parameters: {} },
  "notifications.common_causes": { kind: "console", parameters: {} },
  "notifications.group": { kind: "console", parameters: {} },
  "notifications.fallback": { kind: "console", parameters: {} },
  ...Object.fromEntries(
    FILTERS.map((name) => [`notifications.${name}`, { channel: "pager" }]),
  ),
};

function windowsWith(keys: readonly string[], companions: JsonObject): Readonly<Record<string, JsonObject>> {
  return Object.fromEntries(
    ["maintenance_windows", "hours"].flatMap((list) => keys.map((key) => [`${list}.${key}`, companions])),
  );
}

const SHAPES = { monitor: "monitor", shape_a: "a", shape_b: "b" } as const;

for (const [name, shape] of Object.entries(SHAPES)) {
  Deno.test(`every key in schemas/${name}.schema.json has examples that a config accepts`, async () => {
    const root = JSON.parse(Deno.readTextFileSync(`${PROJECT}schemas/${name}.schema.json`)) as Schema;
    const found = [...examplesOf(root)];
    assert.deepEqual(found.filter(({ config }) => config === null).map(({ path }) => path), []);
    for (const config of joined(found)) {
      const problems = await problemsOf(config, { shape, withoutSecrets: true });
      assert.deepEqual(problems, [], JSON.stringify(config, null, 1));
    }
    assert.ok(found.length > 30);
    if (name !== "monitor") return;
    const page = Deno.readTextFileSync(`${PROJECT}docs/reference/config.md`);
    const rows = new Set([...page.matchAll(/^\| `(?:[^`]*\.)?([\w$]+)` +\|/gm)].map(([, key]) => key));
    assert.deepEqual(
      found.filter(({ path }) => !rows.has(path.split(".").at(-1))).map(({ path }) => path),
      [],
    );
  });
}

/** Joins configs that differ in a check to one with all these checks. */
function joined(examples: readonly Example[]): readonly JsonObject[] {
  const alike = Map.groupBy(examples, ({ config }) => JSON.stringify({ ...config, checks: {} }));
  return [...alike.values()].map((some) => ({
    ...some[0]?.config,
    checks: Object.fromEntries(
      some.flatMap(({ path, config }, index) =>
        Object.entries(config?.["checks"] as JsonObject).map(([name, check]) => [
          index === 0 || Object.hasOwn(ROUTERS, name) ? name : `${path} ${index} ${name}`,
          check,
        ])
      ),
    ),
  }));
}

/** An example of one member in a whole config; `null` where a member has none. */
interface Example {
  readonly path: string;
  readonly config: JsonObject | null;
}

function examplesOf(root: Schema): Iterable<Example> {
  const open = new Set<Schema>();
  const lookUp = (schema: Schema): Schema => {
    const definition = root.$defs?.[schema.$ref?.replace("#/$defs/", "") ?? ""];
    return { ...definition, ...schema };
  };
  function* visit(schema: Schema, path: string, wrap: (value: JsonObject) => JsonObject): Iterable<Example> {
    const keySchemas = Object.entries(schema.properties ?? {});
    const required = Object.fromEntries(
      keySchemas.filter(([name]) => schema.required?.includes(name)).map((
        [name, keySchema],
      ) => [name, lookUp(keySchema).examples?.[0] ?? null]),
    );
    for (const [name, keySchema] of keySchemas) {
      const own = lookUp(keySchema);
      const short = `${path.split(".").at(-1)}.${name}`;
      const place = (value: JsonValue): JsonObject =>
        wrap({ ...required, ...COMPANIONS[short], [name]: value });
      const keyPath = `${path}.${name}`;
      // A channel with a name is no use of another one.
      if (short === "channels.channel") continue;
      // Filters are about single notifications.
      if (path.endsWith("summary.notifications") && FILTERS.includes(name)) continue;
      if ((own.examples ?? []).length === 0) yield { path: keyPath, config: null };
      for (const example of own.examples ?? []) yield { path: keyPath, config: place(example) };
      yield* visitWithin(own, keyPath, place);
    }
    for (const branch of schema.allOf ?? []) {
      const kind = String(branch.if?.properties?.["kind"]?.const);
      const parameters = lookUp(branch.then?.properties?.["parameters"] ?? {});
      yield* visit(parameters, kind, (value) => wrap({ kind, parameters: value }));
    }
  }
  /** Keys of keys: in an object, in the objects of a list, and under free names. */
  function* visitWithin(
    schema: Schema,
    path: string,
    place: (value: JsonValue) => JsonObject,
  ): Iterable<Example> {
    const { properties, items, additionalProperties: free } = schema;
    if (properties !== undefined) yield* visit(schema, path, place);
    if (items !== undefined && !open.has(items)) {
      open.add(items);
      yield* visit(lookUp(items), path, (value) => place([value]));
    }
    if (typeof free === "object") {
      const key = { checks: "a ${each:host} ${each:port}", json: "$.status" }[path.split(".").at(-1) ?? ""] ??
        "a";
      yield* visit(lookUp(free), path, (value) => place({ [key]: value }));
    }
  }
  const pager = { kind: "console", parameters: {} };
  // A rehearsal needs them, and examples of `notifications` name the channel above.
  const linked = { listen: { address: "127.0.0.1:9797" }, page: { url: "https://status.example.org/" } };
  const hasNames = root.properties !== undefined && "channels" in root.properties;
  return visit(root, "", (config) => ({
    defaults: {},
    ...hasNames && linked,
    ...config,
    ...hasNames && { channels: { pager, ...config["channels"] as JsonObject } },
    checks: { ...ROUTERS, ...config["checks"] as JsonObject },
  }));
}
