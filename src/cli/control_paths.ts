import { dirname, isAbsolute } from "node:path";
import { hashHex } from "../shared/hash.ts";
import type { System } from "../domain/system.ts";
import type { StateLocation } from "./state_location.ts";

/**
 * Possible paths for the control socket of a service, the best first; empty: it has none. Call this before the
 * permission to read the environment is dropped.
 */
export function controlPathsOf(
  { path, postgres }: StateLocation,
  { environment, platform }: Pick<System, "environment" | "platform">,
): readonly string[] {
  // Members of a shared state may run on other machines.
  if (path === null || postgres !== undefined || platform === "windows") return [];
  const name = `${hashHex(path, 16)}.sock`;
  const absolute = (variable: string): readonly string[] => {
    // systemd lists several directories with colons.
    const [directory = ""] = environment(variable)?.split(":") ?? [];
    return isAbsolute(directory) ? [directory] : [];
  };
  return [
    ...absolute("RUNTIME_DIRECTORY").map((directory) => `${directory}/control/${name}`),
    ...absolute("XDG_RUNTIME_DIR").map((directory) => `${directory}/monitor/${name}`),
    `${dirname(path)}/${name}`,
  ];
}
