/** How a URL such as `postgres://USER@HOST/DATABASE` names a server. */
export function databaseUrl(text: string, schemes: readonly string[]): {
  readonly server: { readonly host: string; readonly port?: number };
  readonly login: { readonly username?: string; readonly password?: string };
  readonly database: string;
  /** Such as `postgres:`. */
  readonly scheme: string;
} | null {
  const url = URL.parse(text);
  if (url === null || !schemes.includes(url.protocol) || url.hostname === "") return null;
  const decoded = [url.username, url.password, url.pathname.slice(1)].map(decodedPart);
  if (decoded.includes(null)) return null;
  const [username = "", password = "", database = ""] = decoded as readonly string[];
  return {
    server: {
      host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      ...url.port !== "" && { port: Number(url.port) },
    },
    login: { ...username !== "" && { username }, ...password !== "" && { password } },
    database,
    scheme: url.protocol,
  };
}

/** Returns the parameters of a check in a URL of an SQL server; without a user it has `defaultUsername`. */
export function sqlParametersOf(text: string, { schemes, defaultUsername }: SqlUrl): SqlParameters | null {
  const found = databaseUrl(text, schemes);
  if (found === null) return null;
  const { server, login, database } = found;
  return { ...server, username: defaultUsername, ...login, ...database !== "" && { database } };
}

export interface SqlParameters {
  readonly host: string;
  readonly port?: number;
  readonly username: string;
  readonly password?: string;
  readonly database?: string;
}

export interface SqlUrl {
  readonly schemes: readonly string[];
  readonly defaultUsername: string;
}

export const POSTGRES_URL: SqlUrl = { schemes: ["postgres:", "postgresql:"], defaultUsername: "postgres" };
export const MYSQL_URL: SqlUrl = { schemes: ["mysql:", "mariadb:"], defaultUsername: "root" };
export const REDIS_SCHEMES: readonly string[] = ["redis:", "rediss:"];

function decodedPart(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
