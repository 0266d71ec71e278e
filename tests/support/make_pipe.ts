import assert from "node:assert/strict";
import { runChild, tool } from "../../testing/tools.ts";

export async function makePipe(path: string): Promise<void> {
  const { code, stderr } = await runChild(tool("mkfifo"), [path]);
  assert.equal(code, 0, stderr);
}
