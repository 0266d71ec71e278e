import assert from "node:assert/strict";
import { parseListenAddress } from "../../src/shared/ip_address.ts";

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
