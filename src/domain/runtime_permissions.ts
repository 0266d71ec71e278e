/** The classes of permissions, as the runtime names them. */
export const PERMISSION_CLASSES = ["read", "write", "net", "run", "env", "sys"] as const;

export type PermissionClass = typeof PERMISSION_CLASSES[number];

/**
 * What the runtime must permit, named as its permission classes are. Every member is optional; absent and empty mean
 * that nothing of the class is needed.
 */
export interface RequiredPermissions {
  /** Absolute paths that are read. */
  readonly read?: readonly string[];
  /** Absolute paths that are written. */
  readonly write?: readonly string[];
  /** Hosts with their ports, such as `example.org:443` or `[::1]:25`. */
  readonly net?: readonly string[];
  /** Absolute paths of programs that are started. */
  readonly run?: readonly string[];
  readonly env?: readonly string[];
  /** Facts of the system, such as `hostname` and `uid`. */
  readonly sys?: readonly string[];
  /** What to know about `net` before using it, on one line without a final period; printed with the flags. */
  readonly netCaution?: string;
  /** Whether `net` holds for this machine only, so that no executable can be built with it. @default false */
  readonly isOfMachine?: boolean;
}

/** In place of hosts: the whole network, because nobody knows which address is needed. */
export const NET_ALL = "*";

/** Where a machine names its resolvers (resolv.conf(5)). */
export const RESOLVER_FILE = "/etc/resolv.conf";

/** Says which certificates TLS trusts. It is set at the start, if TLS is used and the user has not set it. */
export const TRUST_VARIABLE = "DENO_TLS_CA_STORE";

/** What TLS needs besides the network. */
export function permissionsOfTls(isUsed: boolean): RequiredPermissions {
  return isUsed ? { env: [TRUST_VARIABLE] } : {};
}

/** The same for an `http:` or `https:` URL. */
export function permissionsOfUrl(target: string): RequiredPermissions {
  return { net: [hostAndPortOf(target)], ...permissionsOfTls(new URL(target).protocol === "https:") };
}

/** A host and a port as the runtime's permissions name them; an IPv6 address is put in brackets. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
}

/** What an `http:` or `https:` address needs of the network. */
export function hostAndPortOf(target: string): string {
  const { hostname, port, protocol } = new URL(target);
  return hostAndPort(hostname, port === "" ? (protocol === "https:" ? 443 : 80) : Number(port));
}

/**
 * The runtime's error for a permission that was not granted, for what is found out without asking the runtime. The
 * purpose, such as `ownership of files`, is for people.
 */
export function missingPermission(permission: PermissionClass, value: string, purpose?: string): Error {
  const what = `Requires ${permission} access to "${value}"${purpose === undefined ? "" : ` ${purpose}`}`;
  return new Deno.errors.NotCapable(`${what}, run again with the --allow-${permission}=${value} flag`);
}
