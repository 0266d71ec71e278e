import type { Command } from "./command.ts";
import { beatCommand } from "./commands/beat.ts";
import { checkCommand } from "./commands/check.ts";
import { createCompleteCommand } from "./commands/complete.ts";
import { completionsCommand } from "./commands/completions.ts";
import { explainCommand } from "./commands/explain.ts";
import { historyCommand } from "./commands/history.ts";
import { initCommand } from "./commands/init.ts";
import { licencesCommand } from "./commands/licences.ts";
import { notifyCommand } from "./commands/notify.ts";
import { permissionsCommand } from "./commands/permissions.ts";
import { reportCommand } from "./commands/report.ts";
import { schemaCommand } from "./commands/schema.ts";
import { silenceCommand } from "./commands/silence.ts";
import { statusCommand } from "./commands/status.ts";
import { validateCommand } from "./commands/validate.ts";

/** Every command, in the order in which the help lists them. */
export const COMMANDS: readonly Command[] = [
  checkCommand,
  validateCommand,
  explainCommand,
  statusCommand,
  historyCommand,
  permissionsCommand,
  reportCommand,
  notifyCommand,
  silenceCommand,
  beatCommand,
  schemaCommand,
  initCommand,
  completionsCommand,
  licencesCommand,
];

/** What programs call; no help lists them. */
export const HIDDEN_COMMANDS: readonly Command[] = [createCompleteCommand(COMMANDS)];
