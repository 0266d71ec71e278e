/** How a URL such as `postgres://USER@HOST/DATABASE` names a server. */
export function databaseUrl(text: string, schemes: readonly string[]): {
  readonly server: { readonly host: string; readonly port?: number };
  readonly login: { readonly username?: string; readonly password?: string };
  readonly database: string;
  readonly isSecure: boolean;
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
    isSecure: url.protocol === schemes[1],
  };
}

function decodedPart(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
