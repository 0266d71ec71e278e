import assert from "node:assert/strict";
import { observeAddresses, readTlsFiles } from "../../src/checks/connection_run.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import type { Files } from "../../src/domain/system.ts";
import { createFiles } from "../../src/system/files.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";

const TARGET = { host: "www.example.org", port: 443 };

/** Checks IP addresses, of which each has a condition, and the time until expiry that is its position. */
function observeAll(conditions: Readonly<Record<string, Condition>>): Promise<CheckResult> {
  const addresses = Object.keys(conditions).map((address) => ({ address, family: 4, token: null }));
  const connections = { resolve: () => Promise.resolve(addresses) };
  const signal = new AbortController().signal;
  return observeAddresses(TARGET, { connections, isEvery: true, signal }, ({ address }) =>
    Promise.resolve({
      condition: conditions[address?.address ?? ""] ?? "unknown",
      output: `is ${conditions[address?.address ?? ""]}`,
      detail: "",
      metrics: {
        total_ms: 1 + addresses.findIndex((other) => other === address),
        certificate_left_seconds: 9,
      },
      performanceData: "",
    }));
}

Deno.test("observeAddresses() returns the highest severity, and names the addresses that fail", async (t) => {
  const many = Object.fromEntries(
    Array.from({ length: 70 }, (_, index) => [`10.0.0.${index}`, "ok" as const]),
  );
  const rows: readonly (readonly [Readonly<Record<string, Condition>>, Condition, string])[] = [
    [{ "10.0.0.1": "ok" }, "ok", "is ok (the only address)"],
    [{ "10.0.0.1": "ok", "::1": "ok" }, "ok", "is ok (all 2 addresses)"],
    [
      { "10.0.0.1": "ok", "::1": "warning", "::2": "critical" },
      "critical",
      "2 of 3 addresses failed: ::1: is warning; ::2: is critical",
    ],
    [{ "10.0.0.1": "unknown" }, "unknown", "1 of 1 addresses failed: 10.0.0.1: is unknown"],
    [many, "ok", "is ok (all 64 addresses, 6 more not checked)"],
  ];
  for (const [conditions, condition, output] of rows) {
    await t.step(output, async () => {
      const result = await observeAll(conditions);
      assert.deepStrictEqual([result.condition, result.output], [condition, output]);
    });
  }
  const { metrics } = await observeAll({ "10.0.0.1": "ok", "::1": "critical" });
  assert.deepStrictEqual(metrics, {
    addresses: 2,
    failed_addresses: 1,
    total_ms: 2,
    certificate_left_seconds: 9,
  });
});

Deno.test("observeAddresses() connects to the name if it does not resolve, which returns the reason", async () => {
  const connections = { resolve: () => Promise.reject(new Error("unknown name")) };
  const options = { connections, isEvery: true, signal: new AbortController().signal };
  for (const [condition, expected] of [["critical", "critical"], ["ok", "unknown"]] as const) {
    const result = await observeAddresses(TARGET, options, (target) => {
      assert.deepStrictEqual(target, TARGET);
      return Promise.resolve({ condition, output: "x", detail: "", metrics: {}, performanceData: "" });
    });
    assert.strictEqual(result.condition, expected);
  }
});

Deno.test("readTlsFiles() lets a slow file system take as long as the check may", async () => {
  const asked: unknown[] = [];
  const stat: Files["stat"] = (path, options) => {
    asked.push([path, options?.timeoutMs]);
    return Promise.reject(new Deno.errors.NotFound());
  };
  const files = { ...createFiles(createFakeClock()), stat };
  await readTlsFiles({ caFile: "/ca.pem" }, { files, timeoutMs: 60_000 });
  assert.deepEqual(asked, [["/ca.pem", 60_000]]);
});
