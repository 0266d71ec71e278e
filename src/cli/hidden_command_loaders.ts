import type { CommandLoader } from "./command_loaders.ts";

/** Commands for other programs; no help lists them. */
export const HIDDEN_COMMAND_LOADERS: Readonly<Record<string, CommandLoader>> = {
  __complete: async () => {
    const { createCompleteCommand } = await import("./commands/complete.ts");
    return createCompleteCommand((await import("./commands.ts")).COMMANDS);
  },
};
