import assert from "node:assert/strict";
import { fixture } from "../support/processes.ts";
import { pingKind } from "../../src/checks/ping.ts";
import { CHECK_KINDS } from "../../src/checks/registry.ts";
import type { CheckKind, CheckOf, CheckResult } from "../../src/domain/check.ts";
import type { PingParameters } from "../../src/domain/generated/config.ts";
import { testWith, tool } from "../../testing/tools.ts";
import { testCheck } from "../support/checks.ts";
import { concurrentSteps } from "../support/concurrent_tests.ts";
import { fieldsOf, linesOf } from "../support/rows.ts";
import { observeCheck } from "../support/observe_check.ts";
import { tempDirectory } from "../../testing/builders.ts";

function pingCheck(parameters: Partial<PingParameters> = {}): CheckOf<"ping"> {
  return {
    ...testCheck("ok"),
    kind: "ping",
    parameters: {
      host: "127.0.0.1",
      count: 1,
      loss: { warningAbove: { percent: 20 }, criticalAbove: { percent: 60 } },
      roundTrip: {},
      ...parameters,
    },
  };
}

function observe(parameters: Partial<PingParameters>, timeoutMs = 10_000): Promise<CheckResult> {
  const { kind, parameters: all } = pingCheck(parameters);
  return observeCheck({ kind, parameters: all }, { timeoutMs });
}

/** Pings with a command that is a shell script; ⏎ is a line break. */
async function observeScript(
  script: string,
  parameters: Partial<PingParameters> = {},
  timeoutMs = 10_000,
): Promise<CheckResult> {
  await using temporary = await tempDirectory();
  const command = `${temporary.path}/ping`;
  await Deno.writeTextFile(`${command}.sh`, `${script.replaceAll("⏎", "\n")}\n`);
  await Deno.symlink(fixture("run_alongside.sh"), command);
  return await observe({ command, ...parameters }, timeoutMs);
}

testWith("ping")("observePing() pings this machine with iputils", async () => {
  for (const host of ["127.0.0.1", "localhost"]) {
    const { condition, output, metrics } = await observe({ host });
    assert.match(output, /^lost 0% \(0 of 1\); round trip [\d.]+ ms$/);
    assert.strictEqual(condition, "ok");
    assert.strictEqual(metrics.lost_percent, 0);
    assert((metrics.round_trip_ms ?? 0) > 0);
  }
  const unresolved = await observe({ host: "unknown.invalid" });
  assert.strictEqual(unresolved.condition, "critical");
  assert.match(unresolved.output, /ping: unknown\.invalid: /);
});

testWith("busybox")("observePing() pings this machine with BusyBox", async () => {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  await Deno.symlink(tool("busybox"), `${directory}/ping`);
  const { output } = await observe({ command: `${directory}/ping` });
  assert.match(output, /^lost 0% \(0 of 1\); round trip [\d.]+ ms$/);
});

const IPUTILS =
  "4 packets transmitted, 3 received, 25% packet loss, time 3004ms⏎rtt min/avg/max/mdev = 0.640/153.25/999.764/0.062 ms";
const MACOS = "4 packets transmitted, 4 packets received, 0.0% packet loss⏎" +
  "round-trip min/avg/max/stddev = 0.053/0.085/0.117/0.032 ms";
const DUPLICATES = "2 packets transmitted, 2 received, +2 duplicates, 0% packet loss, time 1001ms⏎" +
  "rtt min/avg/max/mdev = 1.0/2.0/3.0/0.1 ms";
const UNREACHABLE = "3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2042ms⏎pipe 3";

/** The behavior of a command, and the expected result. */
const COMMANDS = String.raw`
  loss            | echo '${IPUTILS}' | | ^warning: lost 25% \(1 of 4\), warning above 20%; round trip 153\.25 ms$
  a slow reply    | echo '${IPUTILS}' | loss={} roundTrip.warningAboveMs=100 roundTrip.criticalAboveMs=150 | \
    ^critical: lost 25% \(1 of 4\); round trip 153\.25 ms, critical above 150 ms$
  macOS           | echo '${MACOS}' | | ^ok: lost 0% \(0 of 4\); round trip 0\.09 ms$
  duplicates      | echo '${DUPLICATES}' | | ^ok: lost 0% \(0 of 2\); round trip 2 ms$
  no reply        | echo '${UNREACHABLE}'; exit 1 | | ^critical: no reply from 127\.0\.0\.1 to 3 pings$
  no route        | echo 'ping: connect: Network is unreachable' >&2; exit 2 | | \
    ^critical: ping: connect: Network is unreachable$
  no right to send | echo 'ping: socktype: SOCK_RAW' >&2; echo 'ping: socket: not permitted' >&2; exit 2 | | \
    ^unknown: .*ping" failed with exit code 2: ping: socktype: SOCK_RAW$
  no times        | echo '2 packets transmitted, 2 received, 0% packet loss' | roundTrip.warningAboveMs=100 | \
    ^unknown: lost 0% \(0 of 2\); ping printed no round-trip time$
  a signal        | kill -9 $$ | | ^unknown: .*ping" was terminated by SIGKILL$
  no requests     | echo '0 packets transmitted, 0 received, 0% packet loss' | | ^unknown: .*no summary
  a flood         | for i in 1 2 3 4 5 6 7 8 9; do printf '%0300000d packets transmitted, 1 received' 1; done | | \
    ^unknown: .*no summary
  a long line with control characters | printf '\033[31m%0300d' 1 >&2; exit 1 | | ^unknown: .*: .\[31m0+…$
  a hang          | sleep 60 | | ^critical: timeout after 1 s while pinging 127\.0\.0\.1$`;

Deno.test("observePing() parses any output of the command", async (t) => {
  await using steps = concurrentSteps(t);
  for (const [name = "", script = "", parameters = "", expected = ""] of linesOf(COMMANDS)) {
    steps.add(name, async () => {
      const given = fieldsOf<Partial<PingParameters>>(parameters);
      const { condition, output } = await observeScript(script, given, name === "a hang" ? 1000 : 10_000);
      assert.match(`${condition}: ${output}`, new RegExp(expected));
    });
  }
});

Deno.test("observePing() has the thresholds of the loss in the metrics, without any reply, too", async () => {
  const { metrics } = await observeScript(`echo '${UNREACHABLE}'; exit 1`);
  assert.deepStrictEqual(metrics, {
    lost: 3,
    lost_percent: 100,
    lost_percent_warning_above: 20,
    lost_percent_critical_above: 60,
  });
});

Deno.test("observePing() passes a host as one argument that is no option, and an empty environment", async () => {
  const { output } = await observeScript('echo "$* $LC_ALL $HOME" >&2', { host: "-f", count: 3 });
  assert.match(output, /: -n -q -c 3 -W 7 -- -f C\.UTF-8$/);
});

Deno.test("pingKind rejects more requests than fit into the timeout", () => {
  assert.deepStrictEqual(pingKind.errors?.(pingCheck({ count: 11 })), [{
    path: ["count"],
    message: "is 11, one a second, expected at most 10 with this timeout",
  }]);
  assert.deepStrictEqual(pingKind.errors?.(pingCheck({ count: 10 })), []);
});

Deno.test("a target that responded in part has responded, so connectivity does not excuse it", async () => {
  const part = { condition: "critical", output: "", detail: "", performanceData: "" } as const;
  const rows: readonly (readonly [
    kind: CheckKind,
    metrics: Readonly<Record<string, number>>,
    hasResponded: boolean,
  ])[] = [
    ["ping", { lost_percent: 80 }, true],
    ["ping", { lost_percent: 100 }, false],
    ["ping", {}, false],
    ["websocket", { connect_ms: 1, total_ms: 2 }, true],
    ["websocket", { total_ms: 2 }, false],
    ["grpc_health", { connect_ms: 1, total_ms: 2 }, true],
    ["postgres_query", { connect_ms: 1, total_ms: 2 }, true],
    ["postgres_query", { total_ms: 2 }, false],
    ["redis_command", { connect_ms: 1, total_ms: 2 }, true],
    ["domain_expiry", {}, true],
    ["container", {}, true],
    ["dns_lookup", { records: 0, lookup_ms: 1 }, true],
    ["dns_lookup", { lookup_ms: 1 }, false],
    ["ntp", { stratum: 3 }, true],
    ["ntp", {}, false],
  ];
  for (const [kind, metrics, expected] of rows) {
    const { hasResponded } = await CHECK_KINDS[kind]();
    assert.equal(hasResponded?.({ ...part, metrics }), expected, `${kind} ${JSON.stringify(metrics)}`);
  }
});
