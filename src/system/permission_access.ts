import type { PermissionClass } from "../domain/runtime_permissions.ts";
import type { Permissions, System } from "../domain/system.ts";
import { KILL_COMMAND_PATH } from "./process/process_group.ts";

/** The permissions of this process, and cached facts that require one to read. */
type Granted = Permissions & Pick<System, "environment" | "mayReadEnvironment" | "hostName">;

/**
 * Returns the permissions of this process. Values that were read once are cached, whether their class is dropped or
 * not.
 */
export function createPermissions(): Granted {
  const variables = new Map<string, string | undefined>();
  const dropped = new Set<PermissionClass>();
  let hostName: string | null = null;
  const isGranted = (permission: PermissionClass, value?: string): boolean =>
    Deno.permissions.querySync(DESCRIBE[permission](value)).state === "granted";
  const mayReadEnvironment = (name: string): boolean => variables.has(name) || isGranted("env", name);
  const askHostName = (): string => isGranted("sys", "hostname") ? Deno.hostname() : "localhost";
  return {
    isGranted,
    killPath: Deno.build.os === "windows" ? null : KILL_COMMAND_PATH,
    drop: (permission) => {
      if (permission === "sys") hostName ??= askHostName();
      Deno.permissions.revokeSync({ name: permission });
      dropped.add(permission);
    },
    isDropped: (permission) => dropped.has(permission),
    mayReadEnvironment,
    environment: (name) => {
      if (!mayReadEnvironment(name)) return undefined;
      if (!variables.has(name)) variables.set(name, Deno.env.get(name));
      return variables.get(name);
    },
    hostName: () => hostName ??= askHostName(),
  };
}

const DESCRIBE: Readonly<Record<PermissionClass, (value?: string) => Deno.PermissionDescriptor>> = {
  read: (path) => ({ name: "read", ...(path !== undefined && { path }) }),
  write: (path) => ({ name: "write", ...(path !== undefined && { path }) }),
  net: (host) => ({ name: "net", ...(host !== undefined && { host }) }),
  run: (command) => ({ name: "run", ...(command !== undefined && { command }) }),
  env: (variable) => ({ name: "env", ...(variable !== undefined && { variable }) }),
  sys: (kind) => ({ name: "sys", ...(kind !== undefined && { kind: kind as "hostname" }) }),
};
