import assert from "node:assert/strict";
import manifest from "../../import_map.json" with { type: "json" };
import { PROJECT } from "../docs/pages.ts";

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
