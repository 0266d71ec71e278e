import assert from "node:assert/strict";
import { describeCertificate } from "../../src/scheduler/trace/trace_requests.ts";
import { testRows } from "../support/rows.ts";

Deno.test("describeCertificate() names a command that asks the same server", async (t) => {
  const reading = { problem: { about: "trust", reason: "unknown issuer" }, facts: null } as const;
  const address = (address: string, family: number) => ({ address: { address, family, token: null } });
  const rows = {
    "a name": [{}, "web.example.org:443"],
    "one of its IPv4 addresses": [address("192.0.2.7", 4), "192.0.2.7:443"],
    "one of its IPv6 addresses": [address("2001:db8::7", 6), "'[2001:db8::7]:443'"],
  } as const;
  await testRows(t, rows, ([more, place]) => {
    const tls = { serverName: "web.example.org", authorities: [] };
    assert.equal(
      describeCertificate(reading, { host: "web.example.org", port: 443, tls, ...more }),
      "not accepted: unknown issuer; all that the server sends: " +
        `openssl s_client -showcerts -connect ${place} -servername web.example.org`,
    );
  });
});
