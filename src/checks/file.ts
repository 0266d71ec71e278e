import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { describeSize } from "../domain/describe_size.ts";
import type { FileFacts } from "../domain/system.ts";
import type { FileParameters } from "../domain/generated/config.ts";
import { readRegularFile, readText, UnreadableFileError } from "../shared/regular_file.ts";
import { quote } from "../shared/text.ts";
import { searchPattern } from "./body_pattern.ts";
import { evaluateFailure, observeFileSystem, sizeErrors, sizeViolations } from "./file_findings.ts";
import { nameForPath } from "./targets.ts";

export const fileKind: CheckKindEntry<"file"> = {
  observe: observeFile,
  target: {
    form: "PATH",
    parametersOf: ({ path }) => ({ path }),
    nameOf: ({ path }) => nameForPath(path),
    subjectsOf: ({ parameters: { path } }) => [`file ${path}`],
    textOf: ({ parameters: { path } }) => path,
  },
  errors: ({ parameters }) => sizeErrors(parameters),
  requiredPermissions: ({ parameters: { path, owner } }) => ({
    read: [path, ...isUserName(owner) ? [USERS_FILE] : []],
  }),
};

const USERS_FILE = "/etc/passwd";

/** Larger contents are not read, so that a check never fills the memory. */
const CONTENT_BYTES_MAX = 64 * 1024 * 1024;

/** The part that patterns are searched in; their own limit is mostly lower. */
const SEARCHED_BYTES_MAX = 10 * 1024 * 1024;

/**
 * Compares a file, or the target of a symlink, with what is expected; all violations are listed. Without an expectation,
 * it must exist. A comparison that is not possible is `unknown`, never ok.
 */
async function observeFile(check: CheckOf<"file">, context: ObserveContext): Promise<CheckResult> {
  const { parameters, timeoutMs } = check;
  const { files } = context.system;
  return await observeFileSystem(check, context, () => evaluate(parameters, { files, timeoutMs }));
}

interface EvaluateOptions {
  readonly files: ObserveContext["system"]["files"];
  readonly timeoutMs: number;
}

interface Findings {
  readonly violations: string[];
  readonly obstacles: string[];
}

async function evaluate(parameters: FileParameters, options: EvaluateOptions): Promise<CheckResult> {
  const { path, sizeMinBytes, sizeMaxBytes, asWarning } = parameters;
  const facts = await options.files.stat(path, options);
  if (facts.kind !== "file" && (sizeMinBytes !== undefined || sizeMaxBytes !== undefined)) {
    throw new UnreadableFileError(`it is ${facts.kind === "directory" ? "a directory, not" : "not"} a file`);
  }
  const violations = [...sizeViolations(facts.sizeBytes, parameters)];
  const findings: Findings = { violations, obstacles: [] };
  await compareOwner(facts, parameters, { ...options, ...findings });
  compareMode(facts, parameters, findings);
  await compareContents(parameters, { ...options, ...findings });
  const { obstacles } = findings;
  const condition = violations.length > 0
    ? asWarning ? "warning" : "critical"
    : obstacles.length > 0
    ? "unknown"
    : "ok";
  const text = [...violations, ...obstacles].join("; ");
  const metrics = facts.kind === "file" ? { size_bytes: facts.sizeBytes } : {};
  return checkResult(condition, text === "" ? describeWell(facts) : text, metrics);
}

function describeWell({ kind, sizeBytes }: FileFacts): string {
  if (kind === "file") return `as expected, ${describeSize(sizeBytes)}`;
  return kind === "directory" ? "as expected, a directory" : "as expected, no regular file";
}

async function compareOwner(
  { ownerId }: FileFacts,
  { owner }: FileParameters,
  { files, violations, obstacles }: EvaluateOptions & Findings,
): Promise<void> {
  if (owner === undefined) return;
  const expected = isUserName(owner) ? await userIdOf(owner, files) : Number(owner);
  if (ownerId === null) obstacles.push("the system has no owners of files");
  else if (typeof expected === "string") obstacles.push(expected);
  else if (ownerId !== expected) {
    violations.push(
      `owner is user ${ownerId}, expected ${isUserName(owner) ? `${quote(owner)} (${expected})` : expected}`,
    );
  }
}

function isUserName(owner: FileParameters["owner"]): owner is string {
  return typeof owner === "string" && !/^\d+$/.test(owner);
}

/** Returns the id of a user, or why it is not known. */
async function userIdOf(name: string, files: EvaluateOptions["files"]): Promise<number | string> {
  let text: string;
  try {
    text = await readText(USERS_FILE, { files, bytesMax: SEARCHED_BYTES_MAX });
  } catch (error) {
    return evaluateFailure(error, { path: USERS_FILE, conditionOnMissing: "unknown" }).output;
  }
  const fields = text.split("\n").map((line) => line.split(":")).find(([first]) => first === name);
  return fields === undefined
    ? `user ${quote(name)} is not in "${USERS_FILE}"; write the user id`
    : Number(fields[2]);
}

function compareMode(
  { mode }: FileFacts,
  expected: FileParameters,
  { violations, obstacles }: Findings,
): void {
  if (expected.mode === undefined) return;
  if (mode === null) return void obstacles.push("the system has no permissions of files");
  const octal = (bits: number): string => bits.toString(8).padStart(4, "0");
  const [actual, wanted] = [octal(mode & 0o7777), octal(parseInt(expected.mode, 8))];
  if (actual !== wanted) violations.push(`permissions are ${actual}, expected ${wanted}`);
}

async function compareContents(
  { path, sha256, contentPattern, notContentPattern }: FileParameters,
  { files, violations, obstacles }: EvaluateOptions & Findings,
): Promise<void> {
  const patterns = [[contentPattern, true], [notContentPattern, false]] as const;
  if (sha256 === undefined && patterns.every(([pattern]) => pattern === undefined)) return;
  const { bytes } = await readRegularFile(path, { files, bytesMax: CONTENT_BYTES_MAX });
  if (sha256 !== undefined) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes))).toHex();
    if (digest !== sha256.toLowerCase()) violations.push(`SHA-256 is ${digest}, expected ${sha256}`);
  }
  const text = new TextDecoder().decode(bytes.subarray(0, SEARCHED_BYTES_MAX));
  const isWhole = bytes.length <= SEARCHED_BYTES_MAX;
  for (const [pattern, isExpected] of patterns) {
    if (pattern === undefined) continue;
    const { found, searchedLength } = await searchPattern(text, { pattern, isWhole });
    if (found && !isExpected) violations.push(`contents match ${quote(pattern)}, expected no match`);
    if (found) continue;
    if (searchedLength !== null) {
      obstacles.push(
        `no match of ${quote(pattern)} in the first ${searchedLength} characters, more are not searched`,
      );
    } else if (isExpected) violations.push(`contents do not match ${quote(pattern)}`);
  }
}
