import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import { hostAndPort, NET_ALL, type RequiredPermissions } from "../domain/runtime_permissions.ts";
import { startDeadline } from "../shared/deadline.ts";
import { canonicalAddress } from "../shared/ip_address.ts";
import { roundedMs } from "../shared/json_values.ts";
import { failureVerdict, timeoutText } from "./certificate_verdict.ts";
import { hostPortIn } from "./targets.ts";
import { evaluateMeasures, thresholdsOf, thresholdWarnings } from "./thresholds.ts";

export const ntpKind: CheckKindEntry<"ntp"> = {
  observe: observeNtp,
  limit: "network",
  hasResponded: ({ metrics }) => metrics["stratum"] !== undefined,
  target: {
    form: "HOST",
    claims: ({ text }) => /^ntp:\/\//i.test(text),
    parametersOf: ({ text }) => {
      const host = text.replace(/^ntp:\/\//i, "").replace(/\/$/, "");
      if (/[\s/]/.test(host) || host === "") return null;
      // With several colons it is an address.
      return /^(?:[^:]+|\[.*\]):\d+$/.test(host)
        ? hostPortIn(host)
        : { host: host.replace(/^\[(.*)\]$/, "$1") };
    },
    nameOf: ({ text }) => `ntp_${text.replace(/^ntp:\/\//i, "")}`,
    subjectsOf: ({ parameters: { host, port } }) => [`ntp ${hostAndPort(host.toLowerCase(), port)}`],
    textOf: ({ parameters: { host, port } }) => hostAndPort(host, port),
  },
  warnings: ({ parameters: { offset } }) => thresholdWarnings({ offset }),
  requiredPermissions: ({ parameters }) => permissionsOf(parameters),
};

/** The runtime sends datagrams to addresses alone, from a port of this machine; those of a name may be any. */
function permissionsOf({ host, port }: CheckOf<"ntp">["parameters"]): RequiredPermissions {
  const address = canonicalAddress(host);
  if (address === null) {
    return { net: [NET_ALL], netCaution: `all addresses, for ${host}: set "host" to an IP address` };
  }
  return { net: [hostAndPort(address, port), address.includes(":") ? "[::]:0" : "0.0.0.0:0"] };
}

/** Compares the clock of the machine with a server. A server that is silent or not synchronized is a violation. */
async function observeNtp(
  { parameters: { host, port, offset, asWarning }, timeoutMs }: CheckOf<"ntp">,
  { system: { clock, connections }, signal }: ObserveContext,
): Promise<CheckResult> {
  using deadline = startDeadline(clock, timeoutMs, signal);
  const target = { host, port };
  const bad = asWarning ? "warning" : "critical";
  try {
    const reading = await connections.readTime(target, deadline.signal);
    const { offsetMs, roundTripMs, stratum, isSynchronized, code } = reading;
    const metrics = { stratum, round_trip_ms: roundedMs(roundTripMs) };
    if (!isSynchronized) {
      const why = code === "" ? `stratum ${stratum}` : code;
      return checkResult(bad, `server ${hostAndPort(host, port)} is not synchronized (${why})`, metrics);
    }
    const value = roundedMs(Math.abs(offsetMs));
    const result = evaluateMeasures([
      { name: "offset", value, unit: "milliseconds", thresholds: thresholdsOf(offset) },
    ]);
    const side = value === 0 ? "" : `, this machine is ${offsetMs > 0 ? "behind" : "ahead"}`;
    return {
      ...result,
      condition: result.condition === "critical" ? bad : result.condition,
      output: `${result.output}${side} (stratum ${stratum})`,
      metrics: { ...result.metrics, ...metrics },
    };
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.isTimeUp) return checkResult(bad, timeoutText(timeoutMs, "reading", target), {});
    const { isObstacle, text } = failureVerdict(connections.explain(error, target, "reading"), target);
    return checkResult(isObstacle ? "unknown" : bad, text, {});
  }
}
