import { dirname, isAbsolute } from "node:path";
import { hashHex } from "../shared/hash.ts";
import type { System } from "../domain/system.ts";
import type { StateLocation } from "./state_location.ts";

/**
 * Where the control socket of a service may be, the best place first; empty: it has none. The variables are read here, so this
 * is called before the permission to read them is dropped.
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
