import assert from "node:assert/strict";
import { connectDirectly } from "../../../src/system/deno_workarounds/connect_directly.ts";
import { countResources } from "./resources.ts";

Deno.test(
  "Deno.connect() still leaks a connection if its signal aborts last: see connect_directly.ts if this fails",
  { sanitizeResources: false },
  async () => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const end = new AbortController();
    let asked = 0;
    // Aborts between the connection and the last question.
    Object.defineProperty(end.signal, "throwIfAborted", {
      value: () => {
        if (++asked > 1) throw new Error("aborted");
      },
    });
    const before = countResources("tcpStream");
    const attempt = Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port, signal: end.signal });
    await assert.rejects(attempt, { message: "aborted" });
    assert.equal(countResources("tcpStream"), before + 1);
  },
);

const LOST =
  "Deno.connect() still leaks a cancellation if a name does not resolve: see connect_directly.ts if this fails";

Deno.test(LOST, { sanitizeResources: false }, async () => {
  const { signal } = new AbortController();
  const before = countResources("cancellation");
  await assert.rejects(Deno.connect({ hostname: "nonexistent.invalid", port: 80, signal }));
  assert.equal(countResources("cancellation"), before + 1);
});

Deno.test("connectDirectly() leaks no cancellation if a name does not resolve", async () => {
  const { signal } = new AbortController();
  await assert.rejects(connectDirectly({ host: "nonexistent.invalid", port: 80 }, signal));
});
