import type { HttpExpectationCertificate } from "../domain/generated/config.ts";
import type { Condition } from "../domain/condition.ts";
import { describeDuration, exactDuration } from "../domain/duration.ts";
import type { ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import type {
  CertificateFacts,
  CertificateProblem,
  CertificateReading,
  ConnectionFailure,
  ConnectionPhase,
  ConnectionTarget,
  HandshakeTarget,
  TlsExpectations,
} from "../domain/connections.ts";
import { firstItems, quote } from "../shared/text.ts";
import { hostAndPort } from "../domain/runtime_permissions.ts";
import { activity, describeFailureAt, isOwnFailure } from "../shared/failure_words.ts";

interface CertificateVerdict {
  readonly condition: Extract<Condition, "ok" | "warning" | "critical">;
  readonly text: string;
  /** The time until expiry in whole seconds, negative afterwards; empty if its dates are unknown. */
  readonly metrics: Readonly<Record<string, number>>;
}

function evaluateCertificate(
  { problem, facts }: CertificateReading,
  { warningBeforeExpiryMs, criticalBeforeExpiryMs, ...trust }: HttpExpectationCertificate & CertificateTrust,
  nowMs: number,
): CertificateVerdict {
  if (facts === null) return { condition: "critical", text: problem?.reason ?? UNREAD, metrics: {} };
  const leftMs = facts.validToMs - nowMs;
  const dates = datesOf(facts, nowMs);
  const refuses = refusalBy(trust);
  const refusal = refuses !== undefined
    ? refuses(facts)
    : problem === null || problem.about === "dates" && dates.isBad
    ? null
    : refusalText(problem, facts);
  const condition = refusal !== null || dates.isBad || leftMs < criticalBeforeExpiryMs
    ? "critical"
    : leftMs < warningBeforeExpiryMs
    ? "warning"
    : "ok";
  const issuer = facts.issuer === "" ? "" : `, issued by ${quote(facts.issuer)}`;
  return {
    condition,
    text: `${refusal === null ? "certificate" : `${refusal}; it`} ${dates.text}${issuer}`,
    metrics: { certificate_left_seconds: Math.trunc(leftMs / 1000) },
  };
}

interface VerdictContext extends Pick<ObserveContext["system"], "clock" | "connections"> {
  readonly expected: Parameters<typeof evaluateCertificate>[1];
  /** Of the check, for messages. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export async function readVerdict(
  target: HandshakeTarget,
  { clock, connections, expected, timeoutMs, signal }: VerdictContext,
): Promise<CertificateVerdict | { readonly failure: ConnectionVerdict }> {
  let phase: ConnectionPhase = "connecting";
  try {
    const reading = await connections.readCertificate(target, { onPhase: (next) => phase = next, signal });
    return evaluateCertificate(reading, expected, clock.wallMs());
  } catch (error) {
    if (signal.aborted) {
      return { failure: { isObstacle: false, text: timeoutText(timeoutMs, phase, target) } };
    }
    return { failure: failureVerdict(connections.explain(error, target, phase), target) };
  }
}

const UNREAD = "certificate is accepted, but its dates could not be read over a second connection";

function datesOf({ validFromMs, validToMs }: CertificateFacts, nowMs: number) {
  const isOver = nowMs >= validToMs;
  if (isOver || nowMs >= validFromMs) return { isBad: isOver, text: describeExpiry(validToMs, nowMs) };
  const wait = describeDuration(validFromMs - nowMs);
  return { isBad: true, text: `is not valid yet, it will be in ${wait} (${day(validFromMs)})` };
}

export function describeExpiry(timeMs: number, nowMs: number): string {
  const when = nowMs < timeMs
    ? `expires in ${describeDuration(timeMs - nowMs)}`
    : `expired ${describeDuration(nowMs - timeMs)} ago`;
  return `${when} (${day(timeMs)})`;
}

/** In UTC. */
function day(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

interface CertificateTrust {
  readonly fingerprint?: string;
  readonly verify?: boolean;
}

/** Returns the decision on a certificate in place of CAs and names; `undefined`: these decide. */
export function refusalBy({ fingerprint, verify }: CertificateTrust): TlsExpectations["refuses"] {
  if (fingerprint === undefined) return verify === false ? () => null : undefined;
  const expected = canonicalFingerprint(fingerprint);
  return ({ fingerprint: actual }) =>
    actual === expected ? null : `certificate has the fingerprint ${actual}, expected another one`;
}

export function* trustErrors(
  { fingerprint, verify, caFile }: CertificateTrust & { readonly caFile?: string },
): Generator<ParameterProblem> {
  const isAny = verify === false || undefined;
  const [first = "", second] = givenKeys({ fingerprint, verify: isAny, ca_file: caFile });
  if (second !== undefined) {
    yield { path: [first], message: `"${first}" cannot be used with "${second}": remove one of them` };
  }
  if (fingerprint === undefined || canonicalFingerprint(fingerprint) !== null) return;
  yield { path: ["fingerprint"], message: "is not a SHA-256 fingerprint, expected 64 hexadecimal digits" };
}

type Values = Readonly<Record<string, unknown>>;

/** Returns the keys that have a value, in their order. */
export function givenKeys(values: Values): readonly string[] {
  return Object.keys(values).filter((key) => values[key] !== undefined);
}

/** Rejects keys that have a value; `reason` goes on behind the name of the key. */
export function* unusedKeys(values: Values, reason: string): Generator<ParameterProblem> {
  for (const key of givenKeys(values)) yield { path: [key], message: `"${key}" ${reason}` };
}

export function trustWarnings({ verify }: CertificateTrust): readonly ParameterProblem[] {
  const message = 'is false, so any server is accepted: prefer "fingerprint" or "ca_file"';
  return verify === false ? [{ path: ["verify"], message }] : [];
}

/** Returns a SHA-256 hash as digits alone; `null` if the text is none. */
function canonicalFingerprint(text: string): string | null {
  return /^(?:[\da-f]{2}:?){31}[\da-f]{2}$/i.test(text) ? text.replaceAll(":", "").toLowerCase() : null;
}

const NAMES_MAX = 3;

function refusalText({ about, reason }: CertificateProblem, { names, isSelfSigned }: CertificateFacts) {
  if (about === "trust" && isSelfSigned) return "certificate is not trusted (self-signed)";
  if (about !== "names") return reason;
  if (names.length === 0) return `${reason}, nor for any other`;
  return `${reason}, only for ${firstItems(names.map(quote), NAMES_MAX).join(", ")}`;
}

export function timeLeftWarnings(
  { warningBeforeExpiryMs, criticalBeforeExpiryMs }: HttpExpectationCertificate,
  path: readonly string[],
): readonly ParameterProblem[] {
  if (criticalBeforeExpiryMs <= warningBeforeExpiryMs) return [];
  const both = `${exactDuration(criticalBeforeExpiryMs)}, not ${exactDuration(warningBeforeExpiryMs)}`;
  const message = `is longer than warning_before_expiry (${both}), so it is never "warning"`;
  return [{ path: [...path, "critical_before_expiry"], message }];
}

export interface ConnectionVerdict {
  readonly isObstacle: boolean;
  readonly text: string;
}

export function failureVerdict(failure: ConnectionFailure, target: ConnectionTarget): ConnectionVerdict {
  const place = failure.phase === "resolving" ? target.host : placeOf(target);
  return { isObstacle: isOwnFailure(failure), text: describeFailureAt(place, failure) };
}

/** Describes a timeout; a name and a connection take time in one step of the runtime. */
export function timeoutText(timeoutMs: number, phase: ConnectionPhase, target: ConnectionTarget): string {
  const isAddress = target.host.includes(":") || /^\d+(?:\.\d+){3}$/.test(target.host);
  const isName = phase === "connecting" && !isAddress && target.address === undefined &&
    target.socket === undefined;
  const when = phase === "TLS" ? "during the" : isName ? "while resolving the name or" : "while";
  return `timeout after ${timeoutMs / 1000} s ${when} ${activity(phase, placeOf(target))}`;
}

function placeOf({ host, port, address, socket }: ConnectionTarget): string {
  return socket ?? hostAndPort(address?.address ?? host, port);
}
