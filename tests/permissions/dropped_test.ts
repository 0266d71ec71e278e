/** The permissions that a process with all permissions drops, because its config does not require them. */
import assert from "node:assert/strict";
import { requiresTools } from "../../testing/tools.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { withHarness } from "../life/program.ts";

const test = concurrentTests("monitor check: dropped permissions");

const OK = { kind: "test", parameters: { condition: "ok" } };

test(
  "monitor check: a reload that needs what was given up at the start is refused, and the old config goes on",
  (add) => {
    const additions: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
      [
        "a program",
        { kind: "script", parameters: { path: "./probe.sh", arguments: [] } },
        /--allow-run=.*probe\.sh \(check "added"\)/,
      ],
      ["a variable", { ...OK, title: "${env:ADDED}" }, /the environment variable "ADDED" cannot be read/],
    ];
    for (const [what, added, reason] of additions) {
      add(what, () =>
        withHarness(async (harness) => {
          harness.writeScript("probe.sh", "exit 0");
          harness.writeConfig({ fine: OK });
          const program = harness.start(["check", "--format", "ndjson", "--state", "none"], {
            environment: { ADDED: "value" },
          });
          await program.stdout.event("result");
          harness.writeConfig({ fine: OK, added });
          program.signal("SIGHUP");
          const { adopted } = await program.stdout.event("reload");
          assert.strictEqual(adopted, false);
          await program.stdout.event("result", ({ name }) => name === "fine");
          program.signal("SIGTERM");
          const { code, stderr } = await program.end();
          assert.strictEqual(code, 0);
          assert.match(stderr, reason);
          assert.match(stderr, /the old one stays active: .*restart to grant it/);
        }), requiresTools("time"));
    }
  },
);

test("monitor check: a reload that needs nothing new is adopted, secrets that were read before included, no other", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ fine: { ...OK, title: "${env:KNOWN}" } });
    const program = harness.start(["check", "--format", "ndjson", "--state", "none"], {
      environment: { KNOWN: "a title", ADDED: "value" },
    });
    await program.stdout.event("result");
    harness.writeConfig({ fine: { ...OK, title: "${env:KNOWN}" }, added: OK });
    program.signal("SIGHUP");
    const { adopted, added } = await program.stdout.event("reload");
    assert.deepStrictEqual([adopted, added], [true, ["added"]]);
    harness.writeConfig({ fine: { ...OK, title: "${env:ADDED}" } });
    program.signal("SIGHUP");
    const event = await program.stdout.event("reload", (event) => event["adopted"] !== true);
    assert.strictEqual(event["adopted"], false);
    await program.stderr.next(/the environment variable "ADDED" cannot be read/);
  }));
