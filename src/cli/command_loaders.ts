import type { Command } from "./command_definition.ts";

/**
 * Every command by its name, in the order of the help. A run loads only the module of its own command, since loading
 * all of them takes longer than most runs; `commands.ts` has them all.
 */
export const COMMAND_LOADERS: Readonly<Record<string, () => Promise<Command>>> = {
  check: async () => (await import("./commands/check.ts")).checkCommand,
  demo: async () => (await import("./commands/demo.ts")).demoCommand,
  validate: async () => (await import("./commands/validate.ts")).validateCommand,
  explain: async () => (await import("./commands/explain.ts")).explainCommand,
  status: async () => (await import("./commands/status.ts")).statusCommand,
  history: async () => (await import("./commands/history.ts")).historyCommand,
  prove: async () => (await import("./commands/prove.ts")).proveCommand,
  replay: async () => (await import("./commands/replay.ts")).replayCommand,
  why: async () => (await import("./commands/why.ts")).whyCommand,
  rehearse: async () => (await import("./commands/rehearse.ts")).rehearseCommand,
  summary: async () => (await import("./commands/summary.ts")).summaryCommand,
  permissions: async () => (await import("./commands/permissions.ts")).permissionsCommand,
  report: async () => (await import("./commands/report.ts")).reportCommand,
  notify: async () => (await import("./commands/notify.ts")).notifyCommand,
  reload: async () => (await import("./commands/reload.ts")).reloadCommand,
  run: async () => (await import("./commands/run.ts")).runCommand,
  acknowledge: async () => (await import("./commands/acknowledge.ts")).acknowledgeCommand,
  silence: async () => (await import("./commands/silence.ts")).silenceCommand,
  unsilence: async () => (await import("./commands/unsilence.ts")).unsilenceCommand,
  maintenance: async () => (await import("./commands/maintenance.ts")).maintenanceCommand,
  beat: async () => (await import("./commands/beat.ts")).beatCommand,
  members: async () => (await import("./commands/members.ts")).membersCommand,
  state: async () => (await import("./commands/state.ts")).stateCommand,
  schema: async () => (await import("./commands/schema.ts")).schemaCommand,
  try: async () => (await import("./commands/try.ts")).tryCommand,
  add: async () => (await import("./commands/add.ts")).addCommand,
  discover: async () => (await import("./commands/discover.ts")).discoverCommand,
  init: async () => (await import("./commands/init.ts")).initCommand,
  import: async () => (await import("./commands/import.ts")).importCommand,
  completions: async () => (await import("./commands/completions.ts")).completionsCommand,
  licenses: async () => (await import("./commands/licenses.ts")).licensesCommand,
};
