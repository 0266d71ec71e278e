import type { ListenAddress } from "../domain/http_servers.ts";
import { canonicalAddress } from "./ip_address.ts";

const FORM = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+|localhost)):(\d{1,5})$/i;

/** Parses an IP address or `localhost` with a port, such as `127.0.0.1:9797` or `[::1]:9797`; `null`: invalid. */
export function parseListenAddress(text: string): ListenAddress | null {
  const [, bracketed, plain = "", digits] = FORM.exec(text) ?? [];
  const port = Number(digits);
  const host = bracketed ?? plain.toLowerCase();
  if (digits === undefined || port > 65_535) return null;
  return host === "localhost" || canonicalAddress(host) !== null ? { host, port } : null;
}
