/** The script of `examples/several_machines/`. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { monitorCommand, sourceEnvironment } from "../../testing/source.ts";
import { runChild, tool } from "../../testing/tools.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { POSTGRES } from "../support/postgres.ts";
import { tempDirectory } from "../../testing/builders.ts";

const SCRIPT = fileURLToPath(new URL("../../examples/several_machines/demo.sh", import.meta.url));

const test = concurrentTests("members", POSTGRES);

test(
  "demo.sh: nothing is lost when one of three monitors is killed, and nothing is left behind",
  async () => {
    await using temporary = await tempDirectory();
    const directory = temporary.path;
    // PostgreSQL's user needs the way to its directory, too.
    await Deno.chmod(directory, 0o755);
    const { code, stdout, stderr } = await runChild(tool("sh"), [SCRIPT], {
      clearEnv: true,
      env: {
        ...sourceEnvironment(),
        PATH: Deno.env.get("PATH") ?? "",
        HOME: directory,
        TMPDIR: directory,
        MONITOR: monitorCommand().join(" "),
      },
      limitMs: 180_000,
    });
    assert.equal(code, 0, stdout + stderr);
    assert.equal(stderr, "");
    assert.equal(stdout.match(/^fra-2 {2}/gm)?.length, 2, stdout);
    assert.match(stdout, /^fra-2 {2}dead, last heartbeat .* ago$/m);
    assert.match(stdout, /^Nothing is lost: each of 12 checks failed twice, .*$/m);
    assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name), []);
  },
);
