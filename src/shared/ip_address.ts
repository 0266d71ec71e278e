import type { ListenAddress } from "../domain/http_servers.ts";

/** Returns an IP address in its one canonical form, without brackets; `null` if the text is not an IP address. */
export function canonicalAddress(text: string): string | null {
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text)) {
    return text.split(".").every((part) => Number(part) <= 255 && !/^0./.test(part)) ? text : null;
  }
  const url = /^[\da-f:.]+$/i.test(text) && text.includes(":") ? URL.parse(`http://[${text}]/`) : null;
  return url === null ? null : url.hostname.slice(1, -1);
}

/** Returns whether a host is this machine: `localhost`, 127.0.0.0/8 or `::1`, with or without brackets. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
}

/** RFC 1918, 3927, 4193 and 4291. */
const PRIVATE =
  /^(?:10\.|172\.(?:1[6-9]|2\d|3[01])\.|192\.168\.|169\.254\.|f[cd][\da-f]{2}:|fe[89ab][\da-f]:)/i;

/** Returns whether an IP address is one that each site may have: private, unique local or link-local. */
export function isPrivate(address: string): boolean {
  return PRIVATE.test(address);
}

const FORM = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+|localhost)):(\d{1,5})$/i;

/** Parses an IP address or `localhost` with a port, such as `127.0.0.1:9797` or `[::1]:9797`; `null`: invalid. */
export function parseListenAddress(text: string): ListenAddress | null {
  const [, bracketed, plain = "", digits] = FORM.exec(text) ?? [];
  const port = Number(digits);
  const host = bracketed ?? plain.toLowerCase();
  if (digits === undefined || port > 65_535) return null;
  return host === "localhost" || canonicalAddress(host) !== null ? { host, port } : null;
}

/** Returns a name as it is sent to a name server: in Punycode (RFC 5891), or as it is if it has no such form. */
export function asciiName(name: string): string {
  // deno-lint-ignore no-control-regex
  if (/^[\u0000-\u007f]*$/.test(name) || /[/?#@:\\%[\]\s]/.test(name)) return name;
  return URL.parse(`http://${name}`)?.hostname ?? name;
}

/** Returns the network of a client: an IPv4 address, or the /64 network of an IPv6 address, all of which is one client's. */
export function clientNetwork(address: string): string {
  if (address.includes(".")) return address.replace(/^::ffff:/, "");
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  return tail === undefined || groups.length >= 4 ? groups.slice(0, 4).join(":") : head;
}
