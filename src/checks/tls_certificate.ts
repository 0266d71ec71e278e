import { startDeadline } from "../shared/deadline.ts";
import { describeFileError } from "../shared/describe_error.ts";
import type { TlsCertificateCheck } from "../domain/check.ts";
import { hostAndPort, permissionsOfTls } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import type { CheckResult } from "../domain/result.ts";
import { readRegularFile } from "../shared/regular_file.ts";
import type { ConnectionPhase } from "../domain/connections.ts";
import type { Files } from "../domain/files.ts";
import { evaluateCertificate, timeLeftWarnings } from "./certificate_verdict.ts";
import { failureVerdict, timeoutText } from "./connection_words.ts";
import { TLS_FILE_BYTES_MAX } from "./tls_files.ts";

/** The `tls_certificate` kind. */
export const tlsCertificateKind: CheckKindEntry<"tls_certificate"> = {
  observe: observeTlsCertificate,
  limit: "network",
  warnings: ({ parameters }) => timeLeftWarnings(parameters, []),
  requiredPermissions: ({ parameters: { host, port, caFile } }) => ({
    net: [hostAndPort(host, port)],
    ...permissionsOfTls(true),
    ...caFile !== undefined && { read: [caFile] },
  }),
};

/**
 * Reads the certificate that a server shows. One that is not valid for the name, or that nobody trusted has signed, is
 * critical, with its dates where they can be read; so is a server that shows none. The time limit covers all of it.
 */
async function observeTlsCertificate(
  check: TlsCertificateCheck,
  { system: { clock, connections, files }, signal }: ObserveContext,
): Promise<CheckResult> {
  const { host, port, serverName = host, starttls, caFile } = check.parameters;
  signal.throwIfAborted();
  using deadline = startDeadline(clock, check.timeoutMs, signal);
  let phase: ConnectionPhase = "connecting";
  try {
    const authorities = caFile === undefined ? [] : await readAuthorities(files, caFile);
    signal.throwIfAborted();
    if (!Array.isArray(authorities)) return checkResult("unknown", `${authorities}`);
    const reading = await connections.readCertificate(
      { host, port, tls: { serverName, authorities }, ...starttls !== undefined && { startTls: starttls } },
      { onPhase: (next) => phase = next, signal: deadline.signal },
    );
    signal.throwIfAborted();
    const { condition, text, leftSeconds } = evaluateCertificate(reading, check.parameters, clock.wallMs());
    return checkResult(condition, text, leftSeconds);
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.signal.aborted) {
      return checkResult("critical", timeoutText(check.timeoutMs, phase, { host, port }));
    }
    const { isObstacle, text } = failureVerdict(connections.explain(error, { host, port }, phase), {
      host,
      port,
    });
    return checkResult(isObstacle ? "unknown" : "critical", text);
  }
}

/** One certificate in the form of RFC 7468. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The certificates in a file, or why there are none. */
async function readAuthorities(files: Files, path: string): Promise<readonly string[] | string> {
  let text;
  try {
    const { bytes } = await readRegularFile(path, { files, bytesMax: TLS_FILE_BYTES_MAX });
    text = new TextDecoder().decode(bytes);
  } catch (error) {
    return `ca_file "${path}" cannot be read: ${describeFileError(error, { path })}`;
  }
  const certificates = text.match(CERTIFICATE) ?? [];
  return certificates.length > 0 ? certificates : `ca_file "${path}" holds no certificate, expected PEM`;
}

function checkResult(
  condition: CheckResult["condition"],
  output: string,
  leftSeconds: number | null = null,
): CheckResult {
  return {
    condition,
    output,
    detail: "",
    metrics: leftSeconds === null ? {} : { certificate_left_seconds: leftSeconds },
    performanceData: "",
  };
}
