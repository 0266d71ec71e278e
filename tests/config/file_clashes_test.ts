import assert from "node:assert/strict";
import { loadConfig } from "../../src/config/load.ts";
import { ConfigError } from "../../src/config/problem.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { testRows } from "../support/rows.ts";

const LINKS: Readonly<Record<string, readonly [report: string, target: string, problem: string]>> = {
  "the state, through a linked directory": ["link/s", "sub", 'is the file of "state"'],
  "a link in the place of the page is replaced, and its target stays": ["link", "sub/s", ""],
};

Deno.test("loadConfig() rejects a report that would overwrite a required file behind a link", async (t) => {
  await testRows(t, LINKS, async ([report, target, problem]) => {
    const config = { defaults: {}, state: "sub/s", report: { path: report } };
    await using temporary = await tempDirectory({ "m.json": JSON.stringify(config) });
    Deno.mkdirSync(`${temporary.path}/sub`);
    Deno.symlinkSync(target, `${temporary.path}/link`);
    const system = createMemorySystem({ workingDirectory: temporary.path });
    const loading = loadConfig({ path: "m.json", named: true }, system, {
      locateState: ({ statePath }) => Promise.resolve(statePath),
    });
    const problems = await loading.then(
      () => [],
      (error) => error instanceof ConfigError ? error.problems : [error],
    );
    assert.deepEqual(
      problems.map(({ message }) => message.replace(/ \(.*/, "")),
      problem === "" ? [] : [problem],
    );
  });
});
