import assert from "node:assert/strict";
import { canonicalAddress, isLoopback, isPrivate, parseListenAddress } from "../../src/shared/ip_address.ts";

Deno.test("canonicalAddress() returns the canonical form of an IP address, and null for anything else", () => {
  const rows: Readonly<Record<string, string | null>> = {
    "192.0.2.1": "192.0.2.1",
    "192.0.2.256": null,
    "192.0.02.1": null,
    "3221225985": null,
    "2001:DB8:0:0::1": "2001:db8::1",
    "::": "::",
    "::ffff:192.0.2.1": "::ffff:c000:201",
    "[::1]": null,
    "fe80::1%eth0": null,
    "localhost": null,
  };
  for (const [text, expected] of Object.entries(rows)) {
    assert.strictEqual(canonicalAddress(text), expected, text);
  }
});

Deno.test("isLoopback() is true for addresses of this machine alone", () => {
  for (const host of ["127.0.0.1", "127.255.0.9", "::1", "[::1]", "localhost", "LOCALHOST"]) {
    assert.ok(isLoopback(host), host);
  }
  for (
    const host of ["0.0.0.0", "::", "192.0.2.1", "127.0.0.1.example", "127.example", "::ffff:127.0.0.1", ""]
  ) {
    assert.ok(!isLoopback(host), host);
  }
});

Deno.test("isPrivate() is true for addresses that each site may have", () => {
  for (
    const address of [
      "10.0.0.5",
      "172.16.0.1",
      "172.31.9.9",
      "192.168.1.1",
      "169.254.0.1",
      "fd00::1",
      "fe80::1",
      "febf::1",
    ]
  ) {
    assert.ok(isPrivate(address), address);
  }
  for (
    const address of [
      "100.64.0.1",
      "172.15.0.1",
      "172.32.0.1",
      "192.0.2.1",
      "110.0.0.1",
      "2001:db8::fd00",
      "fec0::1",
      "fd::1",
    ]
  ) {
    assert.ok(!isPrivate(address), address);
  }
});

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
