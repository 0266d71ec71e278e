import type { Channel } from "./channel.ts";
import type { Condition } from "./condition.ts";

/** When a check runs. Intervals are in milliseconds, 1000 or more. */
export interface Schedule {
  readonly regularIntervalMs: number;
  /** Applies while something is being watched; equal to the regular one when the document gives none. */
  readonly attentiveIntervalMs: number;
}

/**
 * Whether a problem is told again: not at all, at every further observation that is not `ok`, or at most once
 * in so many milliseconds.
 */
export type Annoy = boolean | number;

/** The settings every check has, with all defaults filled in. */
export interface CheckSettings {
  /** The member name in the document; unique. */
  readonly name: string;
  readonly title?: string;
  readonly active: boolean;
  /** How many observations raise the settled condition; 1 or more. */
  readonly threshold: number;
  /** How many observations lower it; 1 or more. */
  readonly recoveryThreshold: number;
  readonly annoy: Annoy;
  readonly schedule: Schedule;
  readonly notifications: readonly Channel[];
  /** The time limit of one run. */
  readonly timeoutMs: number;
}

/** Parameters of a `test` check: what it reports. */
export interface TestParameters {
  readonly condition: Condition;
  readonly output: string;
}

/** Parameters of a `script` check. */
export interface ScriptParameters {
  /** Absolute path of the program. */
  readonly path: string;
  readonly arguments: readonly string[];
  /** Variables added to the chosen environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly conditionOnTimeout: Condition;
}

/** Parameters of a `file_timestamp` check. */
export interface FileTimestampParameters {
  /** Absolute path of the file. */
  readonly path: string;
  readonly warningAgeMs: number;
  readonly criticalAgeMs: number;
  readonly conditionOnMissing: Condition;
  readonly conditionOnImplausible: Condition;
}

/** What an `http_request` check sends. */
export interface HttpRequest {
  /** An `http:` or `https:` address. */
  readonly target: string;
  readonly method: "GET" | "POST";
}

/** What an `http_request` check expects. */
export interface HttpExpectation {
  /** `null`: any status. */
  readonly statusCode: number | null;
  /** Names as the document gives them; compared case-insensitively. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyPart?: string;
}

/** Parameters of an `http_request` check. */
export interface HttpRequestParameters {
  readonly request: HttpRequest;
  readonly response: HttpExpectation;
  readonly asWarning: boolean;
}

/** A `test` check. */
export interface TestCheck extends CheckSettings {
  readonly kind: "test";
  readonly parameters: TestParameters;
}

/** A `script` check. */
export interface ScriptCheck extends CheckSettings {
  readonly kind: "script";
  readonly parameters: ScriptParameters;
}

/** A `file_timestamp` check. */
export interface FileTimestampCheck extends CheckSettings {
  readonly kind: "file_timestamp";
  readonly parameters: FileTimestampParameters;
}

/** An `http_request` check. */
export interface HttpRequestCheck extends CheckSettings {
  readonly kind: "http_request";
  readonly parameters: HttpRequestParameters;
}

/** One check of the document: resolved, validated, with every default filled in. */
export type Check = TestCheck | ScriptCheck | FileTimestampCheck | HttpRequestCheck;

/** The name of a check kind. */
export type CheckKind = Check["kind"];

/** The check type of one kind. */
export type CheckOf<K extends CheckKind> = Extract<Check, { readonly kind: K }>;
