type DatabaseHost =
  | { readonly host: string; readonly port: number }
  | { readonly socketPath: string };

/** PostgreSQL's port, which is also part of the name of its socket. */
const PORT = 5432;

/** Parses `HOST`, `HOST:PORT`, `[IPV6]:PORT`, or the directory of a Unix socket; `null` if it is none of them. */
export function parseDatabaseHost(text: string): DatabaseHost | null {
  if (text.startsWith("/")) {
    const isSocket = /\/\.s\.PGSQL\.\d+$/.test(text);
    return { socketPath: isSocket ? text : `${text.replace(/\/+$/, "")}/.s.PGSQL.${PORT}` };
  }
  const [, host, port] = /^(\[[\da-fA-F:.]+\]|[^\s/@?#:[\]\p{Cc}]+)(?::(\d{1,5}))?$/u.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535 || Number(port) === 0) return null;
  return { host, port: port === undefined ? PORT : Number(port) };
}
