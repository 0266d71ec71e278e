import assert from "node:assert/strict";
import { CHANNEL_KINDS } from "../../src/channels/registry.ts";
import { CHECK_KINDS } from "../../src/checks/registry.ts";
import licenses from "../../src/cli/generated/licenses.json" with { type: "json" };
import manifest from "../../import_map.json" with { type: "json" };
import { PROJECT, readPage } from "./pages.ts";

const README = readPage("README.md").text;
const DEPENDENCIES = readPage("docs/development/dependencies.md").text;

Deno.test("docs/development/dependencies.md names every package that the project uses, with its reason", () => {
  const names = Object.keys(manifest.imports).map((name) => name.replace(/\/$/, ""));
  const reasons = rowsOf(DEPENDENCIES, /^\| [^|]*`(?:npm:)?[\w@/.-]+`/);
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

Deno.test("docs/development/dependencies.md names the packages in the executable", () => {
  const inside = new Set(licenses.packages.map(({ name }) => name));
  const rows = rowsOf(DEPENDENCIES, /^\| `[^|]*\|[^|]*\| (yes|no) +\|$/);
  assert.ok(rows.length > 10);
  for (const row of rows) {
    const names = [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    for (const name of names) assert.equal(inside.has(name), /\| yes +\|$/.test(row), name);
  }
});

Deno.test("README.md names every kind of check and every channel", () => {
  for (const kind of [...Object.keys(CHECK_KINDS), ...Object.keys(CHANNEL_KINDS)]) {
    assert.match(README, new RegExp(`\`${kind}\``), kind);
  }
});

function rowsOf(page: string, pattern: RegExp): readonly string[] {
  return page.split("\n").filter((line) => pattern.test(line));
}
