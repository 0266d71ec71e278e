import { canonicalAddress } from "../shared/ip_address.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asBody, asBoolean, asNumber, asText, asTexts, asWord, fieldOf } from "./foreign_value.ts";
import { firstPatterns, type GossContext } from "./goss_scripts.ts";
import { parseHostAndPort } from "./host_and_port.ts";

export function httpCheck(key: string, context: GossContext): written.Check | string {
  const { resource, item, name, draft } = context;
  const text = (field: string) => asText(fieldOf(resource, field));
  const status = fieldOf(resource, "status");
  const expected = asNumber(status);
  if (status !== undefined && expected === undefined) draft.leaveOut(item, "status", "an advanced matcher");
  if (asBoolean(fieldOf(resource, "allow-insecure")) === true) {
    draft.leaveOut(
      item,
      "allow-insecure",
      "certificates are always verified, so the check cannot pass without ca_file",
    );
  }
  if (asTexts(fieldOf(resource, "headers")).length > 0) {
    draft.leaveOut(item, "headers", "write response.headers, by name and value");
  }
  const headers = Object.fromEntries(
    asTexts(fieldOf(resource, "request-headers")).map((line) => {
      const [header = "", ...value] = line.split(":");
      return [header.trim(), value.join(":").trim()];
    }),
  );
  const [username, password] = [text("username"), text("password")];
  const url = text("url") ?? key;
  const target = username !== undefined && password !== undefined
    ? draft.urlWithLogin(url, { username, password }, { name, source: item })
    : draft.url(url, name, item);
  const method = text("method")?.toUpperCase() ?? "GET";
  const body = asBody(fieldOf(resource, "request-body"));
  const [ca, certificate, clientKey] = [text("ca-file"), text("cert-file"), text("key-file")];
  const { part, pattern } = firstPatterns("body", context, "body_pattern");
  return {
    kind: "http_request",
    parameters: {
      request: {
        target,
        ...(method !== "GET" && { method: asWord<written.HttpMessage["method"]>(method) }),
        ...(Object.keys(headers).length > 0 && { headers: draft.headers(headers, name, item) }),
        ...(body !== undefined && method !== "GET" && { body: draft.body(body, name, item) }),
        ...(asBoolean(fieldOf(resource, "no-follow-redirects")) === true && { redirects: "refuse" }),
        ...((ca ?? certificate) !== undefined && { tls: { ca_file: ca, certificate, key: clientKey } }),
      },
      response: {
        status_code: expected ?? null,
        body_part: part,
        body_pattern: pattern,
      },
    },
  };
}

export function tcpCheck(key: string, { resource }: GossContext): written.Check | string {
  const address = asText(fieldOf(resource, "address")) ?? key;
  if (!address.startsWith("tcp://")) return "only tcp:// has a counterpart";
  if (asBoolean(fieldOf(resource, "reachable")) === false) return "a check cannot expect a failed connection";
  const place = parseHostAndPort(address.slice("tcp://".length));
  if (place?.port === undefined) return "the address has no host and port";
  return { kind: "tcp_connect", parameters: { host: place.host, port: place.port } };
}

export function tcpPortCheck(key: string, { resource }: GossContext): written.Check | string {
  const [, protocol, port] = /^(tcp6?):(\d+)$/.exec(asText(fieldOf(resource, "port")) ?? key) ?? [];
  if (port === undefined) return "only TCP has a counterpart";
  if (asBoolean(fieldOf(resource, "listening")) === false) return "a check cannot expect a failed connection";
  const [address] = asTexts(fieldOf(resource, "ip")).filter((ip) => ip !== "0.0.0.0" && ip !== "::");
  const host = address ?? (protocol === "tcp6" ? "::1" : "127.0.0.1");
  return { kind: "tcp_connect", parameters: { host, port: Number(port) } };
}

export function dnsCheck(key: string, { resource, draft, item }: GossContext): written.Check | string {
  if (asBoolean(fieldOf(resource, "resolvable")) === false) return "a check cannot expect a missing name";
  const [, type = "A", name = ""] =
    /^(?:([A-Z]+):)?(.+)$/.exec(asText(fieldOf(resource, "resolve")) ?? key) ?? [];
  const place = parseHostAndPort(asText(fieldOf(resource, "server")) ?? "");
  const isAddress = place !== null && canonicalAddress(place.host) !== null;
  if (place !== null && !isAddress) draft.leaveOut(item, "server", "server must be an IP address");
  const addresses = fieldOf(resource, "addrs");
  const contains = asTexts(addresses).filter((address) => type !== "A" || !address.includes(":"))
    .map((address) => address.replace(/\.$/, ""));
  if (contains.length === 0 && addresses !== undefined) draft.leaveOut(item, "addrs", "no list of records");
  return {
    kind: "dns_lookup",
    parameters: {
      name: name.replace(/\.$/, ""),
      type: asWord(type),
      ...(isAddress && { server: `${place.host}${place.port === undefined ? "" : `:${place.port}`}` }),
      ...(contains.length > 0 && { contains }),
    },
  };
}
