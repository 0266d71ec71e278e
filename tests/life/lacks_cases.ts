/** Missing requirements of the config on a machine affect only the checks and channels that have them. */
import assert from "node:assert/strict";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import type { Event } from "./lines.ts";
import { withHarness } from "./program.ts";
import { startHook } from "./receivers.ts";
import { type Target, withTarget } from "./target.ts";

const test = concurrentTests("monitor: missing parts of the machine");
const testWithHarness = provided(withHarness, test);

const OK = { kind: "test", parameters: { condition: "ok" } };
const BAD = { kind: "test", parameters: { condition: "critical" } };

const request = (target: Target, others: Readonly<Record<string, unknown>>): unknown => ({
  kind: "http_request",
  parameters: { request: { ...target.parameters["request"] as Record<string, unknown>, ...others } },
});
const script = (path: string, environment: Readonly<Record<string, string>> = {}): unknown => ({
  kind: "script",
  parameters: { path, environment },
});
const TLS = { ca_file: "missing.pem" };
const CLIENT = { certificate: "missing.pem", key: "missing.key" };

/** The check, the reason in the warning of `validate`, and the output, if that is not `cannot run` for this reason. */
type Lack = readonly [check: (target: Target) => unknown, reason: string, output?: string];

const UNSET = 'the environment variable "NO_SUCH" is not set';

const LACKS: Readonly<Record<string, Lack>> = {
  "a command that is not in PATH": [
    () => script("no_such_command"),
    'the command "no_such_command" is not in PATH',
  ],
  "an environment variable": [
    (target) => request(target, { headers: { "X-Token": "${env:NO_SUCH}" } }),
    UNSET,
  ],
  "an environment variable in a URL": [(target) => request(target, { target: "${env:NO_SUCH}" }), UNSET],
  "an environment variable in a schedule": [
    () => ({ ...OK, schedule: { regular_interval: "${env:NO_SUCH}" } }),
    UNSET,
  ],
  "a usable value in an environment variable": [
    (target) => request(target, { target: "${env:EMPTY}" }),
    '"${env:EMPTY}" ',
  ],
  "a secret file": [
    () => script("./good.sh", { TOKEN: "${file:no_such}" }),
    'the file "no_such" cannot be read: file does not exist',
  ],
  "a CA file": [
    (target) => request(target, { target: "https://127.0.0.1:1/", tls: TLS }),
    'tls.ca_file: the file "missing.pem" cannot be read: file does not exist',
    "cannot read tls.ca_file ",
  ],
  "a client certificate": [
    (target) => request(target, { target: "https://127.0.0.1:1/", tls: CLIENT }),
    'tls.certificate: the file "missing.pem" cannot be read: file does not exist',
    "cannot read tls.certificate ",
  ],
};

const lackingChecks = (target: Target): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(LACKS).map(([name, [check]]) => [name, check(target)]));

const LACKING = { environment: { EMPTY: "" } };

test("monitor check --once: a check that lacks something is unknown with the reason, and the others run", () =>
  withTarget((target) =>
    withHarness(async (harness) => {
      harness.writeScript("good.sh", "exit 0");
      harness.writeConfig({ good: OK, bad: BAD, ...lackingChecks(target) });
      const { code, stdout, stderr } = await harness.runHere(
        ["check", "--once", "--format", "json"],
        LACKING,
      );
      assert.equal(code, 2, stderr);
      const { checks } = JSON.parse(stdout) as {
        checks: readonly { name: string; condition: string; output: string }[];
      };
      const conditions = checks.map(({ name, condition }) => [name, condition]);
      assert.deepEqual(conditions, [
        ["good", "ok"],
        ["bad", "critical"],
        ...Object.keys(LACKS).map((name) => [name, "unknown"]),
      ]);
      for (const [name, [, reason, output]] of Object.entries(LACKS)) {
        const shown = checks.find((check) => check.name === name)?.output ?? "";
        assert.ok(shown.includes(output ?? `cannot run: ${reason}`), `${name}: ${shown}`);
      }
      assert.equal(target.requests, 0);
      // The state is kept, and read without the secrets.
      assert.equal((await harness.runHere(["status"])).code, 2);
    })
  ));

testWithHarness(
  "monitor check: a service without a secret starts, and uses the secret that appears at a reload",
  async (harness) => {
    harness.writeScript("api.sh", 'echo "got $TOKEN"');
    harness.writeConfig({ good: OK, api: script("./api.sh", { TOKEN: "${file:token}" }) });
    const reload = async (): Promise<void> => {
      program.signal("SIGHUP");
      assert.deepEqual((await program.stdout.event("reload"))["changed"], ["api"]);
    };
    const program = harness.startHere(["check", "--format", "ndjson"]);
    await program.stderr.next(
      / warning: .*: the file "token" cannot be read: file does not exist; the check is unknown$/,
    );
    const isApi = ({ name }: Event): boolean => name === "api";
    const before = await program.stdout.event("result", isApi);
    assert.equal(before["condition"], "unknown");
    assert.equal(before["output"], 'cannot run: the file "token" cannot be read: file does not exist');
    Deno.writeTextFileSync(`${harness.directory}/token`, "the token of the API\n");
    await reload();
    const after = await program.stdout.event("result", isApi);
    assert.deepEqual([after["condition"], after["output"]], ["ok", "got [secret]"]);

    Deno.removeSync(`${harness.directory}/token`);
    await reload();
    assert.equal((await program.stdout.event("result", isApi))["condition"], "unknown");
    program.signal("SIGTERM");
    const { code, stdout, stderr } = await program.end();
    assert.equal(code, 0);
    assert.doesNotMatch(stdout + stderr, /the token of the API/);
  },
);

testWithHarness(
  "monitor check --once: the notification of a channel that lacks its secret is pending until it is there",
  async (harness) => {
    await using hook = startHook();
    const { target } = hook.channel["parameters"] as { target: string };
    const channel = { kind: "webhook", parameters: { target: "${file:hook}" } };
    harness.writeConfig({ bad: { ...BAD, notifications: [channel, hook.channel] } }, {
      state: "kept.sqlite",
    });
    const without = await harness.runHere(["check", "--once"]);
    assert.match(
      without.stderr,
      /the notification of "bad" not delivered to webhook .*: the file "hook" cannot be read: file does not exist; retrying/,
    );
    assert.equal(hook.posts.length, 1, "the other channel has it");
    Deno.writeTextFileSync(`${harness.directory}/hook`, target);
    assert.equal((await harness.runHere(["check", "--once"])).stderr, "");
    assert.equal(hook.posts.length, 2);
  },
);

testWithHarness(
  "monitor check: what the config as a whole lacks is left out with a warning",
  async (harness) => {
    harness.writeConfig({ bad: BAD }, {
      state: "kept.sqlite",
      heartbeat: { target: "http://127.0.0.1/${env:NO_SUCH}" },
      report: { path: "${env:NO_SUCH}" },
      metrics: { path: "${env:NO_SUCH}" },
      maintenance_windows: ["${env:NO_SUCH}", "00:00"].map((from) => ({ from, to: "24:00" })),
    });
    const { code, stderr } = await harness.runHere(["check", "--once"]);
    assert.equal(code, 2, stderr);
    for (
      const loss of [
        "no heartbeat is sent",
        "no HTML report is written",
        "no metrics are written",
        "the window is ignored",
      ]
    ) {
      assert.match(stderr, new RegExp(`the environment variable "NO_SUCH" is not set; ${loss}`));
    }
    const { checks } = JSON.parse((await harness.runHere(["status", "--format", "json"])).stdout);
    assert.match(JSON.stringify(checks), /maint/);
  },
);

testWithHarness(
  "monitor check: without a kind, or a place for the state, nothing can run",
  async (harness) => {
    harness.writeConfig({ bad: { ...BAD, kind: "${env:NO_SUCH}" } }, { state: "${file:no_such}" });
    const { code, stderr } = await harness.runHere(["check", "--once"]);
    assert.equal(code, 78);
    assert.match(stderr, /checks\.bad\.kind: the environment variable "NO_SUCH" is not set$/m);
    assert.match(stderr, /state: the file "no_such" cannot be read: file does not exist$/m);
  },
);

testWithHarness(
  "monitor permissions: refuses to list permissions while the machine lacks what the config names",
  async (harness) => {
    harness.writeConfig({ api: script("no_such_command") });
    const { code, stdout, stderr } = await harness.runHere(["permissions"]);
    assert.deepEqual([code, stdout], [78, ""]);
    assert.match(stderr, /the command "no_such_command" is not in PATH/);
  },
);

testWithHarness(
  "monitor notify: a channel that lacks something is not delivered to, and the others are",
  async (harness) => {
    await using hook = startHook();
    const lacking = { kind: "command", parameters: { path: "no_such_command" } };
    harness.writeConfig({ bad: { ...BAD, notifications: [lacking, hook.channel] } });
    const { code, stdout } = await harness.runHere(["notify"]);
    assert.equal(code, 69);
    assert.match(stdout, /not delivered: the command "no_such_command" is not in PATH/);
    assert.equal(hook.posts.length, 1);
  },
);
