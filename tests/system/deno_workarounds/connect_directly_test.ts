import assert from "node:assert/strict";
import { countResources } from "./resources.ts";

Deno.test(
  "Deno.connect() still leaks a connection if its signal aborts last: see connect_directly.ts if this fails",
  {
    sanitizeResources: false,
  },
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
