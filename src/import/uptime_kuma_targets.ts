import { parseJson } from "../shared/parse_json.ts";
import { canonicalAddress } from "../shared/ip_address.ts";
import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asBody, asBoolean, asNumber, asObject, asText, asTexts, asWord, fieldOf } from "./foreign_value.ts";
import { standardJsonPath } from "./json_path.ts";
import { intervalText } from "./span_text.ts";
import { statusesThat } from "./status_codes.ts";
import { kumaField, type KumaMonitor } from "./uptime_kuma_records.ts";

interface TargetOptions {
  readonly monitor: KumaMonitor;
  readonly item: string;
  readonly draft: ConfigDraft;
}

type Target = written.CheckByKind;

/** Types without a check of their own, and their replacement. */
export const KUMA_TYPES_LEFT_OUT: Readonly<Record<string, string>> = {
  manual: "its status is set by hand",
  "real-browser": "no check in a browser; use http_request",
  mysql: "use a script check with check_mysql",
  postgres: "use a script check with check_pgsql",
};

/** Monitor types by their name; a text is the reason why there is no check. */
export const KUMA_TARGETS: Readonly<Record<string, (options: TargetOptions) => Target | string>> = {
  http: httpTarget,
  keyword: httpTarget,
  "json-query": httpTarget,
  port: portTarget,
  smtp: (options) => portTarget(options, "220"),
  ping: ({ monitor: { fields } }) => {
    const host = asText(fieldOf(fields, "hostname"));
    return host === undefined ? "it has no hostname" : { kind: "ping", parameters: { host } };
  },
  dns: dnsTarget,
  push: ({ monitor: { name, fields }, item, draft }) => ({
    kind: "job",
    parameters: {
      expected_every: intervalText((asNumber(fieldOf(fields, "interval")) ?? 60) * 1000),
      ping_key: draft.pingKey(name, item),
    },
  }),
  docker: dockerTarget,
  // Its checks follow once all monitors are read.
  group: () => ({ kind: "group", parameters: { checks: [] } }),
  "system-service": ({ monitor: { fields } }) => {
    const unit = asText(kumaField(fields, "system_service_name"));
    return unit === undefined ? "it has no service" : { kind: "systemd_unit", parameters: { unit } };
  },
};

function httpTarget(options: TargetOptions): Target | string {
  const { monitor: { name, fields }, item, draft } = options;
  const url = asText(fieldOf(fields, "url"));
  if (url === undefined) return "it has no URL";
  const method = asText(fieldOf(fields, "method"))?.toUpperCase() ?? "GET";
  const body = asBody(fieldOf(fields, "body"));
  const login = loginOf(options);
  const target = login === null
    ? draft.url(url, name, item)
    : draft.urlWithLogin(url, login, { name, source: item });
  const headers = headersOf(options);
  if (asBoolean(kumaField(fields, "ignore_tls")) === true) {
    draft.leaveOut(
      item,
      "ignoreTls",
      "certificates are always verified, so the check cannot pass without ca_file; or use tls_certificate with fingerprint",
    );
  }
  const hasCertificate = /^https:/i.test(url) && asBoolean(kumaField(fields, "expiry_notification")) === true;
  const status = statusOf(fields);
  if (status === undefined) draft.leaveOut(item, "accepted_statuscodes", "no status from 100 to 599");
  return {
    kind: "http_request",
    parameters: {
      request: {
        target,
        ...(method !== "GET" && { method: asWord<written.HttpMessage["method"]>(method) }),
        ...(headers !== null && { headers: draft.headers(headers, name, item) }),
        ...(body !== undefined && method !== "GET" && method !== "HEAD" &&
          { body: draft.body(body, name, item) }),
        ...(asNumber(fieldOf(fields, "maxredirects")) === 0 && { redirects: "refuse" }),
      },
      response: {
        ...(status !== undefined && { status_code: status }),
        ...keywordOf(options),
        ...jsonOf(options),
        // Uptime Kuma notifies 21, 14 and 7 days before.
        ...(hasCertificate &&
          { certificate: { warning_before_expiry: "21 days", critical_before_expiry: "7 days" } }),
      },
    },
  };
}

function loginOf(
  { monitor: { fields }, item, draft }: TargetOptions,
): { username: string; password: string } | null {
  const method = asText(kumaField(fields, "auth_method"));
  const [username, password] = ["basic_auth_user", "basic_auth_pass"].map((key) =>
    asText(kumaField(fields, key))
  );
  if (method !== undefined && method !== "basic" && method !== "null") {
    draft.leaveOut(item, "authMethod", `${method}: write the header or steps by hand`);
    return null;
  }
  return username === undefined || password === undefined ? null : { username, password };
}

function headersOf({ monitor: { fields }, item, draft }: TargetOptions): Record<string, string> | null {
  const text = asText(fieldOf(fields, "headers"));
  if (text === undefined) return null;
  const headers = Object.entries(asObject(parseJson(text, null)))
    .flatMap(([header, value]) =>
      asText(value) === undefined ? [] : [[header, asText(value) ?? ""] as const]
    );
  if (headers.length === 0) draft.leaveOut(item, "headers", "not an object of JSON with texts");
  return headers.length === 0 ? null : Object.fromEntries(headers);
}

/** Codes and ranges such as `200-299`. */
function statusOf(fields: KumaMonitor["fields"]) {
  const written = kumaField(fields, "accepted_statuscodes") ??
    parseJson(asText(fieldOf(fields, "accepted_statuscodes_json")) ?? "[]", []);
  const ranges = asTexts(written).map((text) => {
    const [from = NaN, to = from] = text.split("-").map(Number);
    return { from, to };
  });
  if (ranges.length === 0) return "2xx";
  return statusesThat((status) => ranges.some(({ from, to }) => from <= status && status <= to));
}

function keywordOf({ monitor: { type, fields } }: TargetOptions): written.HttpExpectation {
  const keyword = asText(fieldOf(fields, "keyword"));
  if (type !== "keyword" || keyword === undefined) return {};
  const isInverted = asBoolean(kumaField(fields, "invert_keyword")) === true;
  return { [isInverted ? "not_body_part" : "body_part"]: keyword };
}

const COMPARISONS: Readonly<Record<string, keyof written.JsonExpectationObject>> = {
  ">": "greater_than",
  ">=": "at_least",
  "<": "less_than",
  "<=": "at_most",
};

/** A JSONata expression that is only a path. */
function jsonOf({ monitor: { type, fields }, item, draft }: TargetOptions): written.HttpExpectation {
  if (type !== "json-query") return {};
  const expression = asText(kumaField(fields, "json_path")) ?? "$";
  const path = standardJsonPath(expression.replace(/^\$\.?/, ""));
  const expected = asText(kumaField(fields, "expected_value")) ?? "";
  const operator = asText(kumaField(fields, "json_path_operator")) ?? "==";
  const number = Number(expected);
  if (path === null) {
    draft.leaveOut(item, "jsonPath", `${expression}: only a path has a counterpart`);
    return {};
  }
  const comparison = COMPARISONS[operator];
  if (comparison !== undefined && Number.isFinite(number)) {
    return { json: { [path]: { [comparison]: number } } };
  }
  if (operator === "contains") return { json: { [path]: { contains: expected } } };
  if (operator === "!=") return { json: { [path]: { not_equals: expected } } };
  // Uptime Kuma compares texts, so a number or a boolean may be a text in JSON.
  const literal = /^(?:true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?)$/.test(expected) ? JSON.parse(expected) : null;
  return { json: { [path]: literal === null ? { equals: expected } : { one_of: [literal, expected] } } };
}

function portTarget({ monitor: { fields } }: TargetOptions, expect?: string): Target | string {
  const [host, port] = [asText(fieldOf(fields, "hostname")), asNumber(fieldOf(fields, "port"))];
  if (host === undefined || port === undefined) return "it has no hostname or port";
  return { kind: "tcp_connect", parameters: { host, port, ...(expect !== undefined && { expect }) } };
}

function dnsTarget({ monitor: { fields }, item, draft }: TargetOptions): Target | string {
  const name = asText(fieldOf(fields, "hostname"));
  if (name === undefined) return "it has no hostname";
  const servers =
    asText(kumaField(fields, "dns_resolve_server"))?.split(",").map((server) => server.trim()) ?? [];
  const addresses = servers.filter((server) => canonicalAddress(server) !== null);
  if (addresses.length < servers.length) {
    draft.leaveOut(item, "dns_resolve_server", "a server must be an IP address");
  }
  const port = asNumber(fieldOf(fields, "port")) ?? 53;
  const [server] = addresses.map((address) =>
    address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`
  );
  const conditions = asText(fieldOf(fields, "conditions"));
  if (conditions !== undefined && conditions !== "[]") {
    draft.leaveOut(item, "conditions", "use values or contains");
  }
  return {
    kind: "dns_lookup",
    parameters: {
      name,
      type: asWord(asText(kumaField(fields, "dns_resolve_type"))?.toUpperCase() ?? "A"),
      ...(server !== undefined && { server }),
    },
  };
}

/** The API of Docker shows whether a container runs. */
function dockerTarget({ monitor: { fields }, item, draft }: TargetOptions): Target | string {
  const container = asText(kumaField(fields, "docker_container"));
  if (container === undefined) return "it has no container";
  draft.leaveOut(item, "docker_host", "/run/docker.sock is used");
  return {
    kind: "http_request",
    parameters: {
      request: {
        target: `http://localhost/containers/${encodeURIComponent(container)}/json`,
        socket: "/run/docker.sock",
      },
      response: { json: { "$.State.Running": true } },
    },
  };
}
