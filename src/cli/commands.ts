import type { Command } from "./command_definition.ts";
import { COMMAND_LOADERS } from "./command_loaders.ts";

export const COMMANDS: readonly Command[] = await Promise.all(
  Object.values(COMMAND_LOADERS).map((load) => load()),
);
