/** `monitor beat` as run by cron: real commands, a real state, and every failure of either. */
import { requiresTools } from "../../testing/tools.ts";
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { shortOrFull } from "../../testing/full_form.ts";
import { until } from "./in_time.ts";
import { type Harness, withHarness } from "./program.ts";

const test = concurrentTests("monitor beat");
const testInAll = concurrentTests("monitor beat: more", requiresTools("time"));
const testInAllWithJob = provided(withJob, testInAll);

const JOB = { kind: "job", parameters: { expected_every: "1 day", duration_max: "1 hour" } };

function withJob(use: (harness: Harness) => Promise<void>): Promise<void> {
  return withHarness(async (harness) => {
    harness.writeConfig({ backup: JOB }, { state: "kept.sqlite" });
    await use(harness);
  });
}

interface KeptRun {
  readonly job: string;
  readonly end: Readonly<Record<string, unknown>> | null;
}

function runsIn({ directory }: Harness): readonly KeptRun[] {
  using database = new DatabaseSync(`${directory}/kept.sqlite`);
  const rows = database.prepare(
    "SELECT name, ending FROM job_runs JOIN jobs ON jobs.id = job_id ORDER BY job_runs.id",
  ).all();
  return rows.map(({ name, ending }) => ({
    job: String(name),
    end: ending === null ? null : JSON.parse(String(ending)),
  }));
}

/** Returns the present condition of the check and its output. */
async function verdict(
  harness: Harness,
): Promise<readonly [condition: string, output: string, detail: string]> {
  const { stdout } = await harness.runHere(["check", "--once", "--no-notify", "--format", "json", "backup"]);
  const { checks: [check] } = JSON.parse(stdout);
  return [check.condition, check.output, check.detail];
}

const beat = (...command: readonly string[]): readonly string[] => ["beat", "backup", "--", ...command];
const shell = (text: string): readonly string[] => beat("/bin/sh", "-c", text);

testInAll("monitor beat: a command runs as it would without", (add) => {
  type Row = readonly [
    args: readonly string[],
    code: number,
    output: RegExp,
    stdout?: string,
    stderr?: string,
  ];
  const rows: Readonly<Record<string, Row>> = {
    "a signal": [
      shell("kill -KILL $$"),
      137,
      /^failed at [\d: -]+ (?:UTC|[+-][\d:]+), terminated by SIGKILL after \d+ s$/,
    ],
    "a missing path": [
      beat("./no_such_file"),
      127,
      /, cannot start: file does not exist$/,
      "",
      'monitor: error: cannot start "./no_such_file": file does not exist\n',
    ],
    "a file that is no command": [
      beat("./monitor.json"),
      126,
      /, cannot start: file is not executable$/,
      "",
      'monitor: error: cannot start "./monitor.json": file is not executable\n',
    ],
    "a script without #!, which the shell runs": [beat("./plain", "--help -c"), 0, /^ended/, "<--help -c>\n"],
    "its environment and its directory": [
      shell('echo "$FOO $LD_LIBRARY_PATH"; ls plain'),
      0,
      /^ended/,
      "bar /nowhere\nplain\n",
    ],
  };
  for (const [name, [args, code, output, stdout = "", stderr = ""]] of Object.entries(rows)) {
    add(name, () =>
      withJob(async (harness) => {
        Deno.writeTextFileSync(`${harness.directory}/plain`, 'echo "<$1>"\n', { mode: 0o755 });
        const environment = { FOO: "bar", LD_LIBRARY_PATH: "/nowhere" };
        assert.deepEqual(await harness.run(args, { environment }), { code, stdout, stderr });
        const [seen, text] = await verdict(harness);
        assert.equal(seen, code === 0 ? "ok" : "critical");
        assert.match(text, output);
      }));
  }
});

testInAllWithJob(
  "monitor beat: the last lines of output are kept, and not the command line",
  async (harness) => {
    await harness.run(shell("seq 100; printf '10%%\\r100%%\\nno line end'; exit 1 # swordfish"));
    const [, output, detail] = await verdict(harness);
    assert.match(output, /: no line end$/);
    assert.deepEqual(detail.split("\n"), [
      ...[...Array(9).keys()].map((index) => String(index + 92)),
      "100%",
      "",
    ]);
    assert.ok(!Deno.readTextFileSync(`${harness.directory}/kept.sqlite`).includes("swordfish"));
  },
);

testInAllWithJob("monitor beat: bytes pass as they are, with and without a line end", async (harness) => {
  const bytes = new Uint8Array(300_000).map((_byte, index) => (index * 131 + (index >> 8) * 89) % 256);
  Deno.writeFileSync(`${harness.directory}/bytes`, bytes);
  const { code } = await harness.run(beat("cat", "bytes"), { shell: 'exec "$@" > copy' });
  assert.equal(code, 0);
  assert.deepEqual(Deno.readFileSync(`${harness.directory}/copy`), bytes);
  assert.equal((await verdict(harness))[0], "ok");
});

testInAll("monitor beat: nothing of monitor's keeps a command from running", (add) => {
  const rows: Readonly<Record<string, readonly [prepare: (harness: Harness) => void, stderr: RegExp]>> = {
    "a check of another kind": [
      (harness) => harness.writeConfig({ backup: { kind: "test", parameters: {} } }),
      /the check "backup" is not a job: its kind is "test"\n/,
    ],
    "an invalid config": [
      ({ directory }) => Deno.writeTextFileSync(`${directory}/monitor.json`, '{ "checks": {'),
      /monitor\.json": it is not JSON\n/,
    ],
    "a state that is no database": [
      ({ directory }) => Deno.writeTextFileSync(`${directory}/kept.sqlite`, "no database".repeat(99)),
      /start of this run not recorded;(.|\n)*the file is not a database\n(.|\n)*end of this run not/,
    ],
    "a state that is a directory": [
      ({ directory }) => Deno.mkdirSync(`${directory}/kept.sqlite`),
      /is a directory; name a file/,
    ],
    "a newer monitor's state": [({ directory }) => {
      using database = new DatabaseSync(`${directory}/kept.sqlite`);
      database.exec("PRAGMA application_id = 1835955314; PRAGMA user_version = 99; CREATE TABLE t (x)");
    }, /use the newer monitor/],
    // Root writes to any file, so the database is made to reject writes.
    "a state that may not be written": [({ directory }) => {
      using database = new DatabaseSync(`${directory}/kept.sqlite`);
      database.exec(
        "CREATE TABLE IF NOT EXISTS job_runs (x); " +
          "CREATE TRIGGER refuse BEFORE INSERT ON job_runs BEGIN SELECT RAISE(ABORT, 'refused'); END",
      );
    }, /start of this run not recorded(.|\n)*end of this run not recorded/],
  };
  for (const [name, [prepare, stderr]] of Object.entries(rows)) {
    add(name, () =>
      withJob(async (harness) => {
        await harness.runHere(["check", "--once", "--no-notify"]);
        if (name.startsWith("a state that is") || name.startsWith("a newer")) {
          Deno.removeSync(`${harness.directory}/kept.sqlite`);
        }
        prepare(harness);
        const end = await harness.run(shell("cat; exit 5"), { stdin: "its input" });
        assert.deepEqual([end.code, end.stdout], [5, "its input"], end.stderr);
        assert.match(end.stderr, stderr);
        assert.match(end.stderr, /monitor: warning: .*not recorded/);
      }));
  }
});

testInAllWithJob(
  "monitor beat: the command runs, and its run is kept, in a directory whose name is not UTF-8",
  async (harness) => {
    const [name, ...rest] = shell("echo ran; exit 5");
    const args = [name ?? "", "-c", `${harness.directory}/monitor.json`, ...rest];
    const end = await harness.run(args, {
      shell: 'odd=$(printf "a\\377b"); mkdir "$odd"; cd "$odd"; exec "$@"',
    });
    assert.deepEqual(end, { code: 5, stdout: "ran\n", stderr: "" });
    assert.deepEqual(runsIn(harness).map(({ end }) => end?.["exitCode"]), [5]);
    const relative = await harness.run(["beat", "-c", "../monitor.json", ...rest], {
      shell: 'cd "$(printf "a\\377b")"; exec "$@"',
    });
    assert.deepEqual([relative.code, relative.stdout], [5, "ran\n"]);
    assert.match(
      relative.stderr,
      /cannot find the working directory: .*\nmonitor: hint: write absolute paths\n/,
    );
  },
);

testInAll(
  "monitor beat: the runtime starts nothing with an argument that is not UTF-8, nor in a deleted directory",
  (add) => {
    // docs/guides/job_check_ins.md lists these limitations. The command runs once the runtime can start: then this fails.
    const table = {
      "an argument": '"$@" "$(printf "a\\377b")"; exit $?',
      "a deleted directory": 'mkdir gone; cd gone; rmdir ../gone; "$@"; exit $?',
    };
    for (const [name, text] of Object.entries(table)) {
      add(name, () =>
        withJob(async (harness) => {
          const { code, stdout } = await harness.run(shell("echo ran"), { shell: text });
          assert.notEqual(code, 0);
          assert.equal(stdout, "");
        }));
    }
  },
);

testInAllWithJob(
  "monitor beat: while others write, the command runs, and its start and its end are kept afterward",
  async (harness) => {
    assert.equal((await harness.run(["beat", "backup"])).code, 0);
    using lock = new DatabaseSync(`${harness.directory}/kept.sqlite`);
    lock.exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE");
    const program = harness.start(
      shell("echo ready; while [ ! -e go ]; do sleep 0.02; done; echo gone; exit 3"),
    );
    await program.stdout.next("ready");
    assert.equal(runsIn(harness).length, 1);
    lock.exec("ROLLBACK");
    await until("the start", () => runsIn(harness).length === 2);
    lock.exec("BEGIN IMMEDIATE");
    Deno.writeTextFileSync(`${harness.directory}/go`, "");
    await program.stdout.next("gone");
    assert.equal(runsIn(harness).at(-1)?.end, null);
    lock.exec("ROLLBACK");
    const { code, stderr } = await program.end();
    assert.deepEqual([code, stderr, runsIn(harness).at(-1)?.end?.["exitCode"]], [3, "", 3]);
  },
);

test("monitor beat: signals reach the command, whose end counts", (add) => {
  for (
    const [signal, code] of [["SIGINT", 130], ["SIGQUIT", 131], ["SIGUSR1", 138]] as const
  ) {
    add(`${signal} ends it`, () =>
      withJob(async (harness) => {
        const program = harness.start(beat("/bin/sh", "-c", `echo ready; exec sleep 300`));
        await program.stdout.next("ready");
        program.signal(signal);
        assert.equal((await program.end()).code, code);
        assert.match((await verdict(harness))[1], new RegExp(`^failed .* terminated by ${signal}`));
      }), requiresTools("time"));
  }
  add("it ends by itself, in its own time", () =>
    withJob(async (harness) => {
      const text = "trap 'echo tidy; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
      const program = harness.start(shell(text));
      await program.stdout.next("ready");
      program.signal("SIGTERM");
      const { code, stdout } = await program.end();
      assert.deepEqual([code, stdout], [9, "ready\ntidy\n"]);
    }));
  add("a hangup is survived, also under nohup", () =>
    withJob(async (harness) => {
      const text = `echo ready; while [ ! -e ${harness.directory}/go ]; do sleep 0.05; done; echo through`;
      const program = harness.start(shell(text), { shell: "trap '' HUP; exec \"$@\"" });
      await program.stdout.next("ready");
      program.signal("SIGHUP");
      Deno.writeTextFileSync(`${harness.directory}/go`, "");
      assert.deepEqual((await program.end()).stdout, "ready\nthrough\n");
    }), requiresTools("time"));
});

test("monitor beat: what a command leaves behind holds nothing up", (add) => {
  add("a silent process that holds the pipes", () =>
    withJob(async (harness) => {
      const end = await harness.run(shell("sleep 300 & echo gone"), {
        environment: { MONITOR_CHECK: harness.mark },
      });
      assert.deepEqual(end, { code: 0, stdout: "gone\n", stderr: "" });
      const durationMs = Number(runsIn(harness)[0]?.end?.["durationMs"]);
      assert.ok(durationMs < 60_000, `${durationMs} ms`);
    }));
  add("a process that floods them", () =>
    withJob(async (harness) => {
      const end = await harness.run(shell("yes & echo gone >&2"), { shell: '"$@" > /dev/null' });
      assert.deepEqual(end, { code: 0, stdout: "", stderr: "gone\n" });
    }), requiresTools("time"));
});

testInAllWithJob("monitor beat: a reader that goes ends the command as it would without", async (harness) => {
  const { stdout } = await harness.run(beat("yes"), { shell: '"$@" | head -n 1' });
  assert.equal(stdout, "y\n");
  assert.match((await verdict(harness))[1], /^failed .* terminated by SIGPIPE/);
});

testInAllWithJob("monitor beat: a full disk behind its output costs the output alone", async (harness) => {
  const { code } = await harness.run(shell("seq 100000; echo end; exit 6"), {
    shell: '"$@" > /dev/full',
  });
  assert.equal(code, 6);
  assert.match((await verdict(harness))[1], /with exit code 6 after \d+ s: end$/);
});

testInAll("monitor beat: a flood passes at once and takes no memory", () => {
  const megabytes = shortOrFull(64, 1024);
  return withJob(async (harness) => {
    const text = '"$@" | wc -c';
    const { code, stdout } = await harness.run(
      shell(`head -c ${megabytes}M /dev/zero; grep VmHWM /proc/$PPID/status > peak`),
      { shell: text },
    );
    assert.deepEqual([code, stdout.trim()], [0, String(megabytes * 1024 * 1024)]);
    const peak = /(\d+) kB/.exec(Deno.readTextFileSync(`${harness.directory}/peak`))?.[1];
    assert.ok(Number(peak) < 256 * 1024, `${peak} kB at most were in use`);
  });
});
