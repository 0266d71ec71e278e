import assert from "node:assert/strict";
import type { CheckResult } from "../../src/domain/check.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type { ProcessEnd } from "../../src/domain/processes.ts";
import { networkInterfaceKind } from "../../src/checks/network_interface.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { testWith, tool } from "../../testing/tools.ts";
import { testCheck } from "../support/checks.ts";
import { endOf } from "../support/fake_commands.ts";

const PARAMETERS = { name: "eth0", received: {}, sent: {}, errors: {} };

interface Printed {
  readonly flags?: readonly string[];
  readonly received?: number;
  readonly sent?: number;
  readonly errors?: number;
}

/** As `ip -j -s link show` of iproute2 6.1 prints it. */
function printed({ flags = ["UP", "LOWER_UP"], received = 0, sent = 0, errors = 0 }: Printed): string {
  return JSON.stringify([{
    ifname: "eth0",
    flags: ["BROADCAST", ...flags],
    operstate: "UNKNOWN",
    stats64: {
      rx: { bytes: received, packets: 1, errors, dropped: 1 },
      tx: { bytes: sent, packets: 1, errors: 0, dropped: 0 },
    },
  }]);
}

interface RunOptions {
  readonly parameters?: object;
  /** @default a state without any */
  readonly memory?: string | null | undefined;
  readonly atMs?: number;
  readonly system?: Partial<ObserveContext["system"]>;
}

function observe(end: ProcessEnd, options: RunOptions = {}): Promise<CheckResult> {
  const { parameters = {}, atMs = 1_000_000, system = {} } = options;
  const { clock, ...own } = createMemorySystem();
  const check = {
    ...testCheck("ok", {}),
    ...{ kind: "network_interface" as const, parameters: { ...PARAMETERS, ...parameters } },
  };
  return networkInterfaceKind.observe(check, {
    system: {
      ...own,
      platform: "linux",
      hostName: () => "here",
      clock: { ...clock, wallMs: () => atMs },
      processes: { run: () => Promise.resolve(end) },
      ...system,
    },
    ...(!("memory" in options) || options.memory !== undefined) && { memory: options.memory ?? null },
    jobs: null,
    directory: "/",
    signal: new AbortController().signal,
  });
}

/** The result of a run 10 seconds after another. */
async function observeAfter(first: Printed, second: Printed, options: RunOptions = {}): Promise<CheckResult> {
  const { memory } = await observe(endOf(printed(first)), options);
  return await observe(endOf(printed(second)), { ...options, memory: memory ?? null, atMs: 1_010_000 });
}

const shown = ({ condition, output }: CheckResult): string => `${condition}: ${output}`;

Deno.test("network_interface is critical without a carrier, if it is down and if it does not exist", async () => {
  assert.equal(shown(await observe(endOf(printed({})))), "ok: up");
  assert.equal(shown(await observe(endOf(printed({ flags: ["UP"] })))), "critical: down");
  assert.equal(shown(await observe(endOf(printed({ flags: [] })))), "critical: down");
  assert.equal(
    shown(await observe(endOf("[]", { code: 1, stderr: 'Device "eth0" does not exist.\n' }))),
    'critical: the interface "eth0" does not exist',
  );
});

Deno.test("network_interface compares traffic and errors since the last run with thresholds", async () => {
  const before = { received: 5_000_000, sent: 100, errors: 7 };
  assert.equal(
    shown(await observeAfter(before, { received: 25_000_000, sent: 1_100, errors: 7 })),
    "ok: up; received per second 2 MB; sent per second 100 B; errors 0",
  );
  const parameters = {
    received: { warningAboveBytes: 1e6 },
    sent: { criticalAboveBytes: 1e3 },
    errors: { warningAbove: 2 },
  };
  const loud = await observeAfter(before, { received: 25_000_000, sent: 20_100, errors: 10 }, { parameters });
  assert.equal(
    shown(loud),
    "critical: up; received per second 2 MB, warning above 1 MB; sent per second 2 kB, critical above 1 kB; " +
      "errors 3, warning above 2",
  );
  assert.equal(loud.metrics["received_per_second_bytes"], 2e6);
  assert.equal(
    (await observeAfter(before, { ...before, flags: ["UP"] }, { parameters })).condition,
    "critical",
  );
});

Deno.test("network_interface has no rates where nothing was counted", async () => {
  const parameters = { received: { warningAboveBytes: 1 } };
  const first = await observe(endOf(printed({ received: 9 })), { parameters });
  assert.equal(shown(first), "unknown: up; the next run has the first rates");
  assert.equal(first.awaits, "checks");
  const stateless = await observe(endOf(printed({})), { parameters, memory: undefined });
  assert.equal(
    shown(stateless),
    "unknown: up; no rates: no state is stored, and they are those since the last run",
  );
  assert.equal(stateless.awaits, undefined);
  const restarted = await observeAfter({ received: 9e9 }, { received: 10 }, { parameters });
  assert.equal(shown(restarted), "unknown: up; the next run has the first rates");
  const down = await observe(endOf(printed({ flags: [] })), { parameters, memory: undefined });
  assert.equal(shown(down), "critical: down");
  const elsewhere = await observe(endOf(printed({ received: 99 })), {
    parameters,
    memory: first.memory ?? null,
    atMs: 1_010_000,
    system: { hostName: () => "elsewhere" },
  });
  assert.equal(elsewhere.condition, "unknown");
  const setBack = await observe(endOf(printed({ received: 99 })), {
    parameters,
    memory: first.memory ?? null,
    atMs: 990_000,
  });
  assert.equal(setBack.awaits, "checks");
});

Deno.test("network_interface is unknown if ip prints anything else", async () => {
  const old = endOf("", { code: 1, stderr: "ip: unrecognized option: j\n" });
  assert.equal(
    shown(await observe(old)),
    'unknown: "/sbin/ip" failed with exit code 1: ip: unrecognized option: j',
  );
  for (const text of ["", "[]", "{}", "null", '[{"flags":"UP"}]', '[{"flags":["UP","LOWER_UP"]}]', "[[]]"]) {
    const { condition, output } = await observe(endOf(text));
    assert.equal(condition, "unknown", text);
    assert.match(output, /^"\/sbin\/ip" printed no JSON of an interface/, text);
  }
  assert.match(shown(await observe(endOf(""), { system: { platform: "darwin" } })), /^unknown: only Linux/);
});

testWith("ip")("network_interface reads the counters of this machine", async () => {
  const { processes, clock } = createMemorySystem();
  const system = { processes, clock };
  const parameters = { name: "lo", command: tool("ip") };
  const first = await observe(endOf(""), { parameters, system });
  assert.equal(shown(first), "ok: up");
  const memory = JSON.parse(first.memory ?? "");
  const second = await observe(endOf(""), {
    parameters,
    system: { processes, clock: { ...clock, wallMs: () => memory.atMs + 1_000 } },
    memory: first.memory ?? null,
  });
  assert.match(shown(second), /^ok: up; received per second .*; sent per second .*; errors \d+$/);
  const missing = await observe(endOf(""), { parameters: { ...parameters, name: "nope0" }, system });
  assert.equal(shown(missing), 'critical: the interface "nope0" does not exist');
});
