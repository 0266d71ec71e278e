import { createRealClock } from "../../testing/real_clock.ts";
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { fileTimestampKind } from "../../src/checks/file_timestamp.ts";
import type { FileTimestampCheck, FileTimestampParameters } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { ObserveContext } from "../../src/domain/check_kind.ts";
import type { CheckResult } from "../../src/domain/result.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { FileFacts, Files } from "../../src/domain/files.ts";
import { createFiles } from "../../src/system/files.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { runWithoutRights } from "../support/without_rights.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** When the files of these tests were changed, far from the time of the machine. */
const CHANGED_AT_MS = Date.UTC(2020, 5, 1, 12);

Deno.test("fileTimestampKind evaluates the age of a file", async (t) => {
  interface Row {
    readonly ageMs: number;
    readonly parameters?: Partial<FileTimestampParameters>;
    readonly condition: Condition;
    readonly output: string;
    readonly ageSeconds: number;
  }
  const rows: Readonly<Record<string, Row>> = {
    "changed now": {
      ageMs: 0,
      condition: "ok",
      output: "changed 0 s ago, warning after 1 h",
      ageSeconds: 0,
    },
    "young": {
      ageMs: 5 * MINUTE + 900,
      condition: "ok",
      output: "changed 5 min ago, warning after 1 h",
      ageSeconds: 300,
    },
    "as old as the warning age": {
      ageMs: HOUR,
      condition: "ok",
      output: "changed 1 h ago, warning after 1 h",
      ageSeconds: 3600,
    },
    "older by a part of a second, which is dropped": {
      ageMs: HOUR + 999,
      condition: "ok",
      output: "changed 1 h ago, warning after 1 h",
      ageSeconds: 3600,
    },
    "older by a second": {
      ageMs: HOUR + SECOND,
      condition: "warning",
      output: "changed 1 h 1 s ago, warning after 1 h, critical after 1 d",
      ageSeconds: 3601,
    },
    "older by less than the output shows": {
      ageMs: 90 * MINUTE + SECOND,
      parameters: { warningAgeMs: 90 * MINUTE },
      condition: "warning",
      output: "changed just over 1 h 30 min ago, warning after 1 h 30 min, critical after 1 d",
      ageSeconds: 5401,
    },
    "as old as the critical age": {
      ageMs: DAY,
      condition: "warning",
      output: "changed 1 d ago, warning after 1 h, critical after 1 d",
      ageSeconds: 86_400,
    },
    "older than the critical age": {
      ageMs: 3 * DAY + 2 * HOUR,
      condition: "critical",
      output: "changed 3 d 2 h ago, critical after 1 d",
      ageSeconds: 266_400,
    },
    "older than a critical age below the warning age": {
      ageMs: 2 * MINUTE,
      parameters: { criticalAgeMs: MINUTE },
      condition: "critical",
      output: "changed 2 min ago, critical after 1 min",
      ageSeconds: 120,
    },
    "younger than a critical age below the warning age": {
      ageMs: 30 * SECOND,
      parameters: { criticalAgeMs: MINUTE },
      condition: "ok",
      output: "changed 30 s ago, critical after 1 min",
      ageSeconds: 30,
    },
    "a part of a second in the future": {
      ageMs: -999,
      condition: "ok",
      output: "changed 0 s ago, warning after 1 h",
      ageSeconds: 0,
    },
    "a second in the future": {
      ageMs: -SECOND,
      condition: "warning",
      output: "changed 1 s in the future",
      ageSeconds: -1,
    },
    "far in the future, which is to be critical": {
      ageMs: -2 * HOUR - 5 * MINUTE,
      parameters: { conditionOnImplausible: "critical" },
      condition: "critical",
      output: "changed 2 h 5 min in the future",
      ageSeconds: -7500,
    },
    "in the future, which is to be ok": {
      ageMs: -DAY,
      parameters: { conditionOnImplausible: "ok" },
      condition: "ok",
      output: "changed 1 d in the future",
      ageSeconds: -86_400,
    },
  };
  await withDirectory(async (directory) => {
    const path = join(directory, "file");
    await writeChanged(path);
    for (const [name, { ageMs, parameters, condition, output, ageSeconds }] of Object.entries(rows)) {
      await t.step(name, async () => {
        const { system } = createFakes(CHANGED_AT_MS + ageMs);
        deepStrictEqual(await observe({ path, ...parameters }, { system }), {
          condition,
          output,
          detail: "",
          metrics: { age_seconds: ageSeconds },
          performanceData: "",
        });
      });
    }
  });
});

Deno.test("fileTimestampKind reads the target of a symlink", async (t) => {
  await withDirectory(async (directory) => {
    const path = join(directory, "file");
    await writeChanged(path);
    const { system } = createFakes(CHANGED_AT_MS + 2 * HOUR);
    await t.step("a symlink that was created later", async () => {
      const link = join(directory, "link");
      await Deno.symlink(path, link);
      deepStrictEqual((await observe({ path: link }, { system })).metrics, { age_seconds: 7200 });
    });
    await t.step("a directory", async () => {
      await Deno.utime(directory, CHANGED_AT_MS / 1000, CHANGED_AT_MS / 1000);
      deepStrictEqual((await observe({ path: directory }, { system })).metrics, { age_seconds: 7200 });
    });
  });
});

Deno.test("fileTimestampKind reads the newest file of a pattern, its size and the count", async (t) => {
  await withDirectory(async (path) => {
    for (
      const [name, ageMs] of [["db-1.gz", 3 * HOUR], ["db-2.gz", HOUR / 2], [".db-3.gz", 0], [
        "other",
        0,
      ]] as const
    ) {
      await Deno.writeTextFile(join(path, name), "x".repeat(1500));
      const changedAt = (CHANGED_AT_MS - ageMs) / 1000;
      await Deno.utime(join(path, name), changedAt, changedAt);
    }
    await Deno.mkdir(join(path, "db-directory.gz"));
    await Deno.symlink("nowhere", join(path, "db-dangling.gz"));
    const { system } = createFakes(CHANGED_AT_MS);
    const age = { age_seconds: 1800 };
    const rows: Readonly<
      Record<
        string,
        readonly [Partial<FileTimestampParameters>, Pick<CheckResult, "condition" | "output" | "metrics">]
      >
    > = {
      "a recent one": [{ newestOf: "db-*.gz" }, {
        condition: "ok",
        output: '"db-2.gz" changed 30 min ago, warning after 1 h',
        metrics: { ...age, count: 2 },
      }],
      "an old one": [{ newestOf: "db-1*" }, {
        condition: "warning",
        output: '"db-1.gz" changed 3 h ago, warning after 1 h, critical after 1 d',
        metrics: { age_seconds: 10_800, count: 1 },
      }],
      "none": [{ newestOf: "*.zip" }, {
        condition: "warning",
        output: `no file matches "*.zip" in "${path}"`,
        metrics: { count: 0 },
      }],
      "enough, and large enough": [{ newestOf: "db-*.gz", countMin: 2, sizeMinBytes: 1500 }, {
        condition: "ok",
        output: '"db-2.gz" changed 30 min ago, warning after 1 h',
        metrics: { ...age, size_bytes: 1500, count: 2 },
      }],
      "too few, and too small": [{ newestOf: "db-*.gz", countMin: 3, sizeMinBytes: 2_000_000 }, {
        condition: "critical",
        output: "2 files match, expected at least 3; size is 1.5 kB, expected at least 2 MB; " +
          '"db-2.gz" changed 30 min ago, warning after 1 h',
        metrics: { ...age, size_bytes: 1500, count: 2 },
      }],
      "no directory": [{ newestOf: "*", path: `${path}/db-1.gz` }, {
        condition: "warning",
        output: `"${path}/db-1.gz" does not exist: a directory of this path is a file`,
        metrics: {},
      }],
    };
    for (const [name, [parameters, expected]] of Object.entries(rows)) {
      await t.step(name, async () => {
        const observed = await observe({ path, ...parameters }, { system });
        deepStrictEqual(observed, { ...expected, detail: "", performanceData: "" });
      });
    }
    await t.step("a file alone that is a byte too small", async () => {
      const parameters = { path: join(path, "db-2.gz"), sizeMinBytes: 1501 };
      const { condition, output } = await observe(parameters, { system });
      strictEqual(condition, "critical");
      strictEqual(
        output,
        "size is 1500 B, expected at least 1501 B; changed 30 min ago, warning after 1 h",
      );
    });
    await t.step("more than the maximum", async () => {
      const list = () => Promise.resolve(Array.from({ length: 10_001 }, (_, index) => `${index}`));
      const fakes = createFakes(CHANGED_AT_MS, { list });
      const { condition, output } = await observe({ path, newestOf: "*" }, fakes);
      strictEqual(condition, "unknown");
      strictEqual(output, `cannot read "${path}": more than 10000 names match "*"`);
    });
  });
});

Deno.test("fileTimestampKind returns condition_on_missing for a missing file", async (t) => {
  await withDirectory(async (directory) => {
    await writeChanged(join(directory, "file"));
    await Deno.symlink(join(directory, "nowhere"), join(directory, "dangling"));
    const rows: Readonly<Record<string, readonly [path: string, output: string]>> = {
      "no file": ["missing", `"${directory}/missing" does not exist`],
      "no directory on the way": ["missing/file", `"${directory}/missing/file" does not exist`],
      "a dangling symlink": ["dangling", `"${directory}/dangling" does not exist`],
      "a file in place of a directory": [
        "file/file",
        `"${directory}/file/file" does not exist: a directory of this path is a file`,
      ],
    };
    for (const [name, [path, output]] of Object.entries(rows)) {
      for (const conditionOnMissing of ["ok", "warning", "critical", "unknown"] as const) {
        await t.step(`${name}, ${conditionOnMissing}`, async () => {
          const parameters = { path: join(directory, path), conditionOnMissing };
          const checkResult = await observe(parameters, createFakes(CHANGED_AT_MS));
          deepStrictEqual(checkResult, {
            condition: conditionOnMissing,
            output,
            detail: "",
            metrics: {},
            performanceData: "",
          });
        });
      }
    }
  });
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
    "a failing disk": [
      new Error(`Input/output error (os error 5): stat '${path}'`),
      'cannot read "/data/file": input/output error',
    ],
    "no modification time": [
      { kind: "file", sizeBytes: 0, modifiedAtMs: null, mode: null, ownerId: null },
      'cannot read "/data/file": its file system keeps no modification time',
    ],
  };
  for (const [name, [answer, output]] of Object.entries(rows)) {
    await t.step(name, async () => {
      const stat = () => answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      const { system } = createFakes(CHANGED_AT_MS, { stat });
      const checkResult = await observe({ path, conditionOnMissing: "critical" }, { system });
      strictEqual(checkResult.condition, "unknown");
      strictEqual(checkResult.output, output);
      deepStrictEqual(checkResult.metrics, {});
    });
  }
});

Deno.test("fileTimestampKind returns unknown for real unreadable paths", async (t) => {
  await withDirectory(async (directory) => {
    await t.step("a loop of symlinks", async () => {
      const path = join(directory, "loop");
      await Deno.symlink(path, path);
      const { condition, output } = await observe({ path }, createFakes(CHANGED_AT_MS));
      strictEqual(condition, "unknown");
      strictEqual(output, `cannot read "${path}": symbolic links on its path form a loop`);
    });
    await t.step("too long a name", async () => {
      const path = join(directory, "a".repeat(300));
      const { condition, output } = await observe({ path }, createFakes(CHANGED_AT_MS));
      strictEqual(condition, "unknown");
      strictEqual(output, `cannot read "${path}": its path is longer than the system accepts`);
    });
    await t.step("an unreadable directory on the way", async () => {
      const closed = join(directory, "closed");
      const path = join(closed, "file");
      await Deno.mkdir(closed);
      await writeChanged(path);
      await Deno.chmod(closed, 0o000);
      const program = new URL("../fixtures/observe_file.ts", import.meta.url);
      const { condition, output } = JSON.parse(
        await runWithoutRights(program, JSON.stringify(check({ path }))),
      );
      await Deno.chmod(closed, 0o700);
      strictEqual(condition, "unknown");
      strictEqual(output, `cannot read "${path}": permission denied`);
    });
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

Deno.test("fileTimestampKind leaks no timer", async (t) => {
  await withDirectory(async (directory) => {
    const path = join(directory, "file");
    await writeChanged(path);
    await t.step("after a response", async () => {
      const fakes = createFakes(CHANGED_AT_MS);
      await observe({ path }, fakes);
      deepStrictEqual(fakes.delaysMs(), []);
    });
    await t.step("after a failure", async () => {
      const fakes = createFakes(CHANGED_AT_MS);
      await observe({ path: `${path}2` }, fakes);
      deepStrictEqual(fakes.delaysMs(), []);
    });
  });
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

Deno.test("fileTimestampKind has no limit", () => {
  strictEqual(fileTimestampKind.limit, "none");
});

Deno.test("fileTimestampKind warns of ages that cross", async (t) => {
  const rows: Readonly<Record<string, readonly [Partial<FileTimestampParameters>, message: string | null]>> =
    {
      "a critical age above": [{ warningAgeMs: HOUR, criticalAgeMs: DAY }, null],
      "equal ages": [{ warningAgeMs: HOUR, criticalAgeMs: HOUR }, null],
      "a critical age below": [
        { warningAgeMs: DAY, criticalAgeMs: HOUR },
        "critical_age is 1 h and warning_age is 1 d: the warning is never reached",
      ],
    };
  for (const [name, [parameters, message]] of Object.entries(rows)) {
    await t.step(name, () => {
      const expected = message === null ? [] : [{ path: ["critical_age"], message }];
      deepStrictEqual(fileTimestampKind.warnings(check(parameters)), expected);
    });
  }
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
  return {
    name: "backup",
    active: true,
    threshold: 3,
    recoveryThreshold: 3,
    annoy: false,
    schedule: { regularIntervalMs: MINUTE, attentiveIntervalMs: MINUTE },
    maintenanceWindows: [],
    notifications: [],
    dependsOn: [],
    tags: [],
    timeoutMs: 90 * SECOND,
    kind: "file_timestamp",
    parameters: {
      path: "/data/file",
      warningAgeMs: HOUR,
      criticalAgeMs: DAY,
      conditionOnMissing: "warning",
      conditionOnImplausible: "warning",
      ...parameters,
    },
  };
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

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
