import assert from "node:assert/strict";
import { locateConfig, readSource } from "../../src/config/source.ts";
import { type ConfigSystemOptions, createConfigSystem, errorOf } from "../../testing/config_system.ts";
import { testRows } from "../support/rows.ts";
import fc from "../support/property.ts";
import { findStatePath } from "../../src/config/positions.ts";
import { findMatches } from "../../src/config/config_file.ts";

const PATH = "/etc/monitor/monitor.jsonc";

function read(
  options: ConfigSystemOptions,
  { path = PATH, named = true } = {},
): ReturnType<typeof readSource> {
  return readSource({ path, named }, createConfigSystem(options));
}

Deno.test("readSource() reads a file, and returns its name and its path", async (t) => {
  const rows: Readonly<Record<string, readonly [absolute: string, directory: string, here?: string]>> = {
    [PATH]: [PATH, "/etc/monitor"],
    "monitor.jsonc": ["/here/monitor.jsonc", "/here"],
    "C:/monitor.jsonc": ["/here/C:/monitor.jsonc", "/here/C:"],
    "./-": ["/here/-", "/here"],
    "windows.jsonc": ["C:\\work/windows.jsonc", "C:\\work", "C:\\work"],
    "D:\\monitor.jsonc": ["D:\\monitor.jsonc", "D:\\", "C:\\work"],
    "\\\\host\\share\\m.json": ["\\\\host\\share\\m.json", "\\\\host\\share", "C:\\work"],
  };
  await testRows(t, rows, async ([absolute, directory, workingDirectory = "/here"], path) => {
    const source = await read({ files: { [absolute]: "{}" }, workingDirectory }, { path });
    assert.deepEqual(source, { label: path, path: absolute, directory, text: "{}", mode: 0o644 });
  });
});

Deno.test("readSource() reads standard input for -, with paths relative to the working directory", async () => {
  assert.deepEqual(await read({ stdin: "{}", workingDirectory: "/here" }, { path: "-" }), {
    label: "<stdin>",
    path: null,
    directory: "/here",
    text: "{}",
    mode: null,
  });
});

Deno.test("readSource() removes a byte-order mark", async () => {
  const bytes = new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]);
  assert.equal((await read({ files: { [PATH]: bytes } })).text, "{}");
  assert.equal((await read({ stdin: bytes }, { path: "-" })).text, "{}");
});

Deno.test("readSource() returns the reason why a file cannot be read", async (t) => {
  const denied = new Deno.errors.PermissionDenied("Permission denied (os error 13)");
  const rows: Readonly<Record<string, readonly [files: Readonly<Record<string, object>>, hint?: string]>> = {
    "file does not exist": [{}, `create one with: monitor init ${PATH}`],
    "it is a directory, not a file": [{ [PATH]: { kind: "directory" } }],
    "permission denied": [{ [PATH]: denied }],
  };
  await testRows(t, rows, async ([files, hint = null], reason) => {
    const error = await errorOf(read({ files }));
    assert.equal(error.message, `cannot read config "${PATH}": ${reason}`);
    assert.deepEqual([error.hint, error.problems, error.source], [hint, [], null]);
    if (files[PATH] === denied) assert.equal(error.cause, denied);
  });
});

Deno.test("readSource() throws the error of the runtime's permissions", async () => {
  const denied = new Deno.errors.NotCapable("Requires read access");
  await assert.rejects(read({ files: { [PATH]: denied } }), denied);
});

Deno.test("readSource() rejects a config that was found and has another owner", async (t) => {
  const rows: Readonly<
    Record<string, readonly [ownerId: number | null, userId: number | null, accepted: boolean]>
  > = {
    "the user's own": [1000, 1000, true],
    "another user's": [1001, 1000, false],
    "another user's, for root": [1001, 0, false],
    "on a system without owners": [null, null, true],
  };
  await testRows(t, rows, async ([ownerId, userId, accepted]) => {
    const options = { files: { [PATH]: { ownerId } }, userId };
    assert.ok(await read(options), "a named file is read with any owner");
    if (accepted) return assert.ok(await read(options, { named: false }));
    const error = await errorOf(read(options, { named: false }));
    assert.equal(
      error.message,
      `cannot use config "${PATH}": it was found, not named, and belongs to another user (id 1001)`,
    );
    assert.equal(error.hint, `name it if you trust it: --config ${PATH}`);
  });
  await t.step("without the permission to read the user's own id", async () => {
    await assert.rejects(read({ files: { [PATH]: { ownerId: 1001 } }, userId: null }, { named: false }), {
      name: "NotCapable",
      message:
        `Requires sys access to "uid" to compare the owner of config "${PATH}" is, run again with the --allow-sys=uid flag`,
    });
  });
});

Deno.test("readSource() rejects UTF-16 and suggests how to convert it", async (t) => {
  const littleEndian = new Uint8Array([0x7b, 0, 0x7d, 0]);
  const rows: Readonly<Record<string, readonly [bytes: Uint8Array, encoding: string]>> = {
    "little endian with a mark": [new Uint8Array([0xff, 0xfe, ...littleEndian]), "UTF-16"],
    "little endian without a mark": [littleEndian, "UTF-16LE"],
  };
  await testRows(t, rows, async ([bytes, encoding]) => {
    const error = await errorOf(read({ files: { [PATH]: bytes } }));
    assert.equal(error.message, `cannot read config "${PATH}": it is UTF-16, expected UTF-8`);
    assert.equal(error.hint, `convert it: iconv -f ${encoding} -t UTF-8 ${PATH}`);
    const piped = await errorOf(read({ stdin: bytes }, { path: "-" }));
    assert.equal(piped.message, 'cannot read config "<stdin>": it is UTF-16, expected UTF-8');
    assert.equal(piped.hint, `convert it: iconv -f ${encoding} -t UTF-8`);
  });
});

Deno.test("readSource() locates the first byte that is not UTF-8", async (t) => {
  const text = (start: string, ...bytes: number[]) =>
    new Uint8Array([...new TextEncoder().encode(start), ...bytes]);
  const mark = [0xef, 0xbb, 0xbf];
  const long = "ä€\u{1f600}\n".repeat(10_000);
  const rows: Readonly<Record<string, readonly [bytes: Uint8Array, byte: string, place: string]>> = {
    "Latin 1": [text('{\n "caf', 0xe9, 0x22), "e9", "2:6"],
    "behind CRLF": [text("{\r\n\r\n", 0xc0), "c0", "3:1"],
    "behind a byte-order mark": [new Uint8Array([...mark, 0x7b, 0xff]), "ff", "1:2"],
    "a character that breaks off": [text("{", 0xe2, 0x82), "e2", "1:2"],
    "far behind": [text(long, 0x20, 0xfe), "fe", "10001:2"],
  };
  await testRows(t, rows, async ([bytes, byte, place]) => {
    const error = await errorOf(read({ files: { [PATH]: bytes } }));
    assert.equal(error.message, `cannot use config "${PATH}": it is not UTF-8`);
    assert.equal(error.hint, "save it as UTF-8");
    const [problem] = error.problems;
    assert.deepEqual(
      [problem?.message, `${problem?.line}:${problem?.column}`],
      [`byte 0x${byte} is not valid UTF-8, expected a config in UTF-8`, place],
    );
    const lines = error.source?.text.split(/\r\n|\n|\r/) ?? [];
    assert.equal(lines[(problem?.line ?? 0) - 1]?.charAt((problem?.column ?? 0) - 1), "\ufffd");
    assert.equal(error.source?.text.charAt(problem?.offset ?? -1), "\ufffd");
  });
});

const HOME = { HOME: "/home/me" };

function locate(options: ConfigSystemOptions, named?: string): ReturnType<typeof locateConfig> {
  return locateConfig(named, createConfigSystem(options));
}

Deno.test("locateConfig() returns the named path, whether it exists or not", async () => {
  const options = {
    environment: { ...HOME, MONITOR_CONFIG: "/from/environment" },
    files: { "./monitor.jsonc": "{}" },
  };
  assert.deepEqual(await locate(options, "given.jsonc"), { path: "given.jsonc", named: true });
  assert.deepEqual(await locate(options, "-"), { path: "-", named: true });
  assert.deepEqual(await locate(options, ""), { path: "", named: true });
  assert.deepEqual(await locate(options), { path: "/from/environment", named: true });
  const piped = { environment: { MONITOR_CONFIG: "-" } };
  assert.deepEqual(await locate(piped), { path: "-", named: true });
});

Deno.test("locateConfig() returns the first path that exists", async () => {
  const paths = [
    "./monitor.jsonc",
    "./monitor.json",
    "/xdg/monitor/monitor.jsonc",
    "/xdg/monitor/monitor.json",
    "/etc/monitor/monitor.jsonc",
    "/etc/monitor/monitor.json",
  ];
  const environment = { ...HOME, XDG_CONFIG_HOME: "/xdg" };
  for (const [index, path] of paths.entries()) {
    const files = Object.fromEntries(paths.slice(index).map((present) => [present, "{}"]));
    assert.deepEqual(await locate({ environment, files }), { path, named: false });
  }
  const error = await errorOf(locate({ environment }));
  assert.equal(error.message, `cannot find a config: looked for ${paths.join(", ")}`);
  assert.equal(error.hint, "set --config PATH, or create one with: monitor init");
});

Deno.test("locateConfig() ignores a relative XDG_CONFIG_HOME", async () => {
  const { message } = await errorOf(locate({ environment: { ...HOME, XDG_CONFIG_HOME: "xdg" } }));
  assert.match(message, /looked for .*, \/home\/me\/\.config\/monitor\/monitor\.jsonc, /);
});

Deno.test("locateConfig() skips unreadable directories, and stops at other failures", async () => {
  const denied = new Deno.errors.PermissionDenied("Permission denied (os error 13)");
  const noDirectory = new Deno.errors.NotADirectory("Not a directory (os error 20)");
  const broken = new Error("Input/output error (os error 5)");
  const path = "/etc/monitor/monitor.json";
  const files = { "./monitor.jsonc": denied, "./monitor.json": noDirectory, [path]: "{}" };
  assert.deepEqual(await locate({ files }), { path, named: false });
  const found = await locate({ files: { ...files, "./monitor.jsonc": broken } });
  assert.deepEqual(found, { path: "./monitor.jsonc", named: false });
});

Deno.test("locateConfig() names a missing permission, unless it finds a config elsewhere", async () => {
  const denied = new Deno.errors.NotCapable('Requires read access to "./monitor.jsonc"');
  const later = new Deno.errors.NotCapable("Requires read access to another");
  const files = { "./monitor.jsonc": denied, "./monitor.json": later };
  await assert.rejects(locate({ files }), denied);
  const found = await locate({ files: { ...files, "/etc/monitor/monitor.json": "{}" } });
  assert.equal(found.path, "/etc/monitor/monitor.json");
});

async function matchesOf(pattern: string, names: readonly string[]): Promise<readonly string[]> {
  const { files } = createConfigSystem({
    files: Object.fromEntries(names.map((name) => [`/d/${name}`, ""])),
  });
  return (await findMatches(pattern, "/d", files)).paths;
}

Deno.test("findMatches() matches names", async (t) => {
  const rows: readonly (readonly [pattern: string, matched: readonly string[], others: readonly string[]])[] =
    [
      ["*", ["a", "a.b"], [".a"]],
      [".*", [".a", ".b.c"], ["a"]],
      ["*.jsonc", ["a.jsonc", "é.jsonc"], ["a.json", ".jsonc", "jsonc", "a.jsonc~", "A.JSONC"]],
      ["a?c", ["abc", "a.c", "a\u{1f600}c"], ["ac", "abbc"]],
      ["a*b*c", ["abc", "a-b-c", "abbcbc"], ["acb", "abcd"]],
      ["[ab]*", ["[ab]", "[ab]c"], ["a", "b"]],
    ];
  for (const [pattern, matched, others] of rows) {
    await t.step(pattern, async () => {
      assert.deepEqual(await matchesOf(pattern, [...others, ...matched]), matched.toSorted());
    });
  }
});

Deno.test("findMatches() agrees with regular expressions on any name", async () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), maxLength: 6 }).map((text) =>
    `${text}*`
  );
  await fc.assert(fc.asyncProperty(letters, pattern, async (name, glob) => {
    const expression = new RegExp(`^${glob.replaceAll("*", ".*").replaceAll("?", ".")}$`);
    assert.equal((await matchesOf(glob, [name])).length === 1, expression.test(name), `${glob} ${name}`);
  }));
});

Deno.test("findMatches() is fast for patterns that would backtrack exponentially", async () => {
  const name = "a".repeat(250);
  assert.deepEqual(await matchesOf(`${"*a".repeat(60)}*b`, [name]), []);
});

Deno.test("findMatches() limits the number of directories", async () => {
  const { files } = createConfigSystem();
  // Links that lead back up.
  const looping = { ...files, list: () => Promise.resolve(["up", "down"]) };
  await assert.rejects(findMatches("*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/x", "/d", looping), {
    message: "it leads through more than 10000 directories",
  });
});

Deno.test("findStatePath() finds the state of a config despite errors in its text", async (t) => {
  const rows: Readonly<Record<string, readonly [text: string, path: string | null]>> = {
    "a valid config": ['{ "defaults": {}, "state": "a.sqlite", "checks": {} }', "a.sqlite"],
    "comments": ['{ // "state": "no"\n /* "state": "no" */ "state": "a.sqlite" }', "a.sqlite"],
    "none": ['{ "defaults": {} }', null],
    "another type": ['{ "state": 1, "defaults": {} }', null],
    "a text that contains one": ['{ "title": "{ \\"state\\": \\"no\\" }" }', null],
    "one at the top, after one deeper": ['{ "checks": { "state": "no" }, "state": "a.sqlite" }', "a.sqlite"],
    "a comma that is missing": ['{ "defaults": {} "state": "a.sqlite" }', "a.sqlite"],
    "a text that breaks off": ['{ "state": "a.sqlite", "checks": { "web": {', "a.sqlite"],
    "a brace that is missing": ['{ "defaults": { "state": "a.sqlite" }', "a.sqlite"],
    "a string without its end": ['{ "state": "a.sqlite', null],
    "no JSON": ["state: a.sqlite", null],
  };
  await testRows(t, rows, ([text, path]) => assert.equal(findStatePath(text), path));
});
