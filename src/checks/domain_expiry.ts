/**
 * The expiry of a domain's registration by RDAP: the lookup is that of RFC 9082, the response that of RFC 9083, and the
 * server that of IANA's list (RFC 9224).
 */
import { type CheckOf, type CheckResult, checkResult } from "../domain/check.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import { hostAndPortOf, permissionsOfUrl } from "../domain/runtime_permissions.ts";
import { isCron } from "../domain/schedule.ts";
import { quote } from "../shared/text.ts";
import { HOUR_MS } from "../shared/time_units.ts";
import { describeExpiry, timeLeftWarnings } from "./certificate_verdict.ts";
import { RDAP_SERVERS } from "./generated/rdap_servers.ts";
import { askJson, fieldsOf, listOf } from "./http/ask.ts";

export const domainExpiryKind: CheckKindEntry<"domain_expiry"> = {
  observe: observeDomainExpiry,
  limit: "network",
  hasResponded: ({ condition }) => condition !== "unknown",
  target: {
    form: "DOMAIN",
    parametersOf: ({ text }) => /^[^\s/:@]+\.[^\s/:@.]+$/.test(text) ? { domain: text } : null,
    nameOf: ({ text }) => `domain_${text}`,
    subjectsOf: ({ parameters: { domain } }) => [`registration of ${asciiOf(domain)}`],
    textOf: ({ parameters: { domain } }) => domain,
  },
  warnings: ({ parameters }) => timeLeftWarnings(parameters, []),
  errors: findErrors,
  requiredPermissions: ({ parameters }) =>
    permissionsOfUrl(lookupUrl(parameters) ?? "https://data.iana.org/"),
};

type Parameters = CheckOf<"domain_expiry">["parameters"];

/** Registries limit the rate of queries, and block clients that exceed it. */
const INTERVAL_MIN_MS = HOUR_MS;

function* findErrors({ schedule, parameters }: CheckOf<"domain_expiry">): Generator<ParameterProblem> {
  const { domain } = parameters;
  if (lookupUrl(parameters) === null) {
    const lack = `IANA lists no RDAP server of .${asciiOf(domain).replace(/^.*\./, "")}`;
    yield {
      path: ["domain"],
      message: `is "${domain}", and ${lack}: write "server" if its registry has one`,
    };
  }
  const spansMs = isCron(schedule)
    ? cronSpans(schedule.times.after)
    : [schedule.regularIntervalMs, schedule.attentiveIntervalMs ?? schedule.regularIntervalMs];
  if (spansMs.every((spanMs) => !(spanMs < INTERVAL_MIN_MS))) return;
  const message = `is "${domain}", and registries are queried at most once an hour: ` +
    'write "schedule": { "regular_interval": "12 hours" }';
  yield { path: ["domain"], message };
}

/** Of the first times after a Monday, one day. */
function cronSpans(after: (ms: number) => number): readonly number[] {
  const spansMs: number[] = [];
  let atMs = after(MONDAY_MS);
  for (const endMs = MONDAY_MS + 24 * HOUR_MS; atMs < endMs && spansMs.length < 100;) {
    const nextMs = after(atMs);
    spansMs.push(nextMs - atMs);
    atMs = nextMs;
  }
  return spansMs;
}

const MONDAY_MS = Date.UTC(2026, 0, 5);

/** A name as it is in URLs and in DNS (RFC 5891). */
function asciiOf(domain: string): string {
  return URL.parse(`http://${domain}`)?.hostname.replace(/\.$/, "") ?? domain.toLowerCase();
}

/** The URL of a lookup; `null`: no server is known. */
function lookupUrl({ domain, server }: Parameters): string | null {
  const name = asciiOf(domain);
  const base = server ?? serverOf(name.replace(/^.*\./, ""));
  return base === null ? null : `${base.replace(/\/*$/, "")}/domain/${encodeURIComponent(name)}`;
}

/** Returns the RDAP server of a top-level domain; `null`: IANA lists none. */
export function serverOf(zone: string): string | null {
  for (const [server, zones] of Object.entries(RDAP_SERVERS)) {
    if (` ${zones} `.includes(` ${zone} `)) return server.replaceAll("*", zone);
  }
  return null;
}

/**
 * Queries the registry. Without a response the check is unknown, because the domain may be registered. A domain that
 * the registry does not have is critical.
 */
async function observeDomainExpiry(
  check: CheckOf<"domain_expiry">,
  { system, signal }: ObserveContext,
): Promise<CheckResult> {
  const { parameters, timeoutMs } = check;
  const target = lookupUrl(parameters);
  if (target === null) throw new Error("A domain without a server is no valid config");
  const place = hostAndPortOf(target);
  const request = { target, accept: "application/rdap+json" };
  const answer = await askJson(request, { place, system, signal, timeoutMs });
  if ("failure" in answer) return checkResult("unknown", answer.failure);
  const { status, value } = answer;
  if (status === 404) {
    return checkResult("critical", `${parameters.domain} is not registered: ${place} returned status 404`);
  }
  if (status !== 200) {
    const reason = status === 429 ? ", too many queries" : "";
    return checkResult("unknown", `${place} returned status ${status}${reason}`);
  }
  return evaluate(value, parameters, { place, nowMs: system.clock.wallMs() });
}

/** Values of a domain's status that take it away (RFC 8056). */
const LOST: readonly string[] = ["client hold", "server hold", "pending delete", "redemption period"];

function evaluate(
  answer: unknown,
  { domain, warningBeforeExpiryMs, criticalBeforeExpiryMs }: Parameters,
  { place, nowMs }: { readonly place: string; readonly nowMs: number },
): CheckResult {
  const found = fieldsOf(answer);
  const name = found["ldhName"];
  if (typeof name !== "string" || name.toLowerCase().replace(/\.$/, "") !== asciiOf(domain)) {
    return checkResult("unknown", `${place} returned no data about ${domain}`);
  }
  const expiriesMs = listOf(found["events"]).map(fieldsOf)
    .filter(({ eventAction }) => eventAction === "expiration")
    .map(({ eventDate }) => typeof eventDate === "string" ? Date.parse(eventDate) : NaN)
    .filter((ms) => !Number.isNaN(ms));
  const lost = listOf(found["status"]).filter((status) => typeof status === "string")
    .find((status) => LOST.includes(status.toLowerCase()));
  const registrar = registrarIn(found["entities"]);
  const by = registrar === null ? "" : `, registered by ${quote(registrar)}`;
  if (expiriesMs.length === 0) {
    return lost === undefined
      ? checkResult("unknown", `${place} has no expiry of ${domain}: its registry publishes none${by}`)
      : checkResult("critical", `${domain} has the status ${quote(lost)}${by}`);
  }
  const expiresMs = Math.min(...expiriesMs);
  const leftMs = expiresMs - nowMs;
  const condition = lost !== undefined || leftMs < criticalBeforeExpiryMs
    ? "critical"
    : leftMs < warningBeforeExpiryMs
    ? "warning"
    : "ok";
  const status = lost === undefined ? "" : ` has the status ${quote(lost)} and`;
  return checkResult(condition, `${domain}${status} ${describeExpiry(expiresMs, nowMs)}${by}`, {
    registration_left_seconds: Math.trunc(leftMs / 1000),
  });
}

/** The formatted name (jCard, RFC 7095) of the entity with the role of a registrar. */
function registrarIn(entities: unknown): string | null {
  const registrar = listOf(entities).map(fieldsOf).find(({ roles }) => listOf(roles).includes("registrar"));
  const [, properties] = listOf(registrar?.["vcardArray"]);
  const name = listOf(properties).map(listOf).find(([property]) => property === "fn")?.[3];
  return typeof name === "string" && name !== "" ? name : null;
}
