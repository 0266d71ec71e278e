import assert from "node:assert/strict";
import { createHost } from "../../src/system/deno_system.ts";

Deno.test("createHost() queries a file system once at a time, however many checks request it", async () => {
  const host = createHost();
  const first = host.fileSystem("/");
  assert.strictEqual(host.fileSystem("/"), first);
  assert.notStrictEqual(host.fileSystem("/tmp"), first);
  await Promise.all([first, host.fileSystem("/tmp")]);
  const missing = host.fileSystem("/does/not/exist");
  assert.strictEqual(host.fileSystem("/does/not/exist"), missing);
  await assert.rejects(missing, { code: "ENOENT" });
  const later = host.fileSystem("/");
  assert.notStrictEqual(later, first, "a later run asks again");
  await later;
});
