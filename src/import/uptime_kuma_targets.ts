import { parseJson } from "../shared/json_values.ts";
import {
  databaseUrl,
  MYSQL_URL,
  POSTGRES_URL,
  REDIS_SCHEMES,
  sqlParametersOf,
  type SqlUrl,
} from "../shared/database_url.ts";
import { canonicalAddress } from "../shared/ip_address.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asText, asTexts, asWord, Foreign } from "./foreign_text.ts";
import { intervalText, JSON_COMPARISONS, standardJsonPath, statusesThat } from "./span_text.ts";
import type { SourceItem } from "./config_draft.ts";

type Target = written.CheckByKind;

/** Types without a check of their own, and their replacement. */
export const KUMA_TYPES_LEFT_OUT: Readonly<Record<string, string>> = {
  manual: "its status is set by hand",
  "real-browser": "no check in a browser; use http_request",
};

/** Monitor types by their name; a text is the reason why there is no check. */
export const KUMA_TARGETS: Readonly<Record<string, (fields: Foreign, item: SourceItem) => Target | string>> =
  {
    http: httpTarget,
    keyword: httpTarget,
    "json-query": httpTarget,
    port: (fields) => portTarget(fields),
    smtp: (fields) => portTarget(fields, "220"),
    ping: (fields) => {
      const host = fields.text("hostname");
      return host === undefined ? "it has no hostname" : { kind: "ping", parameters: { host } };
    },
    dns: dnsTarget,
    push: (fields, item) => ({
      kind: "job",
      parameters: {
        expected_every: intervalText((fields.number("interval") ?? 60) * 1000),
        ping_key: item.pingKey(),
      },
    }),
    docker: dockerTarget,
    postgres: (fields, item) => sqlTarget("postgres_query", POSTGRES_URL, { fields, item }),
    mysql: (fields, item) => sqlTarget("mysql_query", MYSQL_URL, { fields, item }),
    redis: (fields, item) => {
      const found = databaseUrl(fields.text("database_connection_string") ?? "", REDIS_SCHEMES);
      if (found === null) return "its connection string is no redis:// URL";
      const { server, login: { username, password }, scheme } = found;
      const isSecure = scheme === "rediss:";
      return {
        kind: "redis_command",
        parameters: {
          ...server,
          ...(username !== undefined && { username }),
          ...(password !== undefined && { password: item.secret(password, "password") }),
          ...(isSecure && { tls: true }),
          ...(isSecure && fields.boolean("ignore_tls") === true && { verify: false }),
        },
      };
    },
    "websocket-upgrade": (fields, item) => {
      const url = fields.text("url");
      return url === undefined ? "it has no URL" : { kind: "websocket", parameters: { url: item.url(url) } };
    },
    ntp: (fields) => {
      const host = fields.text("hostname");
      return host === undefined ? "it has no hostname" : { kind: "ntp", parameters: { host } };
    },
    // Its checks follow once all monitors are read.
    group: () => ({ kind: "group", parameters: { checks: [] } }),
    "system-service": (fields) => {
      const unit = fields.text("system_service_name");
      return unit === undefined ? "it has no service" : { kind: "systemd_unit", parameters: { unit } };
    },
  };

function sqlTarget(
  kind: "postgres_query" | "mysql_query",
  url: SqlUrl,
  { fields, item }: { readonly fields: Foreign; readonly item: SourceItem },
): Target | string {
  const found = sqlParametersOf(fields.text("database_connection_string") ?? "", url);
  if (found === null) return `its connection string is no ${url.schemes[0]}// URL`;
  // The password of MySQL lies beside its URL, in the column of RADIUS.
  const password = found.password ?? (kind === "mysql_query" ? fields.text("radius_password") : undefined);
  const query = fields.text("database_query");
  return {
    kind,
    parameters: {
      ...found,
      ...(password !== undefined && { password: item.secret(password, "password") }),
      ...(query !== undefined && { query }),
    },
  };
}

function httpTarget(fields: Foreign, item: SourceItem): Target | string {
  const url = fields.text("url");
  if (url === undefined) return "it has no URL";
  const method = fields.text("method")?.toUpperCase() ?? "GET";
  const body = fields.body("body");
  const headers = headersOf(fields, item);
  const isSecure = /^https:/i.test(url);
  const hasCertificate = isSecure && fields.boolean("expiry_notification") === true;
  const status = statusOf(fields);
  if (status === undefined) item.leaveOut("accepted_statuscodes", "no status from 100 to 599");
  return {
    kind: "http_request",
    parameters: {
      request: {
        target: item.url(url, loginOf(fields, item)),
        ...(method !== "GET" && { method: asWord<written.HttpMessage["method"]>(method) }),
        ...(headers !== null && { headers: item.headers(headers) }),
        ...(body !== undefined && method !== "GET" && method !== "HEAD" && { body: item.body(body) }),
        ...(fields.number("maxredirects") === 0 && { redirects: "refuse" }),
        ...(isSecure && fields.boolean("ignore_tls") === true && { tls: { verify: false } }),
      },
      response: {
        ...(status !== undefined && { status_code: status }),
        ...keywordOf(fields),
        ...jsonOf(fields, item),
        // Uptime Kuma notifies 21, 14 and 7 days before.
        ...(hasCertificate &&
          { certificate: { warning_before_expiry: "21 days", critical_before_expiry: "7 days" } }),
      },
    },
  };
}

function loginOf(fields: Foreign, item: SourceItem): Parameters<SourceItem["url"]>[1] {
  const method = fields.text("auth_method");
  if (method !== undefined && method !== "basic" && method !== "null") {
    item.leaveOut("authMethod", `${method}: write the header or steps by hand`);
    return {};
  }
  return { username: fields.text("basic_auth_user"), password: fields.text("basic_auth_pass") };
}

function headersOf(fields: Foreign, item: SourceItem): Record<string, string> | null {
  const text = fields.text("headers");
  if (text === undefined) return null;
  const headers = Foreign.of(parseJson(text, null)).entries
    .flatMap(([header, value]) =>
      asText(value) === undefined ? [] : [[header, asText(value) ?? ""] as const]
    );
  if (headers.length === 0) item.leaveOut("headers", "not an object of JSON with texts");
  return headers.length === 0 ? null : Object.fromEntries(headers);
}

/** Codes and ranges such as `200-299`. */
function statusOf(fields: Foreign) {
  const written = fields.get("accepted_statuscodes") ??
    parseJson(fields.text("accepted_statuscodes_json") ?? "[]", []);
  const ranges = asTexts(written).map((text) => {
    const [from = NaN, to = from] = text.split("-").map(Number);
    return { from, to };
  });
  if (ranges.length === 0) return "2xx";
  return statusesThat((status) => ranges.some(({ from, to }) => from <= status && status <= to));
}

function keywordOf(fields: Foreign): written.HttpExpectation {
  const keyword = fields.text("keyword");
  if (fields.text("type") !== "keyword" || keyword === undefined) return {};
  const isInverted = fields.boolean("invert_keyword") === true;
  return { [isInverted ? "not_body_part" : "body_part"]: keyword };
}

/** A JSONata expression that is only a path. */
function jsonOf(fields: Foreign, item: SourceItem): written.HttpExpectation {
  if (fields.text("type") !== "json-query") return {};
  const expression = fields.text("json_path") ?? "$";
  const path = standardJsonPath(expression.replace(/^\$\.?/, ""));
  const expected = fields.text("expected_value") ?? "";
  const operator = fields.text("json_path_operator") ?? "==";
  const number = Number(expected);
  if (path === null) {
    item.leaveOut("jsonPath", `${expression}: only a path has a counterpart`);
    return {};
  }
  if (operator in JSON_COMPARISONS && Number.isFinite(number)) {
    return { json: { [path]: { [JSON_COMPARISONS[operator as keyof typeof JSON_COMPARISONS]]: number } } };
  }
  if (operator === "contains") return { json: { [path]: { contains: expected } } };
  if (operator === "!=") return { json: { [path]: { not_equals: expected } } };
  // Uptime Kuma compares texts, so a number or a boolean may be a text in JSON.
  const literal = /^(?:true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?)$/.test(expected) ? JSON.parse(expected) : null;
  return { json: { [path]: literal === null ? { equals: expected } : { one_of: [literal, expected] } } };
}

function portTarget(fields: Foreign, expect?: string): Target | string {
  const [host, port] = [fields.text("hostname"), fields.number("port")];
  if (host === undefined || port === undefined) return "it has no hostname or port";
  return { kind: "tcp_connect", parameters: { host, port, ...(expect !== undefined && { expect }) } };
}

function dnsTarget(fields: Foreign, item: SourceItem): Target | string {
  const name = fields.text("hostname");
  if (name === undefined) return "it has no hostname";
  const servers = fields.text("dns_resolve_server")?.split(",").map((server) => server.trim()) ?? [];
  const addresses = servers.filter((server) => canonicalAddress(server) !== null);
  if (addresses.length < servers.length) {
    item.leaveOut("dns_resolve_server", "a server must be an IP address");
  }
  const port = fields.number("port") ?? 53;
  const [server] = addresses.map((address) =>
    address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`
  );
  const conditions = fields.text("conditions");
  if (conditions !== undefined && conditions !== "[]") {
    item.leaveOut("conditions", "use values or contains");
  }
  return {
    kind: "dns_lookup",
    parameters: {
      name,
      type: asWord(fields.text("dns_resolve_type")?.toUpperCase() ?? "A"),
      ...(server !== undefined && { server }),
    },
  };
}

function dockerTarget(fields: Foreign, item: SourceItem): Target | string {
  const container = fields.text("docker_container");
  if (container === undefined) return "it has no container";
  item.leaveOut("docker_host", "/run/docker.sock is used: prefer target, a read-only proxy");
  return { kind: "container", parameters: { name: container } };
}
