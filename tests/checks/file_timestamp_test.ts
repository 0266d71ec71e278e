import { checkOf, contextOf, tempDirectory } from "../../testing/builders.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { fileTimestampKind } from "../../src/checks/file_timestamp.ts";
import type { CheckOf, CheckResult } from "../../src/domain/check.ts";
import type { FileTimestampParameters } from "../../src/domain/generated/config.ts";
import type { FileFacts, Files } from "../../src/domain/system.ts";
import { createFiles } from "../../src/system/files.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { problemTexts } from "../support/observe_check.ts";
import { runWithoutRights } from "../support/without_rights.ts";
import { fieldsOf, type Rows, spanMs, testRows, testTable } from "../support/rows.ts";

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

/** When the files of these tests were changed, far from the time of the machine. */
const CHANGED_AT_MS = Date.UTC(2020, 5, 1, 12);

Deno.test("fileTimestampKind evaluates the age of a file", async (t) => {
  const table = `
    young                    | 5 min 900 ms | | ok: AT, warning after 1 h
    as old as the warning age | 1 h         | | ok: AT, warning after 1 h
    older by a part of a second, which is dropped | 1 h 999 ms | | ok: AT, warning after 1 h
    older by a second        | 1 h 1 s      | | warning: AT, warning after 1 h, critical after 1 d
    as old as the critical age | 1 d        | | warning: AT, warning after 1 h, critical after 1 d
    older than it            | 3 d 2 h      | | critical: AT, critical after 1 d
    older than a critical age below the warning age | 2 min | criticalAgeMs=60000 | critical: AT, critical after 1 min
    slightly in the future   | -999 ms      | | ok: AT, warning after 1 h
    a second in the future   | -1 s         | | warning: AT, in the future
    far in it, which may be  | -2 h -5 min  | conditionOnImplausible=ok | ok: AT, in the future`;
  await using directory = await tempDirectory();
  const path = `${directory.path}/file`;
  await writeChanged(path);
  await testTable(t, table, async (_, age, parameters, expected) => {
    const ageMs = spanMs(age);
    const given = { path, ...fieldsOf<object>(parameters) };
    const { condition, output, metrics } = await observe(given, { nowMs: CHANGED_AT_MS + ageMs });
    strictEqual(`${condition}: ${output}`, expected.replace("AT", "changed at 2020-06-01 12:00:00 UTC"));
    deepStrictEqual(metrics, { age_seconds: Math.trunc(ageMs / 1000) + 0 });
  });
});

Deno.test("fileTimestampKind reads the target of a symlink", async (t) => {
  await using directory = await tempDirectory();
  const [path, link] = [`${directory.path}/file`, `${directory.path}/link`];
  await writeChanged(path);
  await Deno.symlink(path, link);
  await Deno.utime(directory.path, CHANGED_AT_MS / 1000, CHANGED_AT_MS / 1000);
  const rows = { "a symlink that was created later": link, "a directory": directory.path };
  await testRows(t, rows, async (path) => {
    const { metrics } = await observe({ path }, { nowMs: CHANGED_AT_MS + 2 * HOUR });
    deepStrictEqual(metrics, { age_seconds: 7200 });
  });
});

Deno.test("fileTimestampKind reads the newest file of a pattern, its size and the count", async (t) => {
  await using directory = await tempDirectory();
  const { path } = directory;
  const ages = { "db-1.gz": 3 * HOUR, "db-2.gz": HOUR / 2, ".db-3.gz": 0, other: 0 };
  for (const [name, ageMs] of Object.entries(ages)) {
    await Deno.writeTextFile(`${path}/${name}`, "x".repeat(1500));
    const changedAt = (CHANGED_AT_MS - ageMs) / 1000;
    await Deno.utime(`${path}/${name}`, changedAt, changedAt);
  }
  await Deno.mkdir(`${path}/db-directory.gz`);
  await Deno.symlink("nowhere", `${path}/db-dangling.gz`);
  const table = `
    a recent one | newestOf=db-*.gz | ok: "db-2.gz" AT, warning after 1 h | age_seconds=1800 count=2
    none         | newestOf=*.zip | warning: no file matches "*.zip" in "${path}" | count=0
    enough, and large enough | newestOf=db-*.gz countMin=2 sizeMinBytes=1500 | \\
      ok: "db-2.gz" AT, warning after 1 h | age_seconds=1800 size_bytes=1500 count=2
    too few, and too small | newestOf=db-*.gz countMin=3 sizeMinBytes=2000000 | \\
      critical: 2 files match, expected at least 3; size is 1.5 kB, expected at least 2 MB; "db-2.gz" AT, \\
      warning after 1 h | age_seconds=1800 size_bytes=1500 count=2
    too many, and too large | newestOf=db-*.gz countMax=1 sizeMaxBytes=1499 | \\
      critical: 2 files match, expected at most 1; size is 1.5 kB, expected at most 1.4 kB; "db-2.gz" AT, \\
      warning after 1 h | age_seconds=1800 size_bytes=1500 count=2
    exactly as many, and as large | newestOf=db-*.gz countMax=2 sizeMaxBytes=1500 | \\
      ok: "db-2.gz" AT, warning after 1 h | age_seconds=1800 size_bytes=1500 count=2
    a file that is a byte too small | path=${path}/db-2.gz sizeMinBytes=1501 | \\
      critical: size is 1500 B, expected at least 1501 B; AT, warning after 1 h | age_seconds=1800 size_bytes=1500
    no directory | newestOf=* path=${path}/db-1.gz | \\
      warning: "${path}/db-1.gz" does not exist: a directory of this path is a file`;
  await testTable(t, table, async (_, parameters, expected, metrics) => {
    const observed = await observe({ path, ...fieldsOf<object>(parameters) }, { timeZone: "Asia/Tokyo" });
    strictEqual(
      `${observed.condition}: ${observed.output}`,
      expected.replace("AT", "changed at 2020-06-01 20:30:00 +09:00"),
    );
    deepStrictEqual(observed.metrics, fieldsOf(metrics));
  });

  await t.step("more than the maximum", async () => {
    const list = () => Promise.resolve(Array.from({ length: 10_001 }, (_, index) => `${index}`));
    const { condition, output } = await observe({ path, newestOf: "*" }, { files: { list } });
    strictEqual(`${condition}: ${output}`, `unknown: cannot read "${path}": more than 10000 names match "*"`);
  });
});

Deno.test("fileTimestampKind returns condition_on_missing for a missing file", async (t) => {
  await using directory = await tempDirectory();
  await writeChanged(`${directory.path}/file`);
  await Deno.symlink(`${directory.path}/nowhere`, `${directory.path}/dangling`);
  const rows = { "missing/file": "", "dangling": "", "file/file": ": a directory of this path is a file" };
  await testRows(t, rows, async (reason, name) => {
    for (const conditionOnMissing of ["ok", "critical"] as const) {
      const path = `${directory.path}/${name}`;
      const { condition, output, metrics } = await observe({ path, conditionOnMissing });
      strictEqual(`${condition}: ${output}`, `${conditionOnMissing}: "${path}" does not exist${reason}`);
      deepStrictEqual(metrics, {});
    }
  });
});

Deno.test("fileTimestampKind returns unknown for an unreadable path", async (t) => {
  await using directory = await tempDirectory();
  const loop = `${directory.path}/loop`;
  await Deno.symlink(loop, loop);
  const { NotCapable, PermissionDenied } = Deno.errors;
  const noTime = { kind: "file", sizeBytes: 0, modifiedAtMs: null, mode: null, ownerId: null } as const;
  const rows: Rows<[path: string, Files["stat"]?]> = {
    "permission denied": ["/data", () => Promise.reject(new PermissionDenied("denied (os error 13): stat"))],
    "grant --allow-all": [
      "/proc/x",
      () => Promise.reject(new NotCapable('Requires all access to "/proc/x", run again with --allow-all')),
    ],
    "its file system keeps no modification time": ["/data", () => Promise.resolve(noTime)],
    "symbolic links on its path form a loop": [loop],
    "its path is longer than the system accepts": [`${directory.path}/${"a".repeat(300)}`],
  };
  await testRows(t, rows, async ([path, stat], reason) => {
    const files = stat === undefined ? {} : { stat };
    const { condition, output, metrics } = await observe({ path, conditionOnMissing: "critical" }, { files });
    strictEqual(`${condition}: ${output}`, `unknown: cannot read "${path}": ${reason}`);
    deepStrictEqual(metrics, {});
  });
  await t.step("an unreadable directory on the way", async () => {
    const path = `${directory.path}/closed/file`;
    await Deno.mkdir(`${directory.path}/closed`);
    await writeChanged(path);
    await Deno.chmod(`${directory.path}/closed`, 0o000);
    const program = new URL("../fixtures/observe_file.ts", import.meta.url);
    const printed = await runWithoutRights(program, JSON.stringify(check({ path })));
    await Deno.chmod(`${directory.path}/closed`, 0o700);
    const { condition, output } = JSON.parse(printed);
    strictEqual(`${condition}: ${output}`, `unknown: cannot read "${path}": permission denied`);
  });
});

Deno.test({
  name: "fileTimestampKind names the flag that a path requires",
  permissions: { read: false, sys: ["uid"] },
  fn: async () => {
    const { condition, output } = await observe({ path: "/etc/hosts" });
    strictEqual(
      `${condition}: ${output}`,
      'unknown: cannot read "/etc/hosts": grant --allow-read=/etc/hosts',
    );
  },
});

Deno.test("fileTimestampKind reads the clock after a slow file system responded", async () => {
  const clock = createFakeClock(CHANGED_AT_MS - HOUR);
  const stat = (): Promise<FileFacts> => {
    clock.stepWall(HOUR + SECOND);
    return Promise.resolve({
      kind: "file",
      sizeBytes: 0,
      modifiedAtMs: CHANGED_AT_MS,
      mode: null,
      ownerId: null,
    });
  };
  deepStrictEqual((await observe({}, { clock, files: { stat } })).metrics, { age_seconds: 1 });
  strictEqual(clock.timers, 0);
});

Deno.test("fileTimestampKind aborts on a file system that hangs", async () => {
  const clock = createFakeClock(CHANGED_AT_MS);
  const stuck = Promise.withResolvers<FileFacts>();
  const observing = observe({ path: "/mnt/file" }, { clock, files: { stat: () => stuck.promise } });
  await clock.advance(90 * SECOND);
  const { condition, output } = await observing;
  strictEqual(condition, "unknown");
  strictEqual(output, 'cannot read "/mnt/file": the file system did not respond within 1 min 30 s');
  // A late response, even a failure, has no effect.
  stuck.reject(new Deno.errors.NotFound());
});

Deno.test("fileTimestampKind throws the reason of an abort, and leaves no timer", async (t) => {
  const reason = new Error("stopped");
  const isReason = (error: unknown) => error === reason;
  await t.step("before it reads", async () => {
    const stat = () => Promise.reject(new Error("was looked at"));
    await rejects(observe({}, { files: { stat }, signal: AbortSignal.abort(reason) }), isReason);
  });
  await t.step("while the file system hangs", async () => {
    const stuck = Promise.withResolvers<FileFacts>();
    const clock = createFakeClock(CHANGED_AT_MS);
    const controller = new AbortController();
    const { signal } = controller;
    const observing = observe({}, { clock, files: { stat: () => stuck.promise }, signal });
    controller.abort(reason);
    await rejects(observing, isReason);
    strictEqual(clock.timers, 0);
    stuck.reject(new Deno.errors.NotFound());
  });
});

Deno.test("fileTimestampKind warns of ages that cross", () => {
  const warned = (warningAgeMs: number) =>
    problemTexts(fileTimestampKind.warnings?.(check({ warningAgeMs, criticalAgeMs: HOUR })));
  deepStrictEqual(warned(DAY), [
    "critical_age: critical_age is 1 h and warning_age is 1 d: the warning is never reached",
  ]);
  deepStrictEqual(warned(HOUR), []);
});

interface ObserveOptions {
  readonly nowMs?: number;
  readonly clock?: ReturnType<typeof createFakeClock>;
  readonly files?: Partial<Files>;
  readonly signal?: AbortSignal;
  readonly timeZone?: string;
}

async function observe(
  parameters: Partial<FileTimestampParameters>,
  {
    nowMs = CHANGED_AT_MS,
    clock = createFakeClock(nowMs),
    files = {},
    signal = new AbortController().signal,
    timeZone = "UTC",
  }: ObserveOptions = {},
): Promise<CheckResult> {
  const system = { clock, files: { ...createFiles(createRealClock()), ...files } };
  return await fileTimestampKind.observe(
    check(parameters),
    contextOf({ system, signal, timeZone: () => timeZone }),
  );
}

function check(parameters: Partial<FileTimestampParameters>): CheckOf<"file_timestamp"> {
  return checkOf("file_timestamp", {
    path: "/data/file",
    warningAgeMs: HOUR,
    criticalAgeMs: DAY,
    conditionOnMissing: "warning",
    conditionOnImplausible: "warning",
    ...parameters,
  }, { timeoutMs: 90 * SECOND });
}

async function writeChanged(path: string): Promise<void> {
  await Deno.writeTextFile(path, "");
  await Deno.utime(path, CHANGED_AT_MS / 1000, CHANGED_AT_MS / 1000);
}
