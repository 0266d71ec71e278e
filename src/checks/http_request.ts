import { startDeadline } from "../shared/deadline.ts";
import type { ConnectionTarget } from "../domain/connections.ts";
import type { HttpRequestCheck } from "../domain/check.ts";
import { hostAndPort, permissionsOfUrl, type RequiredPermissions } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import type { HttpRequest } from "../domain/http_check.ts";
import type { CheckResult } from "../domain/result.ts";
import { observeAddresses } from "./every_address.ts";
import { conditionOf, describeFindings, examine } from "./http/exchange.ts";
import { observeSteps } from "./http/steps.ts";
import { findErrors, findRequestWarnings } from "./http/request_errors.ts";
import { nameFor, portSubject } from "./targets.ts";

/** The `http_request` kind. */
export const httpRequestKind: CheckKindEntry<"http_request"> = {
  observe: observeHttpRequest,
  limit: "network",
  target: {
    form: "URL",
    claims: ({ text }) => isUrl(text),
    parametersOf: ({ text }) =>
      isUrl(text)
        ? { request: { target: text }, ...text.startsWith("https:") && { response: { certificate: {} } } }
        : null,
    nameOf: ({ text }) => nameFor(text.replace(/^https?:\/\/(?:[^/]*@)?/i, "").replace(/[?#].*/, "")),
    subjectsOf: ({ parameters: { request, response, steps = [] } }) =>
      [...request === undefined ? [] : [request], ...steps.map((step) => step.request)].flatMap(
        ({ target }) => {
          const { hostname, port, protocol } = new URL(target);
          const subject = portSubject(hostname, Number(port) || (protocol === "https:" ? 443 : 80));
          return [
            `url ${target}`,
            subject,
            ...response?.certificate === undefined ? [] : [`certificate of ${subject}`],
          ];
        },
      ),
  },
  warnings: findRequestWarnings,
  errors: findErrors,
  requiredPermissions: ({ parameters: { request, steps = [] } }) => {
    const requests = [...request === undefined ? [] : [request], ...steps.map((step) => step.request)];
    const parts = requests.map(permissionsOfRequest);
    const sockets = requests.flatMap(({ socket }) => socket ?? []);
    return {
      net: [...new Set(parts.flatMap(({ net = [] }) => net))],
      env: [...new Set(parts.flatMap(({ env = [] }) => env))],
      read: [
        ...sockets,
        ...requests.flatMap(({ tls = {} }) => [tls.caFile, tls.certificate, tls.key])
          .filter((path) => path !== undefined),
      ],
      ...sockets.length > 0 && { write: sockets },
    };
  },
};

function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

function permissionsOfRequest({ target, socket, connectTo }: HttpRequest): RequiredPermissions {
  if (socket !== undefined) return {};
  return connectTo === undefined
    ? permissionsOfUrl(target)
    : { net: [hostAndPort(connectTo, portOf(new URL(target)))] };
}

function placeOf({ target, connectTo }: HttpRequest): ConnectionTarget {
  const url = new URL(target);
  return { host: connectTo ?? url.hostname, port: portOf(url) };
}

/** Of an `http:` address: other ones connect nowhere else. */
function portOf({ port }: URL): number {
  return port === "" ? 80 : Number(port);
}

/**
 * Sends the request, follows redirects where no 3xx is expected, and holds the answer to what is expected of it; or does
 * so for each of some steps.
 *
 * Everything that is wrong with the answer is listed: status, headers, body, duration, certificate. No answer is a violation as
 * well, except where this side is to blame (a permission that was not granted, no descriptor left): that tells
 * nothing of the target and is `unknown`. The time limit covers the whole exchange, redirects and body included,
 * and when the check ends, its connections have ended.
 */
export async function observeHttpRequest(
  check: HttpRequestCheck,
  { system, signal, hide }: ObserveContext,
): Promise<CheckResult> {
  signal.throwIfAborted();
  const { parameters: { request, response, steps, asWarning }, timeoutMs } = check;
  using deadline = startDeadline(system.clock, timeoutMs, signal);
  const run = { timeoutMs, system, signal: deadline.signal };
  if (steps !== undefined) {
    const result = await observeSteps(steps, { ...run, asWarning, ...hide !== undefined && { hide } });
    signal.throwIfAborted();
    return result;
  }
  if (request === undefined) throw new Error("An http_request check has a request or steps");
  const observe = async ({ address }: Pick<ConnectionTarget, "address">): Promise<CheckResult> => {
    const findings = await examine({
      ...run,
      step: { request, response },
      startedMs: system.clock.monotonicMs(),
      ...address !== undefined && { address },
    });
    return {
      condition: conditionOf(findings, asWarning),
      output: describeFindings(findings),
      detail: "",
      metrics: findings.metrics,
      performanceData: "",
    };
  };
  const options = { connections: system.connections, isEvery: true, signal: deadline.signal };
  const result = request.everyAddress === true
    ? await observeAddresses(placeOf(request), options, observe)
    : await observe({});
  // What was found while the run was being ended is no finding.
  signal.throwIfAborted();
  return result;
}
