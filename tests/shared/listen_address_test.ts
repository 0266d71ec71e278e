import assert from "node:assert/strict";
import { isLoopback, parseListenAddress } from "../../src/shared/listen_address.ts";

Deno.test("parseListenAddress() accepts IP addresses and localhost with a port", () => {
  const rows: Readonly<Record<string, ReturnType<typeof parseListenAddress>>> = {
    "127.0.0.1:9797": { host: "127.0.0.1", port: 9797 },
    "localhost:0": { host: "localhost", port: 0 },
    "[::1]:65535": { host: "::1", port: 65_535 },
    "0.0.0.0:80": { host: "0.0.0.0", port: 80 },
    "127.1:80": null,
    "127.0.0.256:80": null,
    "::1:80": null,
    "[:1]:80": null,
    "127.0.0.1:65536": null,
    "127.0.0.1": null,
    ":80": null,
    "": null,
  };
  for (const [text, address] of Object.entries(rows)) {
    assert.deepEqual(parseListenAddress(text), address, text);
  }
});

Deno.test("isLoopback() is true for addresses of this machine alone", () => {
  for (const host of ["127.0.0.1", "127.255.0.9", "::1", "localhost"]) assert.ok(isLoopback({ host }), host);
  for (
    const host of ["0.0.0.0", "::", "192.0.2.1", "127.0.0.1.example", "127.example", "::ffff:127.0.0.1", ""]
  ) {
    assert.ok(!isLoopback({ host }), host);
  }
});
