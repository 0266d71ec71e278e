import assert from "node:assert/strict";
import { loadConfig, type LoadedConfig, type LoadOptions } from "../../src/config/load.ts";
import type { ConfigError, PlacedProblem } from "../../src/config/problem.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { INCLUDE_DEPTH_MAX, INCLUDED_FILES_MAX } from "../../src/config/config_file.ts";
import { makePipe } from "../support/make_pipe.ts";
import { createMemorySystem, type MemorySystemOptions } from "../../testing/memory_system.ts";
import { createConfigSystem, describe, errorOf, load as loadText } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";

type Options = MemorySystemOptions & LoadOptions & { config?: string };

/** Loads configs in a directory, and returns their problems as `file:line:column path: message (hint)`. */
function harnessIn(directory: string) {
  const load = ({ config = "monitor.jsonc", withoutSecrets = false, ...options }: Options = {}) =>
    loadConfig(
      { path: config, named: true },
      createMemorySystem({ workingDirectory: directory, ...options }),
      { withoutSecrets },
    );
  const show = (problem: PlacedProblem): string =>
    `${problem.source?.label ?? "monitor.jsonc"}:${problem.line}:${problem.column} ${describe(problem)}`;
  return {
    directory,
    load,
    problems: async () => (await errorOf(load())).problems.map(show),
    warnings: async () => {
      const { warnings, placed } = await load();
      return placed(warnings).map(show);
    },
  };
}

/** Writes files into a new directory; a value that is no text is written as JSON. */
async function withFiles(
  files: Readonly<Record<string, unknown>>,
  use: (harness: ReturnType<typeof harnessIn>) => Promise<void>,
): Promise<void> {
  await using temporary = await tempDirectory();
  const directory = await Deno.realPath(temporary.path);
  for (const [name, content] of Object.entries(files)) {
    const path = `${directory}/${name}`;
    Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    Deno.writeTextFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  }
  await use(harnessIn(directory));
}

const CHECK = { kind: "test", parameters: {} };
const fileCheck = (path: string) => ({ kind: "file_timestamp", parameters: { path } });
const including = (include: unknown, checks: object = {}) => ({ include, defaults: {}, checks });
const holding = (...names: readonly string[]) => ({
  checks: Object.fromEntries(names.map((name) => [name, CHECK])),
});
const namesOf = ({ checks }: LoadedConfig) => checks.map((check) => check.name);

Deno.test("loadConfig() appends the checks of included files to the config's own", async (t) => {
  const files = {
    "conf.d/b.jsonc":
      '{ "checks": { "b": { "kind": "test", "parameters": {} }, "7": { "kind": "test", "parameters": {} } } }',
    "conf.d/a.jsonc": holding("a"),
    "conf.d/c.json": holding("c"),
    "conf.d/.hidden.jsonc": holding("hidden"),
    "conf.d/a.jsonc~": "no config",
    "conf.d/directory.jsonc/x.jsonc": holding("deeper"),
    "more.jsonc": holding("more"),
  };
  const rows: Readonly<Record<string, readonly [include: unknown, names: readonly string[]]>> = {
    "a list of paths, in its order": [["more.jsonc", "conf.d/b.jsonc"], ["more", "b", "7"]],
    "a pattern, sorted by name": ["conf.d/*.jsonc", ["a", "b", "7"]],
    "a directory, its .json and .jsonc files sorted by name": ["conf.d", ["a", "b", "7", "c"]],
    "a directory with a slash": ["./conf.d/", ["a", "b", "7", "c"]],
    "the directory of the config, without the config": [".", ["more"]],
    "a pattern for directories": ["conf.d/*/x.jsonc", ["deeper"]],
    "a file that is reached twice counts once": [["more.jsonc", "mor?.jsonc", "./conf.d/../more.jsonc"], [
      "more",
    ]],
    "a pattern that matches the config too": ["*.jsonc", ["more"]],
  };
  await testRows(t, rows, async ([include, names]) => {
    await withFiles({ ...files, "monitor.jsonc": including(include, { own: CHECK }) }, async (harness) => {
      const loaded = await harness.load();
      assert.deepEqual(namesOf(loaded), ["own", ...names]);
      assert.equal(loaded.sources[0], loaded.source);
    });
  });
  await t.step("an absolute path, and an absolute pattern", async () => {
    await withFiles(files, async ({ directory, load }) => {
      const include = [`${directory}/more.jsonc`, `${directory}/conf.d/*.jsonc`];
      await Deno.writeTextFile(`${directory}/monitor.jsonc`, JSON.stringify(including(include)));
      const loaded = await load();
      assert.deepEqual(namesOf(loaded), ["more", "a", "b", "7"]);
      assert.deepEqual(loaded.sources.map(({ label }) => label), [
        "monitor.jsonc",
        `${directory}/more.jsonc`,
        `${directory}/conf.d/a.jsonc`,
        `${directory}/conf.d/b.jsonc`,
      ]);
      assert.deepEqual(loaded.listedDirectories, [`${directory}/conf.d`]);
    });
  });
});

Deno.test("loadConfig() resolves the includes of included files from their own directory", async () => {
  const files = {
    "monitor.jsonc": including("sites/all.jsonc"),
    "sites/all.jsonc": { include: ["berlin/*.jsonc", "../common.jsonc"], ...holding("all") },
    "sites/berlin/web.jsonc": { ...holding("web"), include: "../../common.jsonc" },
    "common.jsonc": holding("common"),
  };
  await withFiles(files, async ({ directory, load }) => {
    const loaded = await load();
    assert.deepEqual(namesOf(loaded), ["all", "web", "common"]);
    assert.deepEqual(loaded.sources.map(({ label, path }) => [label, path?.slice(directory.length)]), [
      ["monitor.jsonc", "/monitor.jsonc"],
      ["sites/all.jsonc", "/sites/all.jsonc"],
      ["sites/berlin/web.jsonc", "/sites/berlin/web.jsonc"],
      ["sites/berlin/../../common.jsonc", "/sites/berlin/../../common.jsonc"],
    ]);
  });
});

Deno.test("loadConfig() reads included files through symbolic links, each file once", async () => {
  await withFiles({
    "monitor.jsonc": including("enabled/*.jsonc"),
    "available/web.jsonc": { checks: { web: fileCheck("data") } },
  }, async ({ directory, load, problems }) => {
    await Deno.mkdir(`${directory}/enabled`);
    await Deno.symlink("../available/web.jsonc", `${directory}/enabled/web.jsonc`);
    await Deno.symlink("../available/web.jsonc", `${directory}/enabled/web_again.jsonc`);
    const { checks: [check] } = await load();
    assert.equal(check?.kind === "file_timestamp" && check.parameters.path, `${directory}/enabled/data`);
    await Deno.symlink("nowhere", `${directory}/enabled/gone.jsonc`);
    await Deno.symlink("../monitor.jsonc", `${directory}/enabled/round.jsonc`);
    assert.deepEqual(await problems(), [
      'monitor.jsonc:1:12 include: cannot read config "enabled/gone.jsonc": file does not exist',
    ]);
  });
});

Deno.test("loadConfig() names the file of a directory that is invalid, and warns if it has none", async () => {
  const files = {
    "monitor.jsonc": including("conf.d"),
    "conf.d/a.jsonc": holding("a"),
    "conf.d/README": "text",
  };
  await withFiles(files, async ({ directory, load, problems, warnings }) => {
    assert.deepEqual((await load()).listedDirectories, [`${directory}/conf.d`]);
    await Deno.writeTextFile(
      `${directory}/conf.d/b.json`,
      '{ "checks": { "b": { "kind": "tset", "parameters": {} } } }',
    );
    assert.match((await problems())[0] ?? "", /^conf\.d\/b\.json:1:30 checks\.b\.kind: is "tset"/);
    for (const name of ["a.jsonc", "b.json"]) await Deno.remove(`${directory}/conf.d/${name}`);
    const message = '"conf.d" has no *.json or *.jsonc file, so it includes nothing';
    assert.deepEqual((await warnings()).filter((line) => line.includes("include")), [
      `monitor.jsonc:1:12 include: ${message}`,
    ]);
    await Deno.remove(`${directory}/conf.d`, { recursive: true });
    assert.match((await problems())[0] ?? "", /include: cannot read config "conf\.d": file does not exist/);
  });
});

Deno.test("loadConfig() skips directories, devices and pipes that a pattern matches", async () => {
  await withFiles({
    "monitor.jsonc": including("conf.d/*"),
    "conf.d/a.jsonc": holding("a"),
    "conf.d/directory/b.jsonc": holding("b"),
  }, async ({ directory, load }) => {
    // A link to the null device masks a file, as elsewhere on such systems.
    await Deno.symlink("/dev/null", `${directory}/conf.d/masked.jsonc`);
    await makePipe(`${directory}/conf.d/pipe.jsonc`);
    for (const include of ["conf.d/*", "conf.d"]) {
      await Deno.writeTextFile(`${directory}/monitor.jsonc`, JSON.stringify(including(include)));
      assert.deepEqual(namesOf(await load()), ["a"]);
    }
  });
});

Deno.test("loadConfig() names the whole cycle of files that include each other, also by another name", async () => {
  const files = { "monitor.jsonc": including("a.jsonc"), "a.jsonc": { include: "link.jsonc" } };
  await withFiles(files, async ({ directory, problems }) => {
    await Deno.symlink("monitor.jsonc", `${directory}/link.jsonc`);
    assert.deepEqual(await problems(), [
      'a.jsonc:1:12 include: is a cycle: "monitor.jsonc" includes "a.jsonc" includes "monitor.jsonc"',
    ]);
  });
});

Deno.test("loadConfig() resolves paths from the directory of the file that contains them", async () => {
  const touch = { notifications: [{ kind: "file_touch", parameters: { path: "touched" } }] };
  await withFiles({
    "monitor.jsonc": { ...including("sub/*.jsonc", { own: fileCheck("x") }), defaults: touch },
    "sub/plain.jsonc": { checks: { plain: { kind: "script", parameters: { path: "./run.sh" } } } },
    "sub/defaults.jsonc": { defaults: touch, checks: { with_defaults: fileCheck("../y") } },
  }, async ({ directory, load }) => {
    const { checks } = await load();
    const places = checks.map(({ name, parameters, notifications: [channel] }) => [
      name,
      "path" in parameters ? parameters.path.replace(directory, "") : null,
      channel?.kind === "file_touch" ? channel.parameters.path.replace(directory, "") : null,
    ]);
    assert.deepEqual(places, [
      ["own", "/x", "/touched"],
      ["with_defaults", "/sub/../y", "/sub/touched"],
      ["plain", "/sub/run.sh", "/touched"],
    ]);
    const [own, withDefaults, plain] = checks.map(({ notifications: [channel] }) => channel?.key);
    assert.equal(plain, own, "the same channel has one key");
    assert.notEqual(withDefaults, own, "the same text in another directory is another file");
  });
});

Deno.test("loadConfig() resolves the secrets of included files", async () => {
  await withFiles({
    "monitor.jsonc": including("sub/a.jsonc"),
    "sub/secret": "swordfish\n",
    "sub/a.jsonc": {
      defaults: { notifications: [{ kind: "webhook", parameters: { target: "http://h/${env:PART}" } }] },
      checks: { a: { kind: "test", parameters: { output: "${file:secret}" } } },
    },
  }, async ({ load }) => {
    const { checks: [check], secrets } = await load({ environment: { PART: "mackerel" } });
    assert.ok(check?.kind === "test" && check.parameters.output === "swordfish");
    assert.deepEqual(secrets, ["mackerel", "swordfish"]);
    const { checks: [lacking] } = await load({ environment: {} });
    assert.equal(lacking?.lack, undefined);
    assert.equal(lacking?.notifications[0]?.lack, 'the environment variable "PART" is not set');
  });
});

Deno.test("loadConfig() warns of an included file, and a searched directory, that others can write", async () => {
  const files = { "monitor.jsonc": including("conf.d/*.jsonc"), "conf.d/a.jsonc": holding("a") };
  await withFiles(files, async ({ directory, warnings }) => {
    await Deno.chmod(`${directory}/conf.d`, 0o777);
    await Deno.chmod(`${directory}/conf.d/a.jsonc`, 0o666);
    assert.deepEqual(await warnings(), [
      `monitor.jsonc:1:12 include: every user of this machine can add files to the directory "${directory}/conf.d" ` +
      `(permissions 777) (chmod o-w ${directory}/conf.d)`,
      "conf.d/a.jsonc:1:1 : every user of this machine can write this config (permissions 666) " +
      "(chmod o-w conf.d/a.jsonc)",
    ]);
  });
});

Deno.test("loadConfig() rejects an included file of another user if the config was found by default", async () => {
  const files = {
    "/etc/monitor/monitor.jsonc": JSON.stringify(including("a.jsonc")),
    "/etc/monitor/a.jsonc": { ownerId: 1001 },
  };
  const location = { path: "/etc/monitor/monitor.jsonc", named: false };
  const { problems } = await errorOf(loadConfig(location, createConfigSystem({ files })));
  assert.deepEqual(problems.map(describe), [
    'include: cannot use config "/etc/monitor/a.jsonc": it was found, not named, and belongs to another user ' +
    "(id 1001) (name the config if you trust it: --config /etc/monitor/monitor.jsonc)",
  ]);
});

Deno.test("loadConfig() includes from the working directory when the config comes from standard input", async () => {
  await withFiles({ "conf.d/a.jsonc": holding("a") }, async ({ load }) => {
    const loaded = await load({ config: "-", stdin: JSON.stringify(including("conf.d/*.jsonc")) });
    assert.deepEqual(namesOf(loaded), ["a"]);
    assert.deepEqual(loaded.sources.map(({ label }) => label), ["<stdin>", "conf.d/a.jsonc"]);
  });
});

Deno.test("loadConfig() includes only so many files and so deep", async (t) => {
  await t.step("depth", async () => {
    const chain = Object.fromEntries(
      Array.from(
        { length: INCLUDE_DEPTH_MAX + 1 },
        (_, depth) => [`${depth}.json`, { include: `${depth + 1}.json` }],
      ),
    );
    const last = `${INCLUDE_DEPTH_MAX + 1}.json`;
    await withFiles(
      { "monitor.jsonc": including("1.json"), ...chain, [last]: holding("deep") },
      async ({ directory, load, problems }) => {
        assert.deepEqual(await problems(), [
          '10.json:1:12 include: includes "11.json", nested more than 10 levels deep',
        ]);
        await Deno.writeTextFile(`${directory}/10.json`, JSON.stringify(holding("deep")));
        assert.deepEqual(namesOf(await load()), ["deep"]);
      },
    );
  });
  await t.step("files", async () => {
    const names = Array.from({ length: INCLUDED_FILES_MAX + 1 }, (_, index) => `/etc/monitor/d/${index}`);
    const loadSome = (some: readonly string[]) =>
      loadText(including("d/*"), {
        files: Object.fromEntries(some.map((name) => [name, '{ "checks": {} }'])),
      });
    await assert.rejects(loadSome(names), (error: ConfigError) => {
      assert.deepEqual(error.problems.map(describe), ["include: includes more than 1000 files"]);
      return true;
    });
    assert.equal((await loadSome(names.slice(1))).sources.length, INCLUDED_FILES_MAX + 1);
  });
});
