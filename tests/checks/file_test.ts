import { checkOf, contextOf, tempDirectory } from "../../testing/builders.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { fileKind } from "../../src/checks/file.ts";
import type { CheckResult } from "../../src/domain/check.ts";
import type { FileParameters } from "../../src/domain/generated/config.ts";
import type { FileFacts, Files } from "../../src/domain/system.ts";
import { readRegularFile, UnreadableFileError } from "../../src/shared/regular_file.ts";
import { createFiles } from "../../src/system/files.ts";
import { problemTexts } from "../support/observe_check.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";

/** Of the text below. */
const SHA256 = "21f261d76ad5b2ec1f58b5650caf2ed93775f928c7fe428b31ccc3b7b41d463c";
const TEXT = "Port 22\nPermitRootLogin no\n";

Deno.test("fileKind compares a file with what is expected", async (t) => {
  const table = `
    exists | | ok: as expected, 27 B
    exact limits of the size | sizeMinBytes=27 sizeMaxBytes=27 | ok: as expected, 27 B
    too small | sizeMinBytes=28 | critical: size is 27 B, expected at least 28 B
    too large, as a warning | sizeMaxBytes=26 asWarning=true | warning: size is 27 B, expected at most 26 B
    mode | mode="640" | ok: as expected, 27 B
    mode with a zero | mode="0640" | ok: as expected, 27 B
    another mode | mode="644" | critical: permissions are 0640, expected 0644
    special bits count | mode="4640" | critical: permissions are 0640, expected 4640
    owner | owner=7 | ok: as expected, 27 B
    owner as text | owner="7" | ok: as expected, 27 B
    owner by name | owner=web | ok: as expected, 27 B
    another owner | owner=8 | critical: owner is user 7, expected 8
    another owner by name | owner=root | critical: owner is user 7, expected "root" (0)
    an owner that is not known | owner=we | unknown: user "we" is not in "/etc/passwd"; write the user id
    checksum | sha256=${SHA256.toUpperCase()} | ok: as expected, 27 B
    another checksum | sha256=${"0".repeat(64)} | critical: SHA-256 is ${SHA256}, expected ${"0".repeat(64)}
    contents | contentPattern="(?m)^PermitRootLogin no$" notContentPattern=yes | ok: as expected, 27 B
    missing contents | contentPattern="login" | critical: contents do not match "login"
    unwanted contents | notContentPattern="Root" | critical: contents match "Root", expected no match
    everything at once | mode="600" owner=we sizeMinBytes=28 | critical: size is 27 B, expected at least 28 B; \\
      permissions are 0640, expected 0600; user "we" is not in "/etc/passwd"; write the user id`;
  const files = {
    stat: () => Promise.resolve({ ...FACTS, sizeBytes: TEXT.length }),
    read: (path: string) =>
      Promise.resolve(new TextEncoder().encode(path === "/etc/passwd" ? "root:x:0:0\nweb:x:7:7" : TEXT)),
  };
  await testTable(t, table, async (_, parameters, expected) => {
    const { condition, output, metrics } = await observe(fieldsOf(parameters), { files });
    strictEqual(`${condition}: ${output}`, expected);
    deepStrictEqual(metrics, { size_bytes: 27 });
  });
});

Deno.test("fileKind reads real files and directories", async () => {
  await using directory = await tempDirectory();
  const path = `${directory.path}/file`;
  await Deno.writeTextFile(path, TEXT);
  await Deno.chmod(path, 0o640);
  await Deno.chmod(directory.path, 0o1750);
  const owner = Deno.uid() ?? 0;
  const file = await observe({ path, sha256: SHA256, mode: "0640", owner });
  strictEqual(`${file.condition}: ${file.output}`, "ok: as expected, 27 B");
  const found = await observe({ path: directory.path, mode: "1750", owner });
  strictEqual(`${found.condition}: ${found.output}`, "ok: as expected, a directory");
});

Deno.test("fileKind reads a file that the kernel makes, up to a limit", async () => {
  const found = await observe({ path: "/proc/version", contentPattern: "^Linux" });
  strictEqual(`${found.condition}: ${found.output}`, "ok: as expected, 0 B");
  const files = createFiles(createRealClock());
  await rejects(
    readRegularFile("/proc/version", { files, bytesMax: 10 }),
    new UnreadableFileError("it has 11 bytes, expected at most 10"),
  );
  strictEqual((await files.read("/proc/version", { bytesMax: 10 })).length, 11);
});

Deno.test("fileKind is never ok about what it did not compare", async (t) => {
  const rows: Rows<
    [expected: string, parameters: Partial<FileParameters>, facts: Partial<FileFacts>, bytes?: number]
  > = {
    "a file beyond the limit": [
      'unknown: cannot read "/f": it has 67108865 bytes, expected at most 67108864',
      { sha256: SHA256 },
      { sizeBytes: 64 * 1024 * 1024 + 1 },
    ],
    "contents that go on": [
      'unknown: no match of "yy" in the first 1250000 characters, more are not searched',
      { notContentPattern: "yy" },
      {},
      2_000_000,
    ],
    "a pipe": ['unknown: cannot read "/f": it is not a regular file', { contentPattern: "x" }, {
      kind: "other",
    }],
    "a directory with a size": [
      'unknown: cannot read "/f": it is a directory, not a file',
      { sizeMinBytes: 1 },
      { kind: "directory" },
    ],
    "no owners": ["unknown: the system has no owners of files", { owner: 0 }, { ownerId: null }],
    "no permissions": ["unknown: the system has no permissions of files", { mode: "600" }, { mode: null }],
  };
  await testRows(t, rows, async ([expected, parameters, facts, bytes = 0]) => {
    const files = {
      stat: () => Promise.resolve({ ...FACTS, ...facts }),
      read: () => Promise.resolve(new Uint8Array(bytes).fill(0x78)),
    };
    const { condition, output } = await observe(parameters, { files });
    strictEqual(`${condition}: ${output}`, expected);
  });
});

Deno.test("fileKind returns condition_on_missing for a missing file only", async () => {
  const { NotFound, PermissionDenied } = Deno.errors;
  const failing = async (error: Error) => {
    const { condition, output } = await observe({ conditionOnMissing: "warning" }, {
      files: { stat: () => Promise.reject(error) },
    });
    return `${condition}: ${output}`;
  };
  strictEqual(await failing(new NotFound()), 'warning: "/f" does not exist');
  strictEqual(
    await failing(new PermissionDenied("denied (os error 13): stat")),
    'unknown: cannot read "/f": permission denied',
  );
});

Deno.test("fileKind aborts on a file system that hangs, and when it is stopped", async () => {
  const clock = createFakeClock();
  const files = { stat: () => Promise.resolve(FACTS), read: () => new Promise<never>(() => {}) };
  const observing = observe({ contentPattern: "x" }, { clock, files });
  await clock.advance(10_000);
  const { condition, output } = await observing;
  strictEqual(
    `${condition}: ${output}`,
    'unknown: cannot read "/f": the file system did not respond within 10 s',
  );
  const reason = new Error("stopped");
  await rejects(observe({}, { files, signal: AbortSignal.abort(reason) }), reason);
  strictEqual(clock.timers, 0);
});

Deno.test("fileKind rejects limits that cross", () => {
  const check = checkOf("file", { ...DEFAULTS, sizeMinBytes: 2000, sizeMaxBytes: 1000 });
  deepStrictEqual(problemTexts(fileKind.errors?.(check) ?? []), [
    "size_max: size_max is 1 kB and size_min is 2 kB: no file has such a size",
  ]);
});

const FACTS: FileFacts = { kind: "file", sizeBytes: 0, modifiedAtMs: 0, mode: 0o100640, ownerId: 7 };

const DEFAULTS: FileParameters = { path: "/f", conditionOnMissing: "critical", asWarning: false };

interface ObserveOptions {
  readonly clock?: ReturnType<typeof createFakeClock>;
  readonly files?: Partial<Files>;
  readonly signal?: AbortSignal;
}

async function observe(
  parameters: Partial<FileParameters>,
  { clock = createFakeClock(), files = {}, signal = new AbortController().signal }: ObserveOptions = {},
): Promise<CheckResult> {
  const system = { clock, files: { ...createFiles(createRealClock()), ...files } };
  const check = checkOf("file", { ...DEFAULTS, ...parameters }, { timeoutMs: 10_000 });
  return await fileKind.observe(check, contextOf({ system, signal }));
}
