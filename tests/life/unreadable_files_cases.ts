/**
 * Files that block a process that opens them: named pipes without a writer, and a file system that never responds.
 */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { makePipe } from "../support/make_pipe.ts";
import { fixture } from "../support/processes.ts";
import { requiresTools } from "../../testing/tools.ts";
import { type Harness, withHarness } from "./program.ts";

const test = concurrentTests("monitor: files that block");
const testInAll = concurrentTests("monitor: files that block: more", requiresTools("time"));

const OK = { kind: "test", parameters: { condition: "ok" } };

/** Returns a shell command that runs the program with a file system that never responds on the directory `hung`. */
function withHungMount({ directory }: Harness): string {
  Deno.mkdirSync(`${directory}/hung`);
  const mount = `/usr/bin/python3 '${fixture("hung_mount.py")}' '${directory}/hung'`;
  return `exec unshare --user --map-root-user --mount ${mount} "$@"`;
}

test("monitor check: a config, include, secret or certificate file that is a pipe is an error, and nothing waits", (add) => {
  const certificate = {
    kind: "tls_certificate",
    parameters: { host: "127.0.0.1", port: 1, ca_file: "pipe" },
  };
  const request = {
    kind: "http_request",
    parameters: { request: { target: "https://127.0.0.1:1", tls: { ca_file: "pipe" } } },
  };
  const secret = { kind: "test", parameters: { output: "${file:pipe}" } };
  const NOT_REGULAR = "it is not a regular file\n";
  type Row = readonly [checks: Readonly<Record<string, unknown>>, code: number, shows: string];
  const rows: Readonly<Record<string, Row>> = {
    "the config": [{}, 78, `cannot read config "pipe": ${NOT_REGULAR}`],
    "a secret": [{ web: secret }, 3, `the file "pipe" cannot be read: ${NOT_REGULAR}`],
    "a CA file": [{ web: certificate }, 3, NOT_REGULAR],
    "a CA file of a request": [{ web: request }, 3, NOT_REGULAR],
  };
  for (const [name, [checks, code, shows]] of Object.entries(rows)) {
    add(name, () =>
      withHarness(async (harness) => {
        await makePipe(`${harness.directory}/pipe`);
        harness.writeConfig(checks);
        const args = code === 78 ? ["-c", "pipe"] : [];
        const end = await harness.runHere(["check", "--once", "--no-notify", ...args]);
        assert.equal(end.code, code, end.stderr);
        const shown = end.stdout + end.stderr;
        assert.ok(shown.includes(shows), shown);
      }));
  }
});

const RAN = ["/bin/sh", "-c", "echo ran; exit 5"];

async function runsItsJob(
  harness: Harness,
  args: readonly string[],
  { stderr, shell }: { readonly stderr: RegExp; readonly shell?: string },
): Promise<void> {
  harness.writeConfig({
    backup: { kind: "job", parameters: { expected_every: "1 day" } },
    web: { kind: "test", parameters: { output: "${file:pipe}" } },
  }, { state: "kept.sqlite" });
  await makePipe(`${harness.directory}/pipe`);
  const end = await harness.run(["beat", ...args, "backup", "--", ...RAN], {
    ...shell !== undefined && { shell },
  });
  assert.deepEqual([end.code, end.stdout], [5, "ran\n"], end.stderr);
  assert.match(end.stderr, stderr);
}

testInAll("monitor beat: a config or a secret that is a pipe keeps no command from running", (add) => {
  add(
    "the config",
    () =>
      withHarness((harness) =>
        runsItsJob(harness, ["-c", "pipe"], { stderr: /it is not a regular file\n.*not recorded/ })
      ),
  );
  add("a secret", () => withHarness((harness) => runsItsJob(harness, [], { stderr: /^$/ })));
});

testInAll(
  "monitor check: a reload from a pipe changes nothing and stops no check",
  () =>
    withHarness(async (harness) => {
      harness.writeConfig({ web: OK });
      const program = harness.start(["check", "--format", "ndjson"]);
      await program.stdout.event("result");
      Deno.removeSync(`${harness.directory}/monitor.json`);
      await makePipe(`${harness.directory}/monitor.json`);
      program.signal("SIGHUP");
      await program.stderr.next("it is not a regular file");
      await program.stdout.event("result");
      program.signal("SIGTERM");
      assert.equal((await program.end()).code, 0);
    }),
);

testInAll("monitor: a file system that hangs stops neither checks nor the command of a job", () =>
  // At once, because each waits for some timeouts of two seconds.
  Promise.all([
    withHarness(async (harness) => {
      harness.writeConfig({ web: OK });
      const program = harness.start(["check", "--format", "ndjson"], { shell: withHungMount(harness) });
      await program.stdout.event("result");
      Deno.removeSync(`${harness.directory}/monitor.json`);
      Deno.symlinkSync("hung/monitor.json", `${harness.directory}/monitor.json`);
      program.signal("SIGHUP");
      // While the reload waits.
      await program.stdout.event("result");
      await program.stderr.next("the file system did not respond within 2 s");
      program.signal("SIGTERM");
      assert.equal((await program.end()).code, 0);
    }),
    withHarness((harness) =>
      runsItsJob(harness, ["-c", "hung/m.json"], {
        shell: withHungMount(harness),
        stderr: /did not respond within 2 s\n.*this run is not recorded/,
      })
    ),
    withHarness((harness) =>
      runsItsJob(harness, ["--state", "hung/kept.sqlite"], {
        shell: withHungMount(harness),
        stderr:
          /did not respond within 2 s\n.*start of this run not.*\n.*did not respond within 2 s\n.*end of this run/,
      })
    ),
  ]).then(() => {}), requiresTools("python3"));
