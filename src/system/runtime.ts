import type { System } from "../domain/system.ts";

export const RUNTIME: System["runtime"] = {
  name: "Deno",
  version: Deno.version.deno,
  target: Deno.build.target,
};
