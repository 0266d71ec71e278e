import assert from "node:assert/strict";
import { lazyPart } from "../../src/system/deno_system.ts";

Deno.test("lazyPart() loads a part once, and passes on every argument", async () => {
  let loads = 0;
  const part = lazyPart({ send: "async", explain: "sync" }, () => {
    loads++;
    return Promise.resolve({
      send: (path: string, line: string, options: object) => Promise.resolve({ path, line, options }),
      explain: (error: string, target: string) => `${target}: ${error}`,
    });
  });
  assert.throws(() => part.explain("refused", "example.org"), /never used/);
  const sent = { path: "/run/monitor.sock", line: "run", options: { timeoutMs: 3000 } };
  assert.deepEqual(await part.send(sent.path, sent.line, sent.options), sent);
  assert.deepEqual(await part.send(sent.path, sent.line, sent.options), sent);
  assert.equal(part.explain("refused", "example.org"), "example.org: refused");
  assert.equal(loads, 1);
});
