import type { Command } from "./command_definition.ts";

/**
 * Every command by its name, in the order of the help. A run loads only the module of its own command, since loading
 * all of them takes longer than most runs.
 */
export const COMMAND_LOADERS: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import("./commands/init.ts")).initCommand,
  discover: async () => (await import("./commands/discover.ts")).discoverCommand,
  add: async () => (await import("./commands/add.ts")).addCommand,
  import: async () => (await import("./commands/import.ts")).importCommand,
  demo: async () => (await import("./commands/demo.ts")).demoCommand,
  check: async () => (await import("./commands/check.ts")).checkCommand,
  run: async () => (await import("./commands/run.ts")).runCommand,
  beat: async () => (await import("./commands/beat.ts")).beatCommand,
  reload: async () => (await import("./commands/reload.ts")).reloadCommand,
  status: async () => (await import("./commands/status.ts")).statusCommand,
  history: async () => (await import("./commands/history.ts")).historyCommand,
  why: async () => (await import("./commands/why.ts")).whyCommand,
  summary: async () => (await import("./commands/summary.ts")).summaryCommand,
  report: async () => (await import("./commands/report.ts")).reportCommand,
  acknowledge: async () => (await import("./commands/acknowledge.ts")).acknowledgeCommand,
  silence: async () => (await import("./commands/silence.ts")).silenceCommand,
  maintenance: async () => (await import("./commands/maintenance.ts")).maintenanceCommand,
  validate: async () => (await import("./commands/validate.ts")).validateCommand,
  explain: async () => (await import("./commands/explain.ts")).explainCommand,
  notify: async () => (await import("./commands/notify.ts")).notifyCommand,
  prove: async () => (await import("./commands/prove.ts")).proveCommand,
  rehearse: async () => (await import("./commands/rehearse.ts")).rehearseCommand,
  replay: async () => (await import("./commands/replay.ts")).replayCommand,
  suggest: async () => (await import("./commands/suggest.ts")).suggestCommand,
  permissions: async () => (await import("./commands/permissions.ts")).permissionsCommand,
  members: async () => (await import("./commands/members.ts")).membersCommand,
  state: async () => (await import("./commands/state.ts")).stateCommand,
  schema: async () => (await import("./commands/schema.ts")).schemaCommand,
  completions: async () => (await import("./commands/completions.ts")).completionsCommand,
  licenses: async () => (await import("./commands/licenses.ts")).licensesCommand,
};

export async function loadCommands(): Promise<readonly Command[]> {
  return await Promise.all(Object.values(COMMAND_LOADERS).map((load) => load()));
}
