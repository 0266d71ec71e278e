import { startDeadline, unlessAborted } from "../shared/deadline.ts";
import type { TlsCertificateCheck } from "../domain/check.ts";
import { hostAndPort, permissionsOfTls } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { type CheckResult, checkResult, unknownResult } from "../domain/result.ts";
import type { ConnectionPhase, ConnectionTarget } from "../domain/connections.ts";
import { evaluateCertificate, fingerprintErrors, timeLeftWarnings } from "./certificate_verdict.ts";
import { failureVerdict, timeoutText } from "./connection_words.ts";
import { observeAddresses } from "./every_address.ts";
import { readAuthorities } from "./tls_files.ts";
import type { TlsExpectations } from "../domain/tls.ts";
import { hostPortIn, nameFor, portSubject } from "./targets.ts";

export const tlsCertificateKind: CheckKindEntry<"tls_certificate"> = {
  observe: observeTlsCertificate,
  limit: "network",
  target: {
    form: "HOST[:PORT]",
    parametersOf: ({ text }) => /[\s/]/.test(text) ? null : { ...hostPortIn(text) ?? { host: text } },
    nameOf: ({ text }) => nameFor(`certificate_${text}`),
    subjectsOf: (
      { parameters: { host, port } },
    ) => [portSubject(host, port), `certificate of ${portSubject(host, port)}`],
  },
  warnings: ({ parameters }) => timeLeftWarnings(parameters, []),
  errors: ({ parameters }) => fingerprintErrors(parameters),
  requiredPermissions: ({ parameters: { host, port, connectTo = host, caFile } }) => ({
    net: [hostAndPort(connectTo, port)],
    ...permissionsOfTls(true),
    ...caFile !== undefined && { read: [caFile] },
  }),
};

/**
 * Reads the certificate of a server. One that is not valid for the name, or has no trusted issuer, is critical, with
 * its dates if they can be read; so is a server without one. The timeout covers everything.
 */
async function observeTlsCertificate(
  check: TlsCertificateCheck,
  { system: { clock, connections, files }, signal }: ObserveContext,
): Promise<CheckResult> {
  const { host, port, connectTo = host, serverName = host, caFile, everyAddress } = check.parameters;
  signal.throwIfAborted();
  using deadline = startDeadline(clock, check.timeoutMs, signal);
  const authorities = await unlessAborted(readAuthorities(files, caFile), deadline.signal).catch(() => null);
  signal.throwIfAborted();
  if (authorities === null) {
    return unknownResult(`timeout after ${check.timeoutMs / 1000} s while reading ca_file`);
  }
  if (!Array.isArray(authorities)) return unknownResult(`${authorities}`);
  const run = { check, clock, connections, signal: deadline.signal, tls: { serverName, authorities } };
  const options = { connections, isEvery: everyAddress, signal: deadline.signal };
  const result = await observeAddresses({ host: connectTo, port }, options, (target) => observe(target, run));
  signal.throwIfAborted();
  return result;
}

interface Run extends Pick<ObserveContext["system"], "clock" | "connections"> {
  readonly check: TlsCertificateCheck;
  readonly tls: TlsExpectations;
  /** Ends it: the timeout, or the end of the run. */
  readonly signal: AbortSignal;
}

async function observe(
  target: ConnectionTarget,
  { check, clock, connections, signal, tls }: Run,
): Promise<CheckResult> {
  const { starttls } = check.parameters;
  let phase: ConnectionPhase = "connecting";
  try {
    const reading = await connections.readCertificate(
      { ...target, tls, ...starttls !== undefined && { startTls: starttls } },
      { onPhase: (next) => phase = next, signal },
    );
    const { condition, text, leftSeconds } = evaluateCertificate(reading, check.parameters, clock.wallMs());
    return checkResult(
      condition,
      text,
      leftSeconds === null ? {} : { certificate_left_seconds: leftSeconds },
    );
  } catch (error) {
    if (signal.aborted) return checkResult("critical", timeoutText(check.timeoutMs, phase, target));
    const { isObstacle, text } = failureVerdict(connections.explain(error, target, phase), target);
    return checkResult(isObstacle ? "unknown" : "critical", text);
  }
}
