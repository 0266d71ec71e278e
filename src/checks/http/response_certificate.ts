import type { HttpStep } from "../../domain/generated/config.ts";
import type { ParameterProblem } from "../../domain/check_kind.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Connections } from "../../domain/connections.ts";
import { readVerdict, timeLeftWarnings } from "../certificate_verdict.ts";

interface CertificateFinding {
  readonly violations: readonly string[];
  readonly isGrave: boolean;
  /** Such as the time until expiry. */
  readonly metrics: Readonly<Record<string, number>>;
}

interface CertificateContext {
  readonly connections: Connections;
  readonly clock: Clock;
  /** CA certificates (PEM) that are trusted in addition to the usual ones. */
  readonly authorities: readonly string[];
  /** Aborts at the check's timeout, and if the run is to end early. */
  readonly signal: AbortSignal;
}

const NOTHING: CertificateFinding = { violations: [], isGrave: false, metrics: {} };

/**
 * Reads the certificate of the configured target over a separate connection, once the response has been read: the runtime
 * does not expose that of a request.
 */
export async function findCertificate(
  { request, response, timeoutMs }: Pick<HttpStep, "request" | "response"> & { readonly timeoutMs: number },
  status: number | null,
  { connections, clock, signal, authorities }: CertificateContext,
): Promise<CertificateFinding> {
  const expected = response.certificate;
  // Without a response there is no certificate either, and that has been reported.
  if (expected === undefined || status === null || signal.aborted) return NOTHING;
  const { protocol, hostname: host, port: given } = new URL(request.target);
  if (protocol !== "https:") return violation(`${NO_TLS}, so it has no certificate`);
  const port = given === "" ? 443 : Number(given);
  const verdict = await readVerdict(
    { host, port, tls: { serverName: host, authorities } },
    { connections, clock, expected: { ...expected, ...request.tls }, timeoutMs, signal },
  );
  if ("failure" in verdict) return violation(`reading the certificate: ${verdict.failure.text}`);
  const { condition, text, metrics } = verdict;
  return { violations: condition === "ok" ? [] : [text], isGrave: condition === "critical", metrics };
}

const NO_TLS = "the target is not https:";

function violation(text: string): CertificateFinding {
  return { violations: [text], isGrave: true, metrics: {} };
}

export function certificateWarnings(
  { request, response }: Pick<HttpStep, "request" | "response">,
): readonly ParameterProblem[] {
  if (response.certificate === undefined) return [];
  const path = ["response", "certificate"];
  if (new URL(request.target).protocol !== "https:") {
    return [{ path, message: `${NO_TLS}, so it has no certificate` }];
  }
  return timeLeftWarnings(response.certificate, path);
}
