import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import { runArguments } from "../../testing/source.ts";
import { runChild, tool } from "../../testing/tools.ts";

/** Drops the capabilities of root. */
const ROOTS_RIGHTS = "--bounding-set=-dac_override,-dac_read_search,-fowner,-chown";

/**
 * Runs a module of the tests as a user without privileges does, under any user, and returns its output. Root stays
 * root and loses its capabilities: the runtime and the modules may be in directories that no other user can read.
 */
export async function runWithoutRights(module: URL, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runChild(tool("setpriv"), [
    ...Deno.uid() === 0 ? [ROOTS_RIGHTS] : [],
    "--inh-caps=-all",
    "--",
    Deno.execPath(),
    ...runArguments(),
    fileURLToPath(module),
    ...args,
  ]);
  assert.equal(code, 0, stderr);
  return stdout;
}
