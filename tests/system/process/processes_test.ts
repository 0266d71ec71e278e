import assert from "node:assert/strict";
import type { ProcessEnd } from "../../../src/domain/processes.ts";
import { createRealClock } from "../../../testing/real_clock.ts";
import { createProcesses } from "../../../src/system/process/processes.ts";
import { until } from "../../life/in_time.ts";
import { concurrentTests } from "../../support/concurrent_tests.ts";
import { makePipe } from "../../support/make_pipe.ts";
import {
  fixture,
  fixtureCommand,
  killMarked,
  livingProcesses,
  newMark,
  untilGone,
} from "../../support/processes.ts";
import { fieldsOf, linesOf, type Rows, testRows } from "../../support/rows.ts";
import { type ChildEnd, requiresTools, runChild, tool } from "../../../testing/tools.ts";
import { tempDirectory } from "../../../testing/builders.ts";
import fc from "../../support/property.ts";
import { createOutputTail } from "../../../src/system/process/foreground.ts";
import { fileURLToPath } from "node:url";
import { runArguments } from "../../../testing/source.ts";

const test = concurrentTests("createProcesses()");

/** Far beyond every limit used here, far below the ten minutes that the fixtures sleep. */
const SOON_MS = 120_000;

const processes = createProcesses(createRealClock(), { terminationGraceMs: 500, killWaitMs: SOON_MS });
const never = new AbortController().signal;

test("run() ends whatever a program started, and tells how it ended", (add) => {
  const table = `
    runs for ever                     | forever.sh                | timed out                  | running
    ignores SIGTERM                   | ignore_sigterm.sh         | timed out                  | ignoring
    its child ignores SIGTERM         | survive_leader.sh         | timed out                  | waiting
    stops itself                      | stop_itself.sh            | timed out                  | stopping
    closes its pipes and sleeps       | close_stdout_and_sleep.sh | timed out                  | closing
    a grandchild keeps the pipes open | fork_grandchild.sh        | exited code=1 leftovers=true | left a grandchild
    a grandchild closed the pipes     | leave_silent_grandchild.sh | exited code=0 leftovers=true | left a silent grandchild`;
  for (const [name = "", program = "", end = "", stdout] of linesOf(table)) {
    add(name, async () => {
      const mark = newMark();
      const startMs = performance.now();
      const seen = await processes.run(fixtureCommand(program, { mark, timeoutMs: 700 }), never);
      assert.ok(performance.now() - startMs < SOON_MS);
      await untilGone(mark);
      assert.deepEqual(seen, {
        ...end === "timed out"
          ? { ended: "timed_out", survives: false }
          : { ended: "exited", ...fieldsOf<object>(end) },
        stdout: { text: `${stdout}\n`, truncated: false },
        stderr: { text: "", truncated: false },
      });
    });
  }
});

test("run() comes back although a process that left the group holds the pipes", async () => {
  const mark = newMark();
  try {
    const end = started(await processes.run(fixtureCommand("leave_group.sh", { mark }), never));
    assert.deepEqual([end.ended, end.stdout.text], ["exited", "left\n"]);
    assert.equal(livingProcesses(mark).length, 1, "the documented escape");
  } finally {
    killMarked(mark);
  }
  await untilGone(mark);
});

Deno.test("run() keeps the configured part of a flood", async () => {
  const mark = newMark();
  // In a separate process: other tests grow this one.
  const { stdout, stderr } = await denoRun([
    "--allow-all",
    fixture("measure_program.ts"),
    JSON.stringify(fixtureCommand("flood_both.sh", { mark, timeoutMs: 500 })),
  ]);
  assert.equal(stderr, "");
  const { end, grownBytes } = JSON.parse(stdout);
  await untilGone(mark);
  assert.deepEqual([end.ended, end.stdout.truncated], ["timed_out", true]);
  assert.deepEqual([end.stdout.text.length, end.stderr.text.length], [65536, 65536]);
  assert.ok(grownBytes < 100 * 2 ** 20, `memory grew by ${grownBytes} bytes`);
});

test("run() reads to the end what it does not keep", async () => {
  const end = await processes.run(
    fixtureCommand("print_megabytes.sh", { arguments: ["4"], outputBytesMax: 20 }),
    never,
  );
  assert.deepEqual(end, {
    ended: "exited",
    code: 2,
    leftovers: false,
    stdout: { text: "first line\n123456789", truncated: true },
    stderr: { text: "", truncated: false },
  });
});

test("run() decodes output as UTF-8, and leaves no garbage of a truncated character", async () => {
  const stdoutOf = async (name: string, options = {}): Promise<object> =>
    started(await processes.run(fixtureCommand(name, options), never)).stdout;
  const split = (count: number) =>
    stdoutOf("split_character.sh", { arguments: [`${count}`], outputBytesMax: 8 });
  assert.deepEqual(await split(6), { text: "aaaaaa", truncated: true });
  assert.deepEqual(await split(5), { text: "aaaaa€", truncated: true });
  assert.deepEqual(await stdoutOf("invalid_utf8.sh"), { text: "temperature 21 \uFFFDC\n", truncated: false });
});

test("run() names the signal that ended a program", (add) => {
  for (const [argument, signal] of [["SEGV", "SIGSEGV"], ["KILL", "SIGKILL"], ["TERM", "SIGTERM"]] as const) {
    add(argument, async () => assert.deepEqual(await runToSignal(argument), signalled(argument, signal)));
  }
});

Deno.test({
  name: "run() names a real-time signal by its number",
  // The runtime cannot report the end of such a child, and then keeps its status (no descriptor) for ever.
  sanitizeResources: false,
  fn: async (t) => {
    for (const argument of ["34", "64"]) {
      await t.step(
        argument,
        async () => assert.deepEqual(await runToSignal(argument), signalled(argument, argument)),
      );
    }
  },
});

test("run() gives exactly the environment, the working directory and an empty stdin", async () => {
  const print = { path: "/usr/bin/env", environment: { A: "1", "WITH SPACE": "ä=b" }, directory: "/usr" };
  const environment = started(await processes.run(fixtureCommand("", print), never)).stdout.text;
  assert.deepEqual(environment.trimEnd().split("\n").sort(), ["A=1", "WITH SPACE=ä=b"]);
  const directory = started(
    await processes.run(fixtureCommand("", { path: "/bin/pwd", directory: "/usr" }), never),
  );
  assert.equal(directory.stdout.text, "/usr\n");
  const stdin = started(await processes.run(fixtureCommand("count_stdin.sh"), never));
  assert.equal(stdin.stdout.text.trim(), "0");
});

test("run() says why a program could not be started", (add) => {
  const table = `
    missing file             | no_such_file.sh   | file does not exist
    symlink to nothing       | dangling.sh       | file is a symbolic link to nothing
    missing interpreter      | bad_shebang.sh    | its interpreter "/no/such/interpreter" does not exist
    Windows newlines (CRLF)  | windows_line_ends.sh | \\
      its interpreter "/bin/sh\\r" does not exist; the file has Windows newlines (CRLF)
    not executable           | not_executable.sh | file is not executable
    interpreter not executable | shebang_not_executable.sh | its interpreter "/etc/passwd" is not executable
    directory                |                   | path is a directory, not a program
    path through a file      | forever.sh/check  | its path leads through something that is not a directory
    loop of symlinks         | loop_a.sh         | symbolic links on its path form a loop
    long name                | ${"a".repeat(300)} | its path is longer than the system accepts
    missing directory | forever.sh directory=/no/such | working directory "/no/such" does not exist
    directory is a file | forever.sh directory=/etc/passwd | working directory "/etc/passwd" is not a directory
    long arguments | forever.sh arguments=["${"a".repeat(2 ** 18)}"] | \\
      arguments and environment together are longer than the system accepts
    NUL character | forever.sh arguments=["a\\u0000b"] | \\
      an argument or a variable of the environment contains a NUL character`;
  for (const [name = "", command = "", reason] of linesOf(table)) {
    add(name, async () => {
      const [program = ""] = command.split(" ");
      const end = await processes.run(fixtureCommand(program, fieldsOf(command)), never);
      assert.deepEqual(end, { ended: "not_started", reason });
    });
  }
  add("a named pipe", async () => {
    await using temporary = await tempDirectory();
    const path = `${temporary.path}/pipe`;
    await makePipe(path);
    await Deno.chmod(path, 0o755);
    const end = await processes.run(fixtureCommand("", { path }), never);
    assert.deepEqual(end, { ended: "not_started", reason: "path is not a regular file" });
  });
  add("no interpreter named", async () => {
    const end = await processes.run(fixtureCommand("no_shebang.sh"), never);
    // Whether a shell is tried then depends on the runtime's version.
    if (end.ended === "exited") assert.deepEqual([end.code, end.stdout.text], [0, "no shebang\n"]);
    else assert.match(started(end, "not_started").reason, /neither a program .* nor a script/);
  });
});

test("run() throws the signal's reason on an abort", (add) => {
  add("before the start: nothing is started", async () => {
    const mark = newMark();
    const reason = new Error("stop");
    const run = processes.run(fixtureCommand("forever.sh", { mark }), AbortSignal.abort(reason));
    await assert.rejects(run, (error) => error === reason);
    assert.deepEqual(livingProcesses(mark), []);
  });
  for (
    const [program, count] of Object.entries({
      "forever.sh": 2,
      "survive_leader.sh": 2,
      "flood_stdout.sh": 1,
    })
  ) {
    add(`while it runs: ${program}`, async () => {
      const mark = newMark();
      const reason = new Error("stop");
      const controller = new AbortController();
      const run = processes.run(fixtureCommand(program, { mark }), controller.signal);
      await until(`${count} processes`, () => livingProcesses(mark).length >= count);
      const startMs = performance.now();
      controller.abort(reason);
      await assert.rejects(run, (error) => error === reason);
      assert.ok(performance.now() - startMs < SOON_MS);
      await untilGone(mark);
    });
  }
});

test("run() needs no more than a list of programs", (add) => {
  const list = [
    "/usr/bin/kill",
    ...["forever.sh", "ignore_sigterm.sh", "leave_silent_grandchild.sh"].map(fixture),
  ];
  const rows = {
    "forever.sh": ["running\n", { ended: "timed_out", survives: false }],
    "leave_silent_grandchild.sh": ["left a silent grandchild\n", {
      ended: "exited",
      code: 0,
      leftovers: true,
    }],
  } as const;
  for (const [program, [text, end]] of Object.entries(rows)) {
    add(program, async () => {
      const mark = newMark();
      const seen = started(await runRestricted({ list, mark, path: fixture(program) }));
      await untilGone(mark);
      const { stdout, stderr } = seen;
      assert.deepEqual(seen, { ...end, stdout, stderr });
      assert.equal(stdout.text, text);
    });
  }
}, requiresTools("kill"));

test("run() names the permission that is missing", (add) => {
  const path = fixture("forever.sh");
  const missing = fixture("no_such_file.sh");
  const gone = "the file, or the interpreter that its first line names, does not exist";
  const loader = { LD_PRELOAD: "/no/such/library" };
  type Options = Partial<Parameters<typeof runRestricted>[0]>;
  const rows: Rows<[list: readonly string[], reason: string, Options?]> = {
    "no command at all": [[], `needs --allow-run=${path},/usr/bin/kill`],
    "the kill command": [[path], `needs --allow-run=${path},/usr/bin/kill`],
    "the command": [["/usr/bin/kill"], `needs --allow-run=${path}`],
    "every command, for a variable that the loader reads": [
      ["/usr/bin/kill", path],
      "the variable LD_PRELOAD in its environment needs --allow-run without a list of programs",
      { environment: loader },
    ],
    "none, but the file is unreadable": [["/usr/bin/kill", missing], gone, { path: missing }],
    "none, but the kill command does not exist": [
      [path, missing],
      `cannot run "${missing}", which terminates leftover processes: ${gone}`,
      { killPath: missing },
    ],
  };
  for (const [name, [list, reason, options]] of Object.entries(rows)) {
    add(name, async () => {
      const mark = newMark();
      const end = await runRestricted({ list, mark, path, ...options });
      assert.deepEqual(end, { ended: "not_started", reason });
      assert.deepEqual(livingProcesses(mark), []);
    });
  }
}, requiresTools("kill"));

test("run() comes back from a program that cannot be ended, and says so", async () => {
  const mark = newMark();
  const [path, killPath] = [fixture("forever.sh"), fixture("kill_nothing.sh")];
  try {
    const end = started(
      await runRestricted({ list: [path, killPath], mark, path, killPath, killWaitMs: 100 }),
    );
    assert.deepEqual([end.ended, end.ended === "timed_out" && end.survives], ["timed_out", true]);
    assert.ok(livingProcesses(mark).length > 0);
  } finally {
    killMarked(mark);
  }
});

Deno.test("run() returns after a command that exited while this process was stalled, and notes the stall", async () => {
  const clock = createRealClock();
  const killWaitMs = 1234;
  let stills = 0;
  const after: typeof clock.after = (delayMs, callback) => {
    const cancel = clock.after(delayMs, callback);
    // The wait after SIGKILL: it passes, and the command exits, while this process is stalled.
    if (delayMs === killWaitMs) {
      stills++;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, killWaitMs + 100);
    }
    return cancel;
  };
  const mark = newMark();
  const command = fixtureCommand("ignore_sigterm.sh", { mark, timeoutMs: 100 });
  const { run } = createProcesses({ ...clock, after }, { terminationGraceMs: 10, killWaitMs });
  const end = started(await run(command, never));
  assert.deepEqual([end.ended, end.ended === "timed_out" && end.survives], ["timed_out", false]);
  assert.equal(stills, 1);
  assert.deepEqual(livingProcesses(mark), []);
});

test("createProcesses() kills what still runs when this process exits", (add) => {
  const path = fixture("ignore_sigterm.sh");
  for (const permission of ["--allow-all", `--allow-run=${path},/usr/bin/kill`]) {
    add(permission.replace(/=.*/, " with a list"), async () => {
      const mark = newMark();
      const { code, stdout, stderr } = await denoRun([
        permission,
        fixture("exit_while_running.ts"),
        mark,
        path,
      ]);
      assert.deepEqual([code, stdout, stderr], [0, "running\n", ""]);
      await untilGone(mark);
    });
  }
}, requiresTools("kill"));

/** Returns the end of a command that was started (or, on request, of one that was not). */
function started(end: ProcessEnd): Exclude<ProcessEnd, { ended: "not_started" }>;
function started(end: ProcessEnd, expected: "not_started"): Extract<ProcessEnd, { ended: "not_started" }>;
function started(end: ProcessEnd, expected?: "not_started"): ProcessEnd {
  assert.equal(end.ended === "not_started", expected === "not_started", JSON.stringify(end));
  return end;
}

function runToSignal(signal: string): Promise<ProcessEnd> {
  return processes.run(fixtureCommand("end_by_signal.sh", { arguments: [signal] }), never);
}

function signalled(argument: string, signal: string): ProcessEnd {
  return {
    ended: "signalled",
    signal,
    stdout: { text: `this is ${argument}\n`, truncated: false },
    stderr: { text: "", truncated: false },
  };
}

async function runRestricted(options: {
  readonly list: readonly string[];
  readonly mark: string;
  readonly path: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly killPath?: string;
  readonly killWaitMs?: number;
}): Promise<ProcessEnd> {
  const { list, killPath = "/usr/bin/kill", killWaitMs = SOON_MS, environment = {}, mark, path } = options;
  const allowRun = list.length === 0 ? [] : [`--allow-run=${list.join(",")}`];
  const command = fixtureCommand("", {
    path,
    environment: { PATH: "/usr/bin:/bin", MONITOR_CHECK: mark, ...environment },
    timeoutMs: 1000,
  });
  const { stdout, stderr } = await denoRun([
    ...allowRun,
    fixture("run_program.ts"),
    killPath,
    `${killWaitMs}`,
    JSON.stringify(command),
  ]);
  assert.equal(stderr, "");
  return JSON.parse(stdout);
}

function denoRun(args: readonly string[]): Promise<ChildEnd> {
  const flags = ["run", "--quiet", "--no-prompt", "--no-config", "--no-lock", "--no-check"];
  return runChild(Deno.execPath(), [...flags, ...args], { env: { NO_COLOR: "1" } });
}

const encoder = new TextEncoder();

function tailOf(bytesMax: number, chunks: readonly (readonly [source: string, text: string])[]): string {
  const tail = createOutputTail(bytesMax);
  for (const [source, text] of chunks) tail.add(source, encoder.encode(text));
  return tail.text();
}

Deno.test("createOutputTail() keeps the end of the output", async (t) => {
  const rows: Rows<[chunks: readonly (readonly [string, string])[], text: string]> = {
    "nothing of note": [[["out", ""]], ""],
    "two sources, each on its own lines": [
      [["out", "half"], ["err", "oops\n"], ["out", " a line\n"]],
      "half\noops\n a line\n",
    ],
    "output after a flood": [[["out", "x".repeat(1000)], ["out", "\nend"]], "end"],
  };
  await testRows(t, rows, ([chunks, text]) => assert.equal(tailOf(99, chunks), text));
});

Deno.test("createOutputTail() accepts bytes that are no text", () => {
  const tail = createOutputTail(8);
  tail.add("out", new Uint8Array([0xff, 0x00, 0x41, 0xe2, 0x82]));
  assert.equal(tail.text(), "\ufffd\0A\ufffd");
});

Deno.test("createOutputTail() keeps the same text for any chunks", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 5000 });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 700 }), fc.infiniteStream(fc.integer({ min: 1, max: 900 })), (
      text,
      bytesMax,
      sizes,
    ) => {
      const chunks: (readonly [string, string])[] = [];
      let rest = text;
      for (const size of sizes) {
        if (rest === "") break;
        chunks.push(["out", rest.slice(0, size)]);
        rest = rest.slice(size);
      }
      const end = text.slice(-bytesMax);
      const cut = end.indexOf("\n");
      const isWhole = text.length <= bytesMax || cut < 0 || cut === end.length - 1;
      assert.equal(tailOf(bytesMax, chunks), isWhole ? end : end.slice(cut + 1));
    }),
  );
});

Deno.test("run() starts the command and returns its exit code, however few file descriptors are free", async () => {
  const fixture = fileURLToPath(new URL("../../fixtures/run_with_few_descriptors.ts", import.meta.url));
  // The runtime raises its limit as far as it may, so the upper one is set.
  const { success, stdout, stderr } = await runChild(tool("sh"), [
    ...["-c", 'ulimit -n 64; exec "$@"', "sh", Deno.execPath()],
    ...runArguments(["--allow-all"]),
    fixture,
  ]);
  assert.ok(success, stderr);
  const counts = [...Array(12).keys()].map((index) => index + 1);
  assert.equal(stdout, counts.map((free) => `ran\n${free} free: 5\n`).join(""));
});
