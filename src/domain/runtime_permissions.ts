/** The classes of permissions, as the runtime names them. */
export const PERMISSION_CLASSES = ["read", "write", "net", "run", "env", "sys"] as const;

export type PermissionClass = typeof PERMISSION_CLASSES[number];

/** Permissions of the runtime, named as its classes; absent and empty mean that none is needed. */
export interface RequiredPermissions {
  /** Absolute paths that are read. */
  readonly read?: readonly string[];
  /** Absolute paths that are written. */
  readonly write?: readonly string[];
  /** Hosts with their ports, such as `example.org:443` or `[::1]:25`. */
  readonly net?: readonly string[];
  /** Absolute paths of commands that are started. */
  readonly run?: readonly string[];
  readonly env?: readonly string[];
  /** Facts of the system, such as `hostname` and `uid`. */
  readonly sys?: readonly string[];
  /** A note about `net` on one line without a final period, printed with the flags. */
  readonly netCaution?: string;
  /** Whether `net` is valid for this machine only, so that no executable can be built with it. @default false */
  readonly isOfMachine?: boolean;
}

/** Instead of hosts: the whole network, because the IP address can't be predicted. */
export const NET_ALL = "*";

/** The file that lists the resolvers (resolv.conf(5)). */
export const RESOLVER_FILE = "/etc/resolv.conf";

/** The variable with the certificates that TLS trusts, set at the start unless the user has set it. */
export const TRUST_VARIABLE = "DENO_TLS_CA_STORE";

/** The permissions that TLS needs in addition to the network. */
export function permissionsOfTls(isUsed: boolean): RequiredPermissions {
  return isUsed ? { env: [TRUST_VARIABLE] } : {};
}

/** The same for an `http:` or `https:` URL. */
export function permissionsOfUrl(target: string): RequiredPermissions {
  return { net: [hostAndPortOf(target)], ...permissionsOfTls(new URL(target).protocol === "https:") };
}

/** The same for a server behind a port, with the file of its CAs, or at a Unix socket. */
export function permissionsOfServer(
  { host, port, socket }: { readonly host: string; readonly port: number; readonly socket?: string },
  { tls, caFile }: { readonly tls: boolean; readonly caFile?: string | undefined },
): RequiredPermissions {
  if (socket !== undefined) return { read: [socket], write: [socket] };
  return {
    net: [hostAndPort(host, port)],
    ...permissionsOfTls(tls),
    ...caFile !== undefined && { read: [caFile] },
  };
}

/** A host and a port as the runtime's permissions name them; an IPv6 address is put in brackets. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
}

/** The network permissions of an `http:` or `https:` URL. */
export function hostAndPortOf(target: string): string {
  const { hostname, port, protocol } = new URL(target);
  return hostAndPort(hostname, port === "" ? (protocol === "https:" ? 443 : 80) : Number(port));
}

/**
 * Makes the runtime's error for the missing permission to read the user's id, which was found without the runtime. The
 * purpose, such as `ownership of files`, is for people.
 */
export function missingUserId(purpose: string): Error {
  return new Deno.errors.NotCapable(
    `Requires sys access to "uid" ${purpose}, run again with the --allow-sys=uid flag`,
  );
}
