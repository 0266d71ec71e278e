import assert from "node:assert/strict";
import { ntpKind } from "../../src/checks/ntp.ts";
import type { CheckOf } from "../../src/domain/check.ts";
import type { NtpParameters } from "../../src/domain/generated/config.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { checkOf, contextOf } from "../../testing/builders.ts";
import { createFakeClock, type FakeClock } from "../../testing/fake_clock.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { type Rows, testRows } from "../support/rows.ts";
import { startTimeServer, timeReply } from "../support/time_server.ts";

const NOW_MS = Date.UTC(2026, 3, 1, 12);

function ntpCheck(parameters: Partial<NtpParameters> = {}): CheckOf<"ntp"> {
  const defaults = { offset: { warningAboveMs: 500, criticalAboveMs: 5_000 }, asWarning: false };
  return checkOf("ntp", { host: "127.0.0.1", port: 123, ...defaults, ...parameters }, { timeoutMs: 10_000 });
}

type Reply = (request: Uint8Array, clock: FakeClock) => readonly Uint8Array[];

const at = (aheadMs: number, fields: object = {}): Reply => (request) => [
  timeReply(request, { wallMs: NOW_MS + aheadMs, ...fields }),
];

const ROWS: Rows<[reply: Reply, expected: string, parameters?: Partial<NtpParameters>]> = {
  "the same time": [at(0), "ok: offset 0 ms (stratum 2)"],
  "a machine that is a bit behind": [at(100), "ok: offset 100 ms, this machine is behind (stratum 2)"],
  "a machine that is ahead": [
    at(-600),
    "warning: offset 600 ms, warning above 500 ms, this machine is ahead (stratum 2)",
  ],
  "a machine that is far behind": [
    at(6_000),
    "critical: offset 6000 ms, critical above 5 s, this machine is behind (stratum 2)",
  ],
  "the same as a warning": [
    at(6_000),
    "warning: offset 6000 ms, critical above 5 s, this machine is behind (stratum 2)",
    { asWarning: true },
  ],
  "a request and a reply of a second each, and a second in the server": [
    (request, clock) => {
      void clock.advance(3_000);
      return [timeReply(request, { wallMs: NOW_MS + 1_000, heldMs: 1_000 })];
    },
    "ok: offset 0 ms (stratum 2)",
  ],
  "a server that is not synchronized": [
    at(0, { leap: 3, stratum: 16 }),
    "critical: server HOST is not synchronized (stratum 16)",
  ],
  "a kiss of death": [
    at(0, { stratum: 0, code: "RATE" }),
    "critical: server HOST is not synchronized (RATE)",
  ],
  "replies to others, and parts, in front of the right one": [
    (request) => {
      const right = timeReply(request, { wallMs: NOW_MS });
      const wrong = timeReply(new Uint8Array(48), { wallMs: NOW_MS + 60_000 });
      return [wrong, right.subarray(0, 40), request, right];
    },
    "ok: offset 0 ms (stratum 2)",
  ],
  "silence": [
    (_request, clock) => {
      void clock.advance(10_000);
      return [];
    },
    "critical: timeout after 10 s while reading from HOST",
  ],
};

Deno.test("ntp compares the clock with a server, and accepts only the reply to its request", async (t) => {
  await testRows(t, ROWS, async ([reply, expected, parameters = {}]) => {
    const clock = createFakeClock(NOW_MS);
    await using server = await startTimeServer((request) => reply(request, clock));
    const check = ntpCheck({ port: server.port, ...parameters });
    const system = { clock, connections: createConnections(clock) };
    const { condition, output } = await ntpKind.observe(check, contextOf({ system }));
    assert.equal(`${condition}: ${output}`.replace(`127.0.0.1:${server.port}`, "HOST"), expected);
    assert.equal(clock.timers, 0);
  });
});

Deno.test("ntp accepts a reply from an address that is written in another form", async () => {
  if (!Deno.networkInterfaces().some(({ address }) => address === "::1")) return;
  const clock = createFakeClock(NOW_MS);
  await using server = await startTimeServer((request) => [timeReply(request, { wallMs: NOW_MS })], "::1");
  const check = ntpCheck({ host: "0:0:0:0:0:0:0:1", port: server.port });
  const system = { clock, connections: createConnections(clock) };
  const { output } = await ntpKind.observe(check, contextOf({ system }));
  assert.equal(output, "offset 0 ms (stratum 2)");
});

Deno.test("ntp is added by a host, with its port if it has one", () => {
  const found = (text: string): unknown =>
    ntpKind.target.parametersOf({ text, path: `/${text}`, pathKind: null });
  assert.deepEqual(found("ntp://pool.ntp.org/"), { host: "pool.ntp.org" });
  assert.deepEqual(found("ntp://pool.ntp.org:124"), { host: "pool.ntp.org", port: 124 });
  assert.deepEqual(found("ntp://[::1]:124"), { host: "::1", port: 124 });
  assert.deepEqual(found("ntp://[::1]"), { host: "::1" });
  assert.equal(found("ntp://h:70000"), null);
});

Deno.test("ntp requires the permission for an address, or for all addresses of a name", async () => {
  const system = createMemorySystem();
  const netOf = async (host: string) =>
    (await ntpKind.requiredPermissions(ntpCheck({ host }), system)).net?.map(String);
  assert.deepEqual(await netOf("192.0.2.1"), ["192.0.2.1:123", "0.0.0.0:0"]);
  assert.deepEqual(await netOf("2001:db8::1"), ["[2001:db8::1]:123", "[::]:0"]);
  assert.equal((await netOf("pool.ntp.org"))?.length, 1);
});
