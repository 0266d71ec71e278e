/** `monitor import` over a config of each tool, written after the documentation of the tool. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { run } from "../../src/cli/run.ts";
import { IMPORTED_TOOLS } from "../../src/cli/commands/import.ts";
import { createMemorySystem, type MemorySystem } from "../../testing/memory_system.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { requiresTools } from "../../testing/tools.ts";

const DATA = new URL("testdata/", import.meta.url);

interface Ended {
  readonly code: number;
  readonly system: MemorySystem;
}

async function runHere(args: readonly string[], stdin = ""): Promise<Ended> {
  const system = createMemorySystem({ stdin, workingDirectory: fileURLToPath(DATA) });
  return { code: await run(args, system), system };
}

/** The files of a tool, each with the config that is expected of it: `a.yaml` and `a.jsonc`. */
function fixturesOf(tool: string): readonly { readonly file: string; readonly expected: string }[] {
  const names = [...Deno.readDirSync(new URL(`${tool}/`, DATA))].filter(({ isFile }) => isFile)
    .map(({ name }) => `${tool}/${name}`);
  return names.filter((name) => !name.endsWith(".jsonc"))
    .map((file) => ({ file, expected: file.replace(/\.\w+$/, ".jsonc") }));
}

for (const tool of IMPORTED_TOOLS) {
  Deno.test(`import ${tool}: the config is the expected one, valid, and without secrets of the source`, async () => {
    const fixtures = fixturesOf(tool);
    assert.notEqual(fixtures.length, 0);
    for (const { file, expected } of fixtures) {
      const { code, system } = await runHere(["import", tool, file]);
      assert.equal(code, 0, system.stderr.text());
      const config = system.stdout.text();
      assert.equal(config, await Deno.readTextFile(new URL(expected, DATA)), `of ${file}`);
      assert.match(await Deno.readTextFile(new URL(file, DATA)), /s3cret/i);
      assert.doesNotMatch(config + system.stderr.text(), /s3cret/i);
      const validated = await runHere(["validate", "-c", "-", "--without-secrets"], config);
      assert.equal(validated.code, 0, validated.system.stderr.text());
    }
  });
}

Deno.test("import: settings that the schema rejects are dropped and listed, and the rest stays valid", async () => {
  const endpoints = ["[BODY] == pat(*ok*)", `[BODY] == ${"x".repeat(2000)}`].map((condition, index) => ({
    name: `e${index}`,
    url: "https://example.org/",
    conditions: [condition],
  }));
  const source = JSON.stringify({ endpoints });
  const { code, system } = await runHere(["import", "gatus", "-", "--format", "json"], source);
  assert.equal(code, 0);
  const { config, not_imported } = JSON.parse(system.stdout.text());
  assert.deepEqual(Object.keys(config.checks), ["e0"]);
  assert.equal(not_imported[0].item, 'check "e1"');
  assert.match(not_imported[0].reason, /^parameters\.response\.body_pattern: .*at most 1000 are accepted$/);
});

Deno.test("import uptime-kuma: the database results in the same checks as a backup", async () => {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const path = `${directory}/kuma.db`;
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE monitor (id, name, type, active, interval, retry_interval, maxretries, url, accepted_statuscodes_json,
      upside_down, ignore_tls, parent, basic_auth_user, basic_auth_pass);
    INSERT INTO monitor VALUES (1, 'All', 'group', 1, 60, 0, 0, NULL, '[]', 0, 0, NULL, NULL, NULL),
      (2, 'Shop', 'http', 1, 120, 20, 2, 'https://example.org/', '["200-299","404"]', 0, 1, 1, 'kuma', 's3cret'),
      (3, 'Closed', 'http', 1, 120, 20, 2, 'https://example.org/', '["200-299"]', 1, 0, 1, NULL, NULL);
    CREATE TABLE notification (id, name, active, config);
    INSERT INTO notification VALUES (7, 'Chat', 1, '{"type": "slack", "slackwebhookURL": "https://s3cret.example.org"}');
    CREATE TABLE monitor_notification (id, monitor_id, notification_id);
    INSERT INTO monitor_notification VALUES (1, 2, 7);
    CREATE TABLE tag (id, name);
    INSERT INTO tag VALUES (5, 'team');
    CREATE TABLE monitor_tag (id, monitor_id, tag_id, value);
    INSERT INTO monitor_tag VALUES (1, 2, 5, 'web');
    CREATE TABLE maintenance (id);
    INSERT INTO maintenance VALUES (1);`);
  database.close();
  const { code, system } = await runHere(["import", "uptime-kuma", path, "--format", "json"]);
  assert.equal(code, 0, system.stderr.text());
  assert.doesNotMatch(system.stdout.text(), /s3cret/);
  const { config, not_imported } = JSON.parse(system.stdout.text());
  assert.deepEqual(config.checks.all.parameters, { checks: ["shop", "closed"] });
  assert.equal(config.checks.closed.invert, true);
  assert.deepEqual(config.checks.shop, {
    title: "Shop",
    kind: "http_request",
    tags: ["team:web"],
    threshold: 3,
    recovery_threshold: 1,
    schedule: { regular_interval: "2 minutes", attentive_interval: "20 seconds" },
    notifications: ["chat"],
    parameters: {
      request: { target: "https://${env:SHOP_LOGIN}@example.org/", tls: { verify: false } },
      response: { status_code: ["2xx", 404] },
    },
  });
  const left = not_imported.map(({ item, key }: { item: string; key: string | null }) => [item, key]);
  assert.deepEqual(left, [["maintenance", null]]);
  assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name), ["kuma.db"]);
  const large = new DatabaseSync(path);
  large.exec(
    "PRAGMA journal_mode = MEMORY; UPDATE monitor SET url = zeroblob(33 * 1024 * 1024) WHERE id = 2",
  );
  large.close();
  const tooLarge = await runHere(["import", "uptime-kuma", path]);
  assert.equal(tooLarge.code, 78);
  assert.match(tooLarge.system.stderr.text(), /its tables have more than 32 MiB/);
  await Deno.writeTextFile(path, "no database at all, but long enough to be one");
  const damaged = await runHere(["import", "uptime-kuma", path]);
  assert.equal(damaged.code, 78);
  assert.match(damaged.system.stderr.text(), /file is not a database/);
});

Deno.test("import gatus: the sample of the guide becomes the config that it shows", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/guides/migrate_from_gatus.md", import.meta.url));
  const sample = (language: string): string =>
    new RegExp("^```" + language + "\\n(.*?)^```", "ms").exec(page)?.[1] ?? assert.fail(language);
  const { code, system } = await runHere(["import", "gatus", "-", "--format", "json"], sample("yaml"));
  assert.equal(code, 0, system.stderr.text());
  assert.deepEqual(JSON.parse(system.stdout.text()).config, JSON.parse(sample("jsonc")));
});

const LEVELS = 20_000;
const BOMB = `a: &a [${"x,".repeat(9)}x]\n` +
  [..."bcdefgh"].map((name, index) => `${name}: &${name} [${`*${"abcdefg"[index]},`.repeat(9)}x]\n`).join("");

const hosts = (count: number): string =>
  Array.from({ length: count }, (_, index) => `define host{\nhost_name h${index}\n}\n`).join("");
const command = (line: string): string =>
  `define command{\ncommand_name c\ncommand_line /bin/true ${line}\n}\n`;
const service = (check: string): string =>
  `define service{\nhost_name *\nservice_description s\ncheck_command ${check}\n}\n`;

/** Malformed files. */
const MALFORMED: Readonly<Record<string, readonly [tool: string, text: string, error: RegExp]>> = {
  "a YAML bomb": ["gatus", BOMB, /its aliases make more than 500000 values of it/],
  "deep nesting": [
    "gatus",
    "[".repeat(LEVELS) + "]".repeat(LEVELS),
    /it is nested more than 200 levels deep/,
  ],
  "a host group on too many hosts": [
    "nagios",
    command("") + hosts(200) + service("c").repeat(101),
    /it makes more than 20000 checks/,
  ],
  "long arguments on many hosts": [
    "nagios",
    command("$ARG1$".repeat(6)) + hosts(1200) + service(`c!${"x".repeat(10_000)}`),
    /its config would be too large/,
  ],
  "a large file": ["gatus", " ".repeat(8 * 1024 * 1024 + 1), /it has more than 8388608 bytes/],
};

for (const [name, [tool, text, error]] of Object.entries(MALFORMED)) {
  const options = name.endsWith("many hosts") ? requiresTools("time") : {};
  Deno.test(`import: ${name} is an error`, options, async () => {
    const { code, system } = await runHere(["import", tool, "-"], text);
    assert.match(system.stderr.text(), error);
    assert.deepEqual([code, system.stdout.text()], [78, ""]);
  });
}

Deno.test("import: a Nagios command that repeats a long argument is dropped", async () => {
  const text = `${command("$ARG1$".repeat(100))}` +
    `define host{\nhost_name h\ncheck_command c!${"x".repeat(10_000)}\n}\n`;
  const ended = await runHere(["import", "nagios", "-"], text);
  assert.equal(ended.code, 1, "nothing is left");
  assert.match(ended.system.stdout.text(), /host "h": what follows 65536 characters of macros/);
});
