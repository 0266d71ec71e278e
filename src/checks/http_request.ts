import { startDeadline } from "../shared/deadline.ts";
import type { ConnectionTarget } from "../domain/connections.ts";
import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import { hostAndPort, permissionsOfUrl, type RequiredPermissions } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext } from "../domain/check_kind.ts";
import type { HttpMessage } from "../domain/generated/config.ts";
import { observeAddresses } from "./every_address.ts";
import { conditionOf, describeFindings, examine } from "./http/exchange.ts";
import { observeSteps } from "./http/steps.ts";
import { findErrors, findRequestWarnings } from "./http/request_errors.ts";
import { nameFor, portSubject } from "./targets.ts";

export const httpRequestKind: CheckKindEntry<"http_request"> = {
  observe: observeHttpRequest,
  limit: "network",
  hasResponded: ({ metrics }) => metrics["status"] !== undefined,
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
    textOf: ({ parameters: { request, steps = [] } }) => addressText((request ?? steps[0]?.request)?.target),
    goesDown: true,
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

function permissionsOfRequest({ target, socket, connectTo }: HttpMessage): RequiredPermissions {
  if (socket !== undefined) return {};
  return connectTo === undefined
    ? permissionsOfUrl(target)
    : { net: [hostAndPort(connectTo, portOf(new URL(target)))] };
}

/** A URL without user information, query and fragment, which may have secrets. */
function addressText(target = ""): string | undefined {
  const url = URL.parse(target);
  return url === null ? undefined : `${url.origin}${url.pathname}`;
}

function placeOf({ target, connectTo }: HttpMessage): ConnectionTarget {
  const url = new URL(target);
  return { host: connectTo ?? url.hostname, port: portOf(url) };
}

/** Of an `http:` URL: other ones connect nowhere else. */
function portOf({ port }: URL): number {
  return port === "" ? 80 : Number(port);
}

/**
 * Sends the request, follows redirects if no 3xx is expected, and compares the response with the expected one; or
 * does so for each of some steps.
 *
 * All failures of the response are listed: status, headers, body, duration, certificate. A missing response is a
 * failure as well, unless the cause is on this side (a permission that was not granted, no file descriptor left):
 * that reveals nothing about the target and is `unknown`. The timeout covers the whole exchange, including redirects
 * and body, and when the check returns, its connections are closed.
 */
export async function observeHttpRequest(
  check: CheckOf<"http_request">,
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
    return checkResult(conditionOf(findings, asWarning), describeFindings(findings), findings.metrics);
  };
  const options = { connections: system.connections, isEvery: true, signal: deadline.signal };
  const result = request.everyAddress === true
    ? await observeAddresses(placeOf(request), options, observe)
    : await observe({});
  // An error during the abort of a run is not a finding.
  signal.throwIfAborted();
  return result;
}
