import assert from "node:assert/strict";
import { CHANNEL_KINDS } from "../../src/channels/registry.ts";
import { CHECK_KINDS } from "../../src/checks/registry.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { EXIT_CODE_HELP } from "../../src/cli/exit_code.ts";
import licenses from "../../src/cli/generated/licenses.json" with { type: "json" };
import manifest from "../../import_map.json" with { type: "json" };
import { PROJECT, readPage } from "./pages.ts";

const README = readPage("README.md").text;

Deno.test("README.md names every package that the project uses, with its reason", () => {
  const names = Object.keys(manifest.imports).map((name) => name.replace(/\/$/, ""));
  const reasons = rowsWith(/^\| [^|]*`(?:npm:)?[\w@/.-]+`/);
  assert.deepEqual(
    names.filter((name) =>
      !reasons.some((row) => row.includes(`\`${name}\``) || row.includes(`\`npm:${name}\``))
    ),
    [],
  );
});

interface LockedPackage {
  readonly integrity: string;
  /** Given where it wants to run something when it is installed. */
  readonly scripts?: true;
}

Deno.test("every package is pinned with its checksum, and none runs anything when it is installed", () => {
  const lock = JSON.parse(Deno.readTextFileSync(`${PROJECT}deno.lock`)) as {
    readonly npm: Readonly<Record<string, LockedPackage>>;
  };
  const packages = Object.entries(lock.npm);
  assert.ok(packages.length > 30);
  for (const [name, { integrity, scripts }] of packages) {
    assert.match(integrity, /^sha512-/, name);
    assert.equal(scripts, undefined, name);
  }
  for (const address of Object.values(manifest.imports)) assert.match(address, /^npm:.*@\d+\.\d+\.\d+\/?$/);
});

Deno.test("README.md says of every package whether it is in the executable", () => {
  const inside = new Set(licenses.packages.map(({ name }) => name));
  const rows = rowsWith(/^\| `[^|]*\|[^|]*\| (yes|no) +\|$/);
  assert.ok(rows.length > 10);
  for (const row of rows) {
    const names = [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    for (const name of names) assert.equal(inside.has(name), /\| yes +\|$/.test(row), name);
  }
});

Deno.test("README.md has a row for every kind of check and of channel", () => {
  for (const kind of [...Object.keys(CHECK_KINDS), ...Object.keys(CHANNEL_KINDS)]) {
    assert.equal(rowsWith(new RegExp(`^\\| \`${kind}\` `)).length, 1, kind);
  }
});

Deno.test("README.md lists every command, in the order of the help", () => {
  const rows = rowsWith(/^\| `monitor /).map((row) => /^\| `monitor (\w+)/.exec(row)?.[1]);
  assert.deepEqual([...new Set(rows)], COMMANDS.map(({ name }) => name));
});

Deno.test("README.md lists every exit code with the words of the help", () => {
  const rows = rowsWith(/^\| \d[\d, ]* +\|/).map((row) =>
    row.replaceAll("`", "").replaceAll(/[| ]+/g, " ").trim()
  );
  assert.deepEqual(
    rows,
    EXIT_CODE_HELP.map(([codes, meaning]) =>
      `${codes} ${meaning.replace(" (of status: worst confirmed one)", "")}`
    ),
  );
});

function rowsWith(pattern: RegExp): readonly string[] {
  return README.split("\n").filter((line) => pattern.test(line));
}
