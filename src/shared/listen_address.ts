import type { ListenAddress } from "../domain/http_servers.ts";

const FORM = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+|localhost)):(\d{1,5})$/i;

/** Parses an IP address or `localhost` with a port, such as `127.0.0.1:9797` or `[::1]:9797`; `null`: invalid. */
export function parseListenAddress(text: string): ListenAddress | null {
  const [, bracketed, plain = "", digits] = FORM.exec(text) ?? [];
  const port = Number(digits);
  const host = bracketed ?? plain.toLowerCase();
  if (digits === undefined || port > 65_535 || !isHost(bracketed === undefined ? host : `[${host}]`)) {
    return null;
  }
  return { host, port };
}

/** A URL accepts no number above 255, but fewer than four of them. */
function isHost(host: string): boolean {
  return host === "localhost" || URL.parse(`http://${host}/`)?.hostname === host ||
    host.startsWith("[") && URL.canParse(`http://${host}/`);
}
