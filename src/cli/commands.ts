import type { Command } from "./command_definition.ts";
import { COMMAND_LOADERS } from "./command_loaders.ts";

/** Every command, in the order in which the help lists them. */
export const COMMANDS: readonly Command[] = await Promise.all(
  Object.values(COMMAND_LOADERS).map((load) => load()),
);
