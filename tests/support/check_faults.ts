/** The accepted results of a check after a fault. */
import assert from "node:assert/strict";
import { type Certificate, createAuthority, createCertificate } from "./certificates.ts";
import type { FaultTarget } from "./fault_runs.ts";
import type { Course, FaultKind } from "./fault_proxy.ts";
import type { CheckResult } from "../../src/domain/check.ts";

/** A check whose target suffers faults, ready until it is disposed of. */
export type CheckTarget = FaultTarget<CheckResult> & AsyncDisposable;

interface CheckTargetOptions extends Omit<FaultTarget<CheckResult>, "serverPort" | "evaluate"> {
  readonly server: AsyncDisposable & { readonly port: number };
  /** Returns whether the received data is correct, so that the check may be ok. */
  isRight(courses: readonly Course[], whole: readonly Course[]): boolean;
  readonly sentence: RegExp;
}

/**
 * Compares the results of a check with the rule: `ok` only if the received data is correct and complete; otherwise
 * critical, with one sentence for people about the failure.
 */
export function checkTarget({ server, isRight, sentence, ...target }: CheckTargetOptions): CheckTarget {
  return {
    ...target,
    serverPort: server.port,
    evaluate({ outcome: { condition, output }, fault, courses, whole }) {
      if (fault === null || fault.kind === "delay") assert.equal(condition, "ok");
      if (condition === "ok") return assert.ok(isRight(courses, whole), "what arrived is not right");
      assert.equal(condition, "critical");
      assertPlain(output);
      assert.match(output, sentence, "unknown words");
      if (fault !== null) assertNotified(output, fault.kind);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The accepted messages of invalid TLS, as sources of expressions. */
export const TLS_FAILURES: readonly string[] = [
  "response is malformed TLS",
  "response is not TLS",
  "connection closed during the handshake",
  "connection reset by the server",
  "no TLS version or cipher in common",
  "TLS protocol violation by the server \\([a-z0-9 ]+\\)",
  "server refused the handshake \\([a-z0-9 ]+\\)",
  "data of the server cannot be decrypted: it was altered in transit",
];

/** Asserts one line for people, without internals. */
export function assertPlain(text: string): void {
  assert.match(text, /^[^\p{Cc}\p{Cf}\p{Cs}]{1,400}$/u, "one line");
  assert.doesNotMatch(text, FOREIGN, "words for people");
}

const FOREIGN =
  /\bat \S+:\d+|\[object|\b[A-Z]\w*Error\b|\bError:|\bos error\b|undefined|\bnull\b|NaN|client error|hyper|rustls|Deno|node:|\b[A-Z]{2,}_[A-Z_]+\b|\bE[A-Z]{5,}\b|\bUNKNOWN\b|parsed$|decrypt peer|peer misbehaved|fatal alert|corrupt message|close_notify/;

/** Asserts that a stall is not reported as an end, and the other way round. */
function assertNotified(output: string, kind: FaultKind): void {
  if (kind === "stall" || kind === "truncate") {
    assert.match(output, /\btimeout after [\d.]+ s\b/, "the time limit");
  }
  if (kind === "cut" || kind === "reset") assert.doesNotMatch(output, /timeout/, "no time limit");
}

/** A CA and a certificate of it for this machine, and the file of the CA. */
export interface Trust extends Disposable {
  readonly certificate: Certificate;
  /** Its certificate, as PEM. */
  readonly authority: string;
  readonly path: string;
}

export function createTrust(): Trust {
  const authority = createAuthority();
  const path = Deno.makeTempFileSync({ prefix: "monitor_faults_", suffix: ".pem" });
  Deno.writeTextFileSync(path, authority.cert);
  return {
    certificate: createCertificate({ authority, toDay: 400 }),
    authority: authority.cert,
    path,
    [Symbol.dispose]: () => Deno.removeSync(path),
  };
}
