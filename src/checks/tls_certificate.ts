import { type CheckOf, checkResult } from "../domain/check.ts";
import { hostAndPort, permissionsOfServer } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { readVerdict, timeLeftWarnings, trustErrors, trustWarnings } from "./certificate_verdict.ts";
import { observeWithAuthorities } from "./connection_run.ts";
import { hostPortIn, portSubject } from "./targets.ts";

export const tlsCertificateKind: CheckKindEntry<"tls_certificate"> = {
  observe: observeTlsCertificate,
  limit: "network",
  hasResponded: ({ metrics }) => metrics["certificate_left_seconds"] !== undefined,
  target: {
    form: "HOST[:PORT]",
    parametersOf: ({ text }) => /[\s/]/.test(text) ? null : { ...hostPortIn(text) ?? { host: text } },
    nameOf: ({ text }) => `certificate_${text}`,
    subjectsOf: (
      { parameters: { host, port } },
    ) => [portSubject(host, port), `certificate of ${portSubject(host, port)}`],
    textOf: ({ parameters: { host, port } }) => hostAndPort(host, port),
  },
  warnings: ({ parameters }) => [...timeLeftWarnings(parameters, []), ...trustWarnings(parameters)],
  errors: ({ parameters }) => trustErrors(parameters),
  requiredPermissions: ({ parameters: { host, port, connectTo = host, caFile } }) =>
    permissionsOfServer({ host: connectTo, port }, { tls: true, caFile }),
};

/**
 * Reads the certificate of a server. One that is not valid for the name, or has no trusted issuer, is critical, with
 * its dates if they can be read; so is a server without one. The timeout covers everything.
 */
async function observeTlsCertificate(check: CheckOf<"tls_certificate">, context: ObserveContext) {
  const { parameters, timeoutMs } = check;
  const { host, port, connectTo = host, serverName = host, starttls } = parameters;
  const { connections, clock } = context.system;
  return await observeWithAuthorities(check, { host: connectTo, port }, {
    context,
    observe: async (target, { authorities, signal }) => {
      const verdict = await readVerdict(
        { ...target, tls: { serverName, authorities }, ...starttls !== undefined && { startTls: starttls } },
        { connections, clock, expected: parameters, timeoutMs, signal },
      );
      if ("condition" in verdict) return checkResult(verdict.condition, verdict.text, verdict.metrics);
      const { isObstacle, text } = verdict.failure;
      return checkResult(isObstacle ? "unknown" : "critical", text);
    },
  });
}
