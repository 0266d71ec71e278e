import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { runChild, tool } from "../../testing/tools.ts";
import { tempDirectory } from "../../testing/builders.ts";

Deno.test("examples/team: check_queue.sh exits by the number of files", async () => {
  const script = fileURLToPath(new URL("../../examples/team/check_queue.sh", import.meta.url));
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const assertExit = async (count: number, code: number, path: string): Promise<void> => {
    const end = await runChild(tool("sh"), [script, directory], { env: { PATH: path } });
    assert.deepEqual([end.code, end.stderr], [code, ""]);
    assert.equal(end.stdout, `${count} orders are waiting | waiting=${count};1000;10000\n`);
  };
  const path = "/usr/bin:/bin";
  await assertExit(0, 0, path);
  for (const name of ["1", "2", "3"]) Deno.writeTextFileSync(`${directory}/${name}`, "");
  Deno.mkdirSync(`${directory}/bin`);
  await assertExit(3, 0, path);
  // Prints a fixed number of files: the directory is not made.
  for (const [count, code] of [[999, 0], [1000, 1], [9999, 1], [10_000, 2]] as const) {
    Deno.writeTextFileSync(`${directory}/bin/find`, `#!/bin/sh\nseq ${count}\n`, { mode: 0o755 });
    await assertExit(count, code, `${directory}/bin:${path}`);
  }
});
