import { checkOf, contextOf, tempDirectory } from "../../testing/builders.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { logKind } from "../../src/checks/log.ts";
import type { FilePart, Files } from "../../src/domain/system.ts";
import type { LogParameters } from "../../src/domain/generated/config.ts";
import { createFiles } from "../../src/system/files.ts";
import { problemTexts } from "../support/observe_check.ts";
import { type Rows, testRows } from "../support/rows.ts";

interface RunOptions {
  readonly parameters?: Partial<LogParameters>;
  readonly host?: string;
  readonly files?: Partial<Files>;
}

/** A log file and what the runs of its check left. */
class Log implements AsyncDisposable {
  readonly path: string;
  memory: string | null = null;
  readonly #directory: AsyncDisposable;

  private constructor(directory: AsyncDisposable & { readonly path: string }) {
    this.#directory = directory;
    this.path = `${directory.path}/app.log`;
  }

  static async create(text = "ERROR before\n"): Promise<Log> {
    const log = new Log(await tempDirectory({ "app.log": text }));
    strictEqual(await log.run(), "ok: no new lines: the first run begins at the end");
    return log;
  }

  append(text: string, path = this.path): Promise<void> {
    return Deno.writeTextFile(path, text, { append: true });
  }

  async run({ parameters = {}, host = "a", files = {} }: RunOptions = {}): Promise<string> {
    const { condition, output, memory } = await this.observe({ parameters, host, files });
    this.memory = memory ?? this.memory;
    return `${condition}: ${output.replaceAll(this.path, "LOG")}`;
  }

  observe({ parameters = {}, host = "a", files = {} }: RunOptions = {}) {
    const system = { files: { ...createFiles(createRealClock()), ...files }, hostName: () => host };
    return logKind.observe(
      check({ path: this.path, ...parameters }),
      contextOf({ system, memory: this.memory }),
    );
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#directory[Symbol.asyncDispose]();
  }
}

/** A search of some thousand characters for it takes a turn. */
const LARGE_PATTERN = "[0-9]{1000}|word7";

const NONE = 'ok: 0 of 0 new lines match "ERROR"';
const TWO = 'critical: 2 of 2 new lines match "ERROR", expected at most 0: ERROR 1';

Deno.test("logKind counts the lines since the last run", async () => {
  await using log = await Log.create();
  strictEqual(await log.run(), NONE);
  await log.append("ERROR 1\nfine\r\nERROR \u001b[31m2\nERROR with");
  const { condition, output, detail, metrics } = await log.observe();
  strictEqual(
    `${condition}: ${output}`,
    'critical: 2 of 3 new lines match "ERROR", expected at most 0: ERROR 1',
  );
  strictEqual(detail, "ERROR 1\nERROR [31m2");
  deepStrictEqual(metrics, { lines: 3, matches: 2 });
  strictEqual(
    await log.run({ parameters: { atMost: 2 } }),
    'ok: 2 of 3 new lines match "ERROR", expected at most 2',
  );
  await log.append("out end\n");
  strictEqual(
    await log.run({ parameters: { asWarning: true } }),
    'warning: 1 of 1 new line matches "ERROR", expected at most 0: ERROR without end',
  );
  await log.append("ERROR 3\nERROR: client is gone\n");
  strictEqual(
    await log.run({ parameters: { atMost: 1, ignorePattern: "client is gone$" } }),
    'ok: 1 of 2 new lines matches "ERROR", expected at most 1',
  );
  strictEqual(await log.run(), NONE);
});

Deno.test("logKind reads the end of the rotated file, then the new one", async (t) => {
  const rows: Rows<[rotate: (log: Log) => Promise<void>, expected: string, next?: string]> = {
    "renamed and created": [async (log) => {
      await log.append("ERROR 1\n");
      await Deno.rename(log.path, `${log.path}.1`);
      await log.append("ERROR 2\n");
    }, TWO],
    "renamed, without a newline at its end": [async (log) => {
      await log.append("ERROR 1");
      await Deno.rename(log.path, `${log.path}.1`);
      await log.append("ERROR 2\n");
    }, TWO],
    "renamed and still written to": [async (log) => {
      await log.append("ERROR 1\n");
      await Deno.rename(log.path, `${log.path}.1`);
      await Deno.writeTextFile(log.path, "");
      match(await log.run(), /^critical: 1 of 1 new line /);
      await log.append("ERROR 1\n", `${log.path}.1`);
      await log.append("ERROR 2\n");
    }, TWO],
    "copied and emptied": [async (log) => {
      await log.append("ERROR 1\n");
      await Deno.copyFile(log.path, `${log.path}.1`);
      await Deno.truncate(log.path);
      await log.append("ERROR 2\n");
    }, TWO],
    "copied, emptied and grown beyond its old size": [async (log) => {
      await log.append("ERROR 1\n");
      await Deno.copyFile(log.path, `${log.path}.1`);
      await Deno.truncate(log.path);
      await log.append(`${"fine\n".repeat(100)}ERROR 2\n`);
    }, 'critical: 2 of 102 new lines match "ERROR", expected at most 0: ERROR 1'],
    "renamed, and grown to the same bytes before the position": [async (log) => {
      await log.append("fine\n".repeat(100));
      strictEqual(await log.run(), 'ok: 0 of 100 new lines match "ERROR"');
      await Deno.rename(log.path, `${log.path}.1`);
      await log.append(`ERROR 1\nERROR 2\n${"okay\n".repeat(5)}${"fine\n".repeat(400)}`.slice(3));
    }, 'critical: 1 of 407 new lines matches "ERROR", expected at most 0: ERROR 2'],
    "to another name": [
      async (log) => {
        await Deno.rename(log.path, `${log.path}-20260101`);
        await log.append("fine\n");
      },
      'unknown: 0 of 1 new line match "ERROR"; the file was replaced or truncated, and lines may be missing: ' +
      '"LOG.1" does not exist; set "rotated_path"',
    ],
    "to a name that another file has": [
      async (log) => {
        await Deno.remove(log.path);
        await log.append("ERROR\n");
        await log.append("of another program\n", `${log.path}.1`);
      },
      'critical: 1 of 1 new line matches "ERROR", expected at most 0: ERROR; the file was replaced or truncated, ' +
      'and lines may be missing: "LOG.1" is not the file that was read; set "rotated_path"',
    ],
    "twice without a line": [async (log) => {
      await Deno.rename(log.path, `${log.path}.1`);
      await Deno.writeTextFile(log.path, "");
      strictEqual(await log.run(), NONE);
      await Deno.rename(log.path, `${log.path}.1`);
      await Deno.writeTextFile(log.path, "");
    }, NONE],
    "with a run between the two steps": [async (log) => {
      await log.append("ERROR 1\n");
      await Deno.rename(log.path, `${log.path}.1`);
      strictEqual(await log.run(), 'critical: "LOG" does not exist');
      await log.append("ERROR 2\n");
    }, TWO],
  };
  await testRows(t, rows, async ([rotate, expected]) => {
    await using log = await Log.create();
    await rotate(log);
    strictEqual(await log.run(), expected);
    strictEqual(await log.run(), NONE);
  });
  await t.step("by the name in rotated_path", async () => {
    await using log = await Log.create();
    await log.append("ERROR 1\n");
    await Deno.rename(log.path, `${log.path}.0`);
    await log.append("ERROR 2\n");
    strictEqual(await log.run({ parameters: { rotatedPath: `${log.path}.0` } }), TWO);
  });
});

Deno.test("logKind reads a log that appears after the first run from its beginning", async () => {
  await using directory = await tempDirectory();
  await using log = await Log.create();
  const parameters = { path: `${directory.path}/late.log` };
  match(await log.run({ parameters }), /^critical: .*does not exist$/);
  await log.append("ERROR 1\nERROR 2\n", parameters.path);
  strictEqual(await log.run({ parameters }), TWO);
  strictEqual(await log.run({ parameters }), NONE);
});

Deno.test("logKind has a position for each machine", async () => {
  await using log = await Log.create();
  strictEqual(await log.run({ host: "b" }), "ok: no new lines: the first run begins at the end");
  await log.append("ERROR 1\nERROR 2\n");
  strictEqual(await log.run({ host: "b" }), TWO);
  strictEqual(await log.run(), TWO);
  strictEqual(await log.run({ host: "b" }), NONE);
});

Deno.test("logKind is never ok about lines that it did not search", async (t) => {
  await t.step("beyond the bytes of one run, which the next run reads", async () => {
    await using log = await Log.create();
    const { readPart } = createFiles(createRealClock());
    const files: Partial<Files> = {
      readPart: (path, range) => readPart(path, { ...range, bytesMax: Math.min(range.bytesMax, 300) }),
    };
    await log.append(`${"fine\n".repeat(60)}ERROR 1\n`);
    match(
      await log.run({ files }),
      /^unknown: 0 of 57 new lines match "ERROR"; 23 B are left for the next run, too much for one$/,
    );
    match(await log.run({ files }), /^critical: 1 of 4 new lines .*: ERROR 1$/);
  });
  await t.step("beyond the searches of one run, which the next run goes on with", async () => {
    await using log = await Log.create();
    await log.append(`${"x".repeat(99)}\n`.repeat(1500));
    const parameters = { pattern: LARGE_PATTERN };
    match(await log.run({ parameters }), /^unknown: 0 of .* are left for the next run, too much for one$/);
    await log.append("word7\n");
    let last = "";
    for (let run = 0; run < 10 && !last.startsWith("critical"); run++) last = await log.run({ parameters });
    match(last, /^critical: 1 of .*: word7$/);
  });
  await t.step("of a long line, for a large pattern", async () => {
    await using log = await Log.create();
    await log.append(`${"x".repeat(60_000)}\n`);
    match(
      await log.run({ parameters: { pattern: LARGE_PATTERN } }),
      /^unknown: .*; a line is longer than \d+ characters$/,
    );
  });
  await t.step("of a long line, where it is cut", async () => {
    await using log = await Log.create();
    await log.append(`${"x".repeat(64 * 1024 - 2)}ERROR\n`);
    strictEqual(await log.run(), 'unknown: 0 of 2 new lines match "ERROR"; a line is longer than 64 KiB');
    await log.append(`${"x".repeat(64 * 1024 - 1)}\n`);
    strictEqual(await log.run(), NONE.replace("0 new lines", "1 new line"));
  });
  await t.step("without a state", async () => {
    await using log = await Log.create();
    const { condition, output } = await logKind.observe(check({ path: log.path }), contextOf());
    strictEqual(
      `${condition}: ${output}`,
      "unknown: no data: no state is stored, and only lines after the last run count",
    );
  });
  await t.step("without newlines", async () => {
    await using log = await Log.create();
    await log.append(`ERROR${"x".repeat(200_000)}`);
    match(await log.run(), /^critical: 1 of 3 new lines matches/);
  });
  await t.step("that cannot be read, and keeps the position", async () => {
    await using log = await Log.create();
    await log.append("ERROR 1\nERROR 2\n");
    const readPart = () => Promise.reject(new Deno.errors.PermissionDenied("denied (os error 13): open"));
    strictEqual(await log.run({ files: { readPart } }), 'unknown: cannot read "LOG": permission denied');
    strictEqual(await log.run(), TWO);
  });
  await t.step("of a file that the kernel makes, whose size says nothing", async () => {
    await using log = await Log.create();
    await Deno.symlink("/proc/version", `${log.path}.link`);
    for (const path of ["/proc/version", `${log.path}.link`]) {
      match(
        await log.run({ parameters: { path } }),
        /^unknown: cannot read ".*": the kernel generates its contents/,
      );
    }
  });
  await t.step("of a pipe, or a directory", async () => {
    await using log = await Log.create();
    strictEqual(
      await log.run({ parameters: { path: "/dev/null" } }),
      'unknown: cannot read "/dev/null": it is not a regular file',
    );
  });
});

Deno.test("logKind aborts on a file system that hangs, and when it is stopped", async () => {
  const clock = createFakeClock();
  const system = { clock, files: { ...createFiles(clock), readPart: () => new Promise<FilePart>(() => {}) } };
  const observing = logKind.observe(check({}), contextOf({ system, memory: null }));
  await clock.advance(30_000);
  const { condition, output } = await observing;
  strictEqual(
    `${condition}: ${output}`,
    'unknown: cannot read "/app.log": not read and searched within 30 s',
  );
  const reason = new Error("stopped");
  await rejects(
    Promise.resolve(
      logKind.observe(check({}), contextOf({ system, memory: null, signal: AbortSignal.abort(reason) })),
    ),
    reason,
  );
  strictEqual(clock.timers, 0);
});

Deno.test("logKind lets other work have its turn", async () => {
  await using log = await Log.create();
  await log.append(`${"x".repeat(99)}\n`.repeat(200));
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await log.run({ parameters: { pattern: LARGE_PATTERN } });
  clearInterval(timer);
  ok(turns > 0);
});

Deno.test("logKind warns of a threshold above one", () => {
  const parameters = check({}).parameters;
  deepStrictEqual(problemTexts(logKind.warnings?.(checkOf("log", parameters, { threshold: 3 }))), [
    'pattern: threshold is 3, and a line counts in one run only; write "threshold": 1',
  ]);
  deepStrictEqual(logKind.warnings?.(check({})), []);
});

function check(parameters: Partial<LogParameters>) {
  return checkOf("log", {
    path: "/app.log",
    pattern: "ERROR",
    atMost: 0,
    conditionOnMissing: "critical",
    asWarning: false,
    ...parameters,
  }, { timeoutMs: 30_000, threshold: 1 });
}
