import { checkOf, tempDirectory } from "../../testing/builders.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { fileTimestampKind } from "../../src/checks/file_timestamp.ts";
import type { FileTimestampCheck } from "../../src/domain/check.ts";
import type { FileTimestampParameters } from "../../src/domain/generated/config.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type { CheckResult } from "../../src/domain/result.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { FileFacts, Files } from "../../src/domain/files.ts";
import { createFiles } from "../../src/system/files.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { runWithoutRights } from "../support/without_rights.ts";
import { testRows } from "../support/rows.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** When the files of these tests were changed, far from the time of the machine. */
const CHANGED_AT_MS = Date.UTC(2020, 5, 1, 12);

Deno.test("fileTimestampKind evaluates the age of a file", async (t) => {
  const [after, before] = ["warning after 1 h", "warning after 1 h, critical after 1 d"];
  const rows: Readonly<
    Record<string, readonly [ageMs: number, expected: string, parameters?: Partial<FileTimestampParameters>]>
  > = {
    "young": [5 * MINUTE + 900, `ok: changed at 2020-06-01 12:00:00 UTC, ${after}`],
    "as old as the warning age": [HOUR, `ok: changed at 2020-06-01 12:00:00 UTC, ${after}`],
    "older by a part of a second, which is dropped": [
      HOUR + 999,
      `ok: changed at 2020-06-01 12:00:00 UTC, ${after}`,
    ],
    "older by a second": [HOUR + SECOND, `warning: changed at 2020-06-01 12:00:00 UTC, ${before}`],
    "as old as the critical age": [DAY, `warning: changed at 2020-06-01 12:00:00 UTC, ${before}`],
    "older than the critical age": [
      3 * DAY + 2 * HOUR,
      "critical: changed at 2020-06-01 12:00:00 UTC, critical after 1 d",
    ],
    "older than a critical age below the warning age": [
      2 * MINUTE,
      "critical: changed at 2020-06-01 12:00:00 UTC, critical after 1 min",
      { criticalAgeMs: MINUTE },
    ],
    "a part of a second in the future": [-999, `ok: changed at 2020-06-01 12:00:00 UTC, ${after}`],
    "a second in the future": [-SECOND, "warning: changed at 2020-06-01 12:00:00 UTC, in the future"],
    "far in the future, which is to be ok": [
      -2 * HOUR - 5 * MINUTE,
      "ok: changed at 2020-06-01 12:00:00 UTC, in the future",
      { conditionOnImplausible: "ok" },
    ],
  };
  await using directory = await tempDirectory();
  const path = join(directory.path, "file");
  await writeChanged(path);
  await testRows(t, rows, async ([ageMs, expected, parameters]) => {
    const { system } = createFakes(CHANGED_AT_MS + ageMs);
    const { condition, output, metrics } = await observe({ path, ...parameters }, { system });
    strictEqual(`${condition}: ${output}`, expected);
    deepStrictEqual(metrics, { age_seconds: Math.trunc(ageMs / 1000) + 0 });
  });
});

Deno.test("fileTimestampKind reads the target of a symlink", async (t) => {
  await using directory = await tempDirectory();
  const [path, link] = [join(directory.path, "file"), join(directory.path, "link")];
  await writeChanged(path);
  await Deno.symlink(path, link);
  await Deno.utime(directory.path, CHANGED_AT_MS / 1000, CHANGED_AT_MS / 1000);
  const { system } = createFakes(CHANGED_AT_MS + 2 * HOUR);
  const rows = { "a symlink that was created later": link, "a directory": directory.path };
  await testRows(t, rows, async (path) => {
    deepStrictEqual((await observe({ path }, { system })).metrics, { age_seconds: 7200 });
  });
});

Deno.test("fileTimestampKind reads the newest file of a pattern, its size and the count", async (t) => {
  await using directory = await tempDirectory();
  const { path } = directory;
  const ages = { "db-1.gz": 3 * HOUR, "db-2.gz": HOUR / 2, ".db-3.gz": 0, other: 0 };
  for (const [name, ageMs] of Object.entries(ages)) {
    await Deno.writeTextFile(join(path, name), "x".repeat(1500));
    const changedAt = (CHANGED_AT_MS - ageMs) / 1000;
    await Deno.utime(join(path, name), changedAt, changedAt);
  }
  await Deno.mkdir(join(path, "db-directory.gz"));
  await Deno.symlink("nowhere", join(path, "db-dangling.gz"));
  const { system } = createFakes(CHANGED_AT_MS);
  const age = { age_seconds: 1800 };
  const recent = '"db-2.gz" changed at 2020-06-01 11:30:00 UTC, warning after 1 h';
  const rows: Readonly<
    Record<string, readonly [Partial<FileTimestampParameters>, expected: string, CheckResult["metrics"]]>
  > = {
    "a recent one": [{ newestOf: "db-*.gz" }, `ok: ${recent}`, { ...age, count: 2 }],
    "none": [{ newestOf: "*.zip" }, `warning: no file matches "*.zip" in "${path}"`, { count: 0 }],
    "enough, and large enough": [
      { newestOf: "db-*.gz", countMin: 2, sizeMinBytes: 1500 },
      `ok: ${recent}`,
      { ...age, size_bytes: 1500, count: 2 },
    ],
    "too few, and too small": [
      { newestOf: "db-*.gz", countMin: 3, sizeMinBytes: 2_000_000 },
      `critical: 2 files match, expected at least 3; size is 1.5 kB, expected at least 2 MB; ${recent}`,
      { ...age, size_bytes: 1500, count: 2 },
    ],
    "a file alone that is a byte too small": [
      { path: join(path, "db-2.gz"), sizeMinBytes: 1501 },
      "critical: size is 1500 B, expected at least 1501 B; changed at 2020-06-01 11:30:00 UTC, warning after 1 h",
      { ...age, size_bytes: 1500 },
    ],
    "no directory": [
      { newestOf: "*", path: `${path}/db-1.gz` },
      `warning: "${path}/db-1.gz" does not exist: a directory of this path is a file`,
      {},
    ],
  };
  await testRows(t, rows, async ([parameters, expected, metrics]) => {
    const observed = await observe({ path, ...parameters }, { system });
    strictEqual(`${observed.condition}: ${observed.output}`, expected);
    deepStrictEqual(observed.metrics, metrics);
  });

  await t.step("more than the maximum", async () => {
    const list = () => Promise.resolve(Array.from({ length: 10_001 }, (_, index) => `${index}`));
    const fakes = createFakes(CHANGED_AT_MS, { list });
    const { condition, output } = await observe({ path, newestOf: "*" }, fakes);
    strictEqual(condition, "unknown");
    strictEqual(output, `cannot read "${path}": more than 10000 names match "*"`);
  });
});

Deno.test("fileTimestampKind returns condition_on_missing for a missing file", async (t) => {
  await using directory = await tempDirectory();
  await writeChanged(join(directory.path, "file"));
  await Deno.symlink(join(directory.path, "nowhere"), join(directory.path, "dangling"));
  const rows = {
    "missing/file": "",
    "dangling": "",
    "file/file": ": a directory of this path is a file",
  };
  for (const [name, reason] of Object.entries(rows)) {
    for (const conditionOnMissing of ["ok", "critical"] as const) {
      await t.step(`${name}, ${conditionOnMissing}`, async () => {
        const path = join(directory.path, name);
        const { condition, output, metrics } = await observe(
          { path, conditionOnMissing },
          createFakes(CHANGED_AT_MS),
        );
        deepStrictEqual([condition, output, metrics], [
          conditionOnMissing,
          `"${path}" does not exist${reason}`,
          {},
        ]);
      });
    }
  }
});

Deno.test("fileTimestampKind returns unknown for an unreadable path", async (t) => {
  const path = "/data/file";
  const rows: Readonly<Record<string, readonly [answer: FileFacts | Error, output: string]>> = {
    "an unreadable directory on the way": [
      new Deno.errors.PermissionDenied(`Permission denied (os error 13): stat '${path}'`),
      'cannot read "/data/file": permission denied',
    ],
    "a path that requires every permission": [
      new Deno.errors.NotCapable(`Requires all access to "${path}", run again with the --allow-all flag`),
      'cannot read "/data/file": grant --allow-all',
    ],
    "no modification time": [
      { kind: "file", sizeBytes: 0, modifiedAtMs: null, mode: null, ownerId: null },
      'cannot read "/data/file": its file system keeps no modification time',
    ],
  };
  await testRows(t, rows, async ([answer, output]) => {
    const stat = () => answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    const { system } = createFakes(CHANGED_AT_MS, { stat });
    const checkResult = await observe({ path, conditionOnMissing: "critical" }, { system });
    strictEqual(checkResult.condition, "unknown");
    strictEqual(checkResult.output, output);
    deepStrictEqual(checkResult.metrics, {});
  });
});

Deno.test("fileTimestampKind returns unknown for real unreadable paths", async (t) => {
  await using directory = await tempDirectory();
  const loop = join(directory.path, "loop");
  await Deno.symlink(loop, loop);
  const rows = {
    [loop]: "symbolic links on its path form a loop",
    [join(directory.path, "a".repeat(300))]: "its path is longer than the system accepts",
  };
  for (const [path, reason] of Object.entries(rows)) {
    await t.step(reason, async () => {
      const { condition, output } = await observe({ path }, createFakes(CHANGED_AT_MS));
      deepStrictEqual([condition, output], ["unknown", `cannot read "${path}": ${reason}`]);
    });
  }
  await t.step("an unreadable directory on the way", async () => {
    const closed = join(directory.path, "closed");
    const path = join(closed, "file");
    await Deno.mkdir(closed);
    await writeChanged(path);
    await Deno.chmod(closed, 0o000);
    const program = new URL("../fixtures/observe_file.ts", import.meta.url);
    const { condition, output } = JSON.parse(
      await runWithoutRights(program, JSON.stringify(check({ path }))),
    );
    await Deno.chmod(closed, 0o700);
    deepStrictEqual([condition, output], ["unknown", `cannot read "${path}": permission denied`]);
  });
});

Deno.test({
  name: "fileTimestampKind names the flag that a path requires",
  permissions: { read: false, sys: ["uid"] },
  fn: async () => {
    const { system } = createFakes(CHANGED_AT_MS);
    const { condition, output } = await observe({ path: "/etc/hosts" }, { system });
    strictEqual(condition, "unknown");
    strictEqual(
      output,
      'cannot read "/etc/hosts": grant --allow-read=/etc/hosts',
    );
  },
});

Deno.test("fileTimestampKind reads the clock after a slow file system responded", async () => {
  const fakes = createFakes(CHANGED_AT_MS - HOUR, {
    stat: () => {
      fakes.setWallMs(CHANGED_AT_MS + SECOND);
      return Promise.resolve({
        kind: "file",
        sizeBytes: 0,
        modifiedAtMs: CHANGED_AT_MS,
        mode: null,
        ownerId: null,
      });
    },
  });
  deepStrictEqual((await observe({}, fakes)).metrics, { age_seconds: 1 });
});

Deno.test("fileTimestampKind aborts on a file system that hangs", async () => {
  const stuck = Promise.withResolvers<FileFacts>();
  const fakes = createFakes(CHANGED_AT_MS, { stat: () => stuck.promise });
  const observing = observe({ path: "/mnt/file", conditionOnMissing: "critical" }, fakes);
  deepStrictEqual(fakes.delaysMs(), [90 * SECOND]);
  fakes.fire();
  const { condition, output } = await observing;
  strictEqual(condition, "unknown");
  strictEqual(output, 'cannot read "/mnt/file": the file system did not respond within 1 min 30 s');
  // A late response, even a failure, has no effect.
  stuck.reject(new Deno.errors.NotFound());
});

Deno.test("fileTimestampKind leaves no timer", async () => {
  for (const path of ["/etc", "/etc/missing"]) {
    const fakes = createFakes(CHANGED_AT_MS);
    await observe({ path }, fakes);
    deepStrictEqual(fakes.delaysMs(), []);
  }
});

Deno.test("fileTimestampKind throws the reason of an abort", async (t) => {
  const reason = new Error("stopped");
  const isReason = (error: unknown) => error === reason;
  await t.step("before it reads", async () => {
    const stat = () => Promise.reject(new Error("was looked at"));
    const { system } = createFakes(CHANGED_AT_MS, { stat });
    await rejects(observe({}, { system, signal: AbortSignal.abort(reason) }), isReason);
  });
  await t.step("while the file system hangs", async () => {
    const stuck = Promise.withResolvers<FileFacts>();
    const fakes = createFakes(CHANGED_AT_MS, { stat: () => stuck.promise });
    const controller = new AbortController();
    const observing = observe({}, { ...fakes, signal: controller.signal });
    controller.abort(reason);
    await rejects(observing, isReason);
    deepStrictEqual(fakes.delaysMs(), []);
    stuck.reject(new Deno.errors.NotFound());
  });
});

Deno.test("fileTimestampKind warns of ages that cross", () => {
  const message = "critical_age is 1 h and warning_age is 1 d: the warning is never reached";
  const crossing = check({ warningAgeMs: DAY, criticalAgeMs: HOUR });
  deepStrictEqual(fileTimestampKind.warnings(crossing), [{ path: ["critical_age"], message }]);
  deepStrictEqual(fileTimestampKind.warnings(check({ warningAgeMs: HOUR, criticalAgeMs: HOUR })), []);
});

interface ObserveOptions {
  readonly system: ObserveContext["system"];
  readonly signal?: AbortSignal;
}

function observe(
  parameters: Partial<FileTimestampParameters>,
  { system, signal = new AbortController().signal }: ObserveOptions,
): Promise<CheckResult> {
  return fileTimestampKind.observe(check(parameters), { system, jobs: null, directory: "/", signal });
}

function check(parameters: Partial<FileTimestampParameters>): FileTimestampCheck {
  return checkOf("file_timestamp", {
    path: "/data/file",
    warningAgeMs: HOUR,
    criticalAgeMs: DAY,
    conditionOnMissing: "warning",
    conditionOnImplausible: "warning",
    ...parameters,
  }, { timeoutMs: 90 * SECOND });
}

interface Fakes {
  readonly system: ObserveContext["system"];
  setWallMs(wallMs: number): void;
  /** The delays that wait. */
  delaysMs(): readonly number[];
  /** Calls back everything that waits. */
  fire(): void;
}

/** A fake clock whose timers fire on request, with the machine's files or fakes. */
function createFakes(nowMs: number, files: Partial<Files> = {}): Fakes {
  let wallMs = nowMs;
  const waiting = new Map<() => void, number>();
  const clock: Clock = {
    wallMs: () => wallMs,
    monotonicMs: () => 0,
    after: (delayMs, callback) => {
      waiting.set(callback, delayMs);
      return () => waiting.delete(callback);
    },
  };
  return {
    system: {
      ...createMemorySystem({ workingDirectory: "/", userId: 0 }),
      clock,
      files: { ...createFiles(createRealClock()), ...files },
    },
    setWallMs: (ms) => wallMs = ms,
    delaysMs: () => [...waiting.values()],
    fire: () => {
      for (const callback of waiting.keys()) callback();
    },
  };
}

async function writeChanged(path: string): Promise<void> {
  await Deno.writeTextFile(path, "");
  await Deno.utime(path, CHANGED_AT_MS / 1000, CHANGED_AT_MS / 1000);
}
