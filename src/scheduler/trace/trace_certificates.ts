import type { Connections } from "../../domain/connections.ts";
import type { CertificateReading } from "../../domain/tls.ts";
import { messageOf } from "../../shared/describe_error.ts";
import { quote } from "../../shared/quote.ts";
import type { Tracer } from "./tracer.ts";

/** Why something for the trace alone is missing. */
export const TOO_LATE = "no response in time";

export function describeCertificate({ problem, facts }: CertificateReading): string {
  return [
    ...facts === null ? [] : [
      `certificate for ${facts.names.join(", ")}, issued by ${quote(facts.issuer)}, ` +
      `valid from ${dayOf(facts.validFromMs)} to ${dayOf(facts.validToMs)}, SHA-256 ${facts.fingerprint}`,
    ],
    problem === null ? "trusted" : `not accepted: ${problem.reason}`,
  ].join("; ");
}

/** Shows which certificates the server sends, since a missing one makes others untrusted. */
export async function traceChain(
  target: Parameters<Connections["readChain"]>[0],
  { connections, tracer, signal }: {
    readonly connections: Connections;
    readonly tracer: Tracer;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  try {
    const chain = await connections.readChain(target, signal);
    tracer.add(`certificates sent by the server: ${chain.length}`);
    for (const { subject, issuer, validToMs } of chain) {
      tracer.addBlock("<", `${subject}; issued by ${issuer}; valid to ${dayOf(validToMs)}`);
    }
  } catch (error) {
    const reason = signal.aborted ? TOO_LATE : messageOf(error);
    tracer.add(`certificates sent by the server: not read: ${reason}`);
  }
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
