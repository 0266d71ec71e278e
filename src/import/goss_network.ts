import { canonicalAddress } from "../shared/ip_address.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asWord, type Foreign } from "./foreign_value.ts";
import { firstPatterns } from "./goss_scripts.ts";
import { parseHostAndPort } from "./host_and_port.ts";
import type { SourceItem } from "./source_item.ts";

export function httpCheck(key: string, resource: Foreign, item: SourceItem): written.Check {
  const text = (field: string) => resource.text(field);
  const expected = resource.number("status");
  if (resource.has("status") && expected === undefined) item.leaveOut("status", "an advanced matcher");
  if (resource.boolean("allow-insecure") === true) {
    item.leaveOut(
      "allow-insecure",
      "certificates are always verified, so the check cannot pass without ca_file",
    );
  }
  if (resource.texts("headers").length > 0) {
    item.leaveOut("headers", "write response.headers, by name and value");
  }
  const headers = Object.fromEntries(
    resource.texts("request-headers").map((line) => {
      const [header = "", ...value] = line.split(":");
      return [header.trim(), value.join(":").trim()];
    }),
  );
  const login = { username: text("username"), password: text("password") };
  const method = text("method")?.toUpperCase() ?? "GET";
  const body = resource.body("request-body");
  const [ca, certificate, clientKey] = [text("ca-file"), text("cert-file"), text("key-file")];
  const { part, pattern } = firstPatterns(["body", "body_pattern"], resource, item);
  return {
    kind: "http_request",
    parameters: {
      request: {
        target: item.url(text("url") ?? key, login),
        ...(method !== "GET" && { method: asWord<written.HttpMessage["method"]>(method) }),
        ...(Object.keys(headers).length > 0 && { headers: item.headers(headers) }),
        ...(body !== undefined && method !== "GET" && { body: item.body(body) }),
        ...(resource.boolean("no-follow-redirects") === true && { redirects: "refuse" }),
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

export function tcpCheck(key: string, resource: Foreign): written.Check | string {
  const address = resource.text("address") ?? key;
  if (!address.startsWith("tcp://")) return "only tcp:// has a counterpart";
  if (resource.boolean("reachable") === false) return "a check cannot expect a failed connection";
  const place = parseHostAndPort(address.slice("tcp://".length));
  if (place?.port === undefined) return "the address has no host and port";
  return { kind: "tcp_connect", parameters: { host: place.host, port: place.port } };
}

export function tcpPortCheck(key: string, resource: Foreign): written.Check | string {
  const [, protocol, port] = /^(tcp6?):(\d+)$/.exec(resource.text("port") ?? key) ?? [];
  if (port === undefined) return "only TCP has a counterpart";
  if (resource.boolean("listening") === false) return "a check cannot expect a failed connection";
  const [address] = resource.texts("ip").filter((ip) => ip !== "0.0.0.0" && ip !== "::");
  const host = address ?? (protocol === "tcp6" ? "::1" : "127.0.0.1");
  return { kind: "tcp_connect", parameters: { host, port: Number(port) } };
}

export function dnsCheck(key: string, resource: Foreign, item: SourceItem): written.Check | string {
  if (resource.boolean("resolvable") === false) return "a check cannot expect a missing name";
  const [, type = "A", name = ""] = /^(?:([A-Z]+):)?(.+)$/.exec(resource.text("resolve") ?? key) ?? [];
  const place = parseHostAndPort(resource.text("server") ?? "");
  const isAddress = place !== null && canonicalAddress(place.host) !== null;
  if (place !== null && !isAddress) item.leaveOut("server", "server must be an IP address");
  const contains = resource.texts("addrs").filter((address) => type !== "A" || !address.includes(":"))
    .map((address) => address.replace(/\.$/, ""));
  if (contains.length === 0 && resource.has("addrs")) item.leaveOut("addrs", "no list of records");
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
