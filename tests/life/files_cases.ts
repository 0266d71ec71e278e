/** Files that the program leaves on the disk, and files that block a process that opens them. */
import assert from "node:assert/strict";
import { requiresTools, testWith } from "../../testing/tools.ts";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { type Harness, withHarness } from "./program.ts";
import { makePipe } from "../support/make_pipe.ts";
import { fixture } from "../support/processes.ts";

const test = concurrentTests("monitor check: files");

const BAD = { kind: "test", parameters: { condition: "critical", output: "down" } };

/** The files of the state, by the ends of their names. */
const STATE = ["", "-wal", "-shm", ".lock"] as const;

test("monitor check: whatever the umask, state, journal and lock are for their owner alone, in a directory of his own", (add) => {
  for (const umask of ["000", "022", "077"]) {
    add(`umask ${umask}`, () =>
      withHarness(async (harness) => {
        harness.writeConfig({ bad: BAD }, {
          state: "made/kept.sqlite",
          report: { path: "page.html" },
          metrics: { path: "monitor.prom" },
          heartbeat: { path: "alive" },
        });
        const program = harness.start(["check"], { shell: `umask ${umask}; exec "$@"` });
        await program.stdout.next(/ bad is critical/);
        const silence = ["silence", "bad", "--for", "1h"];
        const held = umask === "022"
          ? await harness.runHere(silence)
          : await harness.run(silence, { shell: `umask ${umask}; exec "$@"` });
        assert.equal(held.code, 0, held.stderr);
        for (const end of STATE) assert.equal(modeOf(harness, `made/kept.sqlite${end}`), 0o600, end);
        assert.equal(modeOf(harness, "made"), 0o700);
        program.signal("SIGTERM");
        assert.equal((await program.end()).code, 0);
        // Files of other names would be forgotten here: nothing else is made.
        assert.deepEqual(namesIn(harness, "made").filter((name) => !/-(wal|shm)$/.test(name)), [
          "kept.sqlite",
          "kept.sqlite.lock",
        ]);
        // These are readable by others, as far as the umask allows it; they contain no secret.
        const open = 0o666 & ~parseInt(umask, 8);
        for (const name of ["page.html", "monitor.prom", "alive"]) {
          assert.equal(modeOf(harness, name), open, name);
        }
        assert.ok(!namesIn(harness, ".").some((name) => name.endsWith(".tmp")));
      }), umask === "022" ? {} : requiresTools("time"));
  }
});

testWith("root")(
  "monitor check: a state of another user is rejected, unless root runs it, which keeps the owner",
  async () => {
    const OTHER = 65_534;
    // Another id for the same user, so that the program still reaches the packages of the source.
    const asOther = 'exec unshare --user --map-user=1000 -- "$@"';
    await withHarness(async (harness) => {
      harness.writeConfig({ bad: BAD }, { state: "kept.sqlite" });
      assert.equal((await harness.runHere(["check", "--once"])).code, 2);
      // Any user may write to the pipe: only the owner's id counts.
      Deno.chmodSync(`${harness.directory}/kept.sqlite`, 0o666);
      Deno.chownSync(`${harness.directory}/kept.sqlite`, OTHER, OTHER);
      assert.equal((await harness.runHere(["check", "--once"])).code, 2);
      assert.equal(Deno.statSync(`${harness.directory}/kept.sqlite`).uid, OTHER);
      const before = Deno.readFileSync(`${harness.directory}/kept.sqlite`);
      const { code, stderr } = await harness.run(["check", "--once"], { shell: asOther });
      assert.equal(code, 74, stderr);
      assert.match(stderr, /belongs to another user \(id 65534\)/);
      assert.deepEqual(Deno.readFileSync(`${harness.directory}/kept.sqlite`), before);
    });
  },
);

function modeOf({ directory }: Harness, name: string): number {
  return (Deno.lstatSync(`${directory}/${name}`).mode ?? 0) & 0o7777;
}

function namesIn({ directory }: Harness, name: string): readonly string[] {
  return [...Deno.readDirSync(`${directory}/${name}`)].map((entry) => entry.name).sort();
}

Deno.test("monitor: neither the published page nor monitor report -o overwrites the config or the state", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: BAD });
    const environment = { XDG_STATE_HOME: `${harness.directory}/states` };
    assert.equal((await harness.runHere(["check", "--once"], { environment })).code, 2);
    const [state = ""] = namesIn(harness, "states/monitor").filter((name) => name.endsWith(".sqlite"));
    Deno.symlinkSync("states/monitor", `${harness.directory}/link`);
    const before = Deno.readFileSync(`${harness.directory}/states/monitor/${state}`);
    for (
      const [path, what] of [
        ["monitor.json", "this config itself"],
        [`link/${state}`, "the file of the state"],
        [`states/monitor/${state}.lock`, "the lock file of the state"],
      ] as const
    ) {
      const { code, stderr } = await harness.runHere(["report", "-o", path], { environment });
      assert.equal(code, 64, stderr);
      assert.ok(stderr.includes(`--output is ${what}, expected a file of its own`), stderr);
    }
    harness.writeConfig({ bad: BAD }, { report: { path: `link/${state}` } });
    for (
      const command of [["validate"], ["check", "--once", "--due"], ["report", "-o", "other.html"]]
    ) {
      const { code, stderr } = await harness.runHere(command, { environment });
      assert.equal(code, 78, stderr);
      assert.ok(stderr.includes("report.path: is the file of the state, expected a file of its own"), stderr);
    }
    assert.deepEqual(Deno.readFileSync(`${harness.directory}/states/monitor/${state}`), before);
    harness.writeConfig({ bad: BAD }, { state: "kept.sqlite", report: { path: "other.sqlite-wal" } });
    const { code, stderr } = await harness.runHere(["check", "--once", "--state", "other.sqlite"]);
    assert.equal(code, 78, stderr);
    assert.ok(stderr.includes("report.path: is the -wal file of the state,"), stderr);
  }));

// Files that block a process that opens them: named pipes without a writer, and a file system that never responds.

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

const CRITICAL = { kind: "test", parameters: { condition: "critical" } };

test("monitor check: a truncated -shm file ends it with SIGBUS, and the state is as it was", () =>
  withHarness(async (harness) => {
    harness.writeConfig({ bad: CRITICAL }, { state: "kept.sqlite" });
    const program = harness.start(["check", "--format", "ndjson"]);
    await program.stdout.event("result");
    Deno.truncateSync(`${harness.directory}/kept.sqlite-shm`, 0);
    // 128 and the signal's number.
    assert.equal((await program.end()).code, 135);
    assert.equal((await harness.runHere(["check", "--once"])).code, 2);
    const { stdout, stderr } = await harness.runHere(["status"]);
    assert.match(stdout, /CRITICAL\s+bad/);
    assert.equal(stderr, "");
  }));
