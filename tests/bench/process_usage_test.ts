import assert from "node:assert/strict";
import { forgetPeak, parseBytes, parseCpuMs, readUsage } from "../../bench/process_usage.ts";

const STAT = "4711 (a (b) c) S 1 4711 4711 0 -1 4194560 900 0 0 0 12 3 40 5 20 0 9 0 100 1000000 5000";
const STATUS = "Name:\tmonitor\nVmPeak:\t  900000 kB\nVmHWM:\t   98304 kB\nVmRSS:\t   65536 kB\n";

Deno.test("parseCpuMs() adds up the process and its terminated children, whatever the name of the command", () => {
  assert.strictEqual(parseCpuMs(STAT), (12 + 3 + 40 + 5) * 10);
});

Deno.test("parseCpuMs() rejects a line with too few fields", () => {
  assert.throws(() => parseCpuMs("4711 (true) Z 1 2"), {
    message: 'Cannot read processor time of "4711 (true) Z 1 2"',
  });
});

Deno.test("parseBytes() returns the size with that name", () => {
  assert.strictEqual(parseBytes(STATUS, "VmHWM"), 98_304 * 1024);
  assert.strictEqual(parseBytes(STATUS, "VmRSS"), 65_536 * 1024);
});

Deno.test("parseBytes() rejects the status of a process without memory", () => {
  assert.throws(() => parseBytes("Name:\ttrue\nState:\tZ (zombie)\n", "VmRSS"), {
    message: 'Cannot read "VmRSS" of a process: it says none',
  });
});

Deno.test({
  name: "readUsage() returns the resource usage of a process, and its peak since the last reset",
  ignore: Deno.build.os !== "linux",
  fn: () => {
    forgetPeak(Deno.pid);
    const before = readUsage(Deno.pid);
    assert.ok(before.cpuMs > 0);
    assert.ok(before.residentBytes > 0);
    assert.ok(before.peakBytes >= before.residentBytes);
    const large = new Uint8Array(200_000_000).fill(1);
    assert.ok(readUsage(Deno.pid).peakBytes >= before.residentBytes + large.length / 2);
    assert.ok(readUsage(Deno.pid).cpuMs >= before.cpuMs);
  },
});
