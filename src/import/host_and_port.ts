interface HostAndPort {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number | undefined;
}

/** Parses `host`, `host:port` or `[address]:port`, ignoring a path after a slash; `null` for anything else. */
export function parseHostAndPort(text: string): HostAndPort | null {
  const [authority = ""] = text.split(/[/?#]/);
  const match = /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(authority);
  if (match === null) {
    return /^[0-9a-f]*:[0-9a-f:.]+$/i.test(authority) ? { host: authority, port: undefined } : null;
  }
  const [, address, name = "", port] = match;
  return { host: address ?? name, port: port === undefined ? undefined : Number(port) };
}
