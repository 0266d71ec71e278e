import { ConfigError, type Source } from "../../config/problem.ts";
import type { System } from "../../domain/system.ts";
import type { RehearseOptions } from "../../rehearsal/rehearse.ts";
import { rejectScenario } from "../../rehearsal/scenario.ts";
import { splitWords } from "../../import/nagios_commands.ts";
import { parseInvocation } from "../arguments.ts";
import { type Command, Invocation, UsageError } from "../command_definition.ts";
import { didYouMean } from "../../config/nearest.ts";
import type { OpenConfig } from "../open_config.ts";

/** The commands that people use while the service runs. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  acknowledge: async () => (await import("../commands/acknowledge.ts")).acknowledgeCommand,
  silence: async () => (await import("../commands/silence.ts")).silenceCommand,
  maintenance: async () => (await import("../commands/maintenance.ts")).maintenanceCommand,
};
const WORDS = [...Object.keys(COMMANDS), "restart", "stop", "start"];

/** Returns a function that carries out the command lines of a scenario, by the commands themselves, on the rehearsed state. */
export function createActions(config: OpenConfig, scenario: Source): RehearseOptions["act"] {
  return async ({ text, path }, { system, store }) => {
    const [name = "", ...args] = splitWords(text) ?? [];
    const reject = (message: string, hint?: string | null): void =>
      rejectScenario(scenario, [{ path, message, ...typeof hint === "string" && { hint } }]);
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (load === undefined) {
      return reject(`is "${text}", expected one of ${WORDS.join(", ")}`, didYouMean(name, WORDS));
    }
    const command = await load();
    const stored = { store: { ...store, close: () => Promise.resolve() }, quarantined: null };
    const printed = { isTerminal: false, closed: false, columns: () => null, write: () => {} };
    const rehearsed: System = {
      ...system,
      stdout: printed,
      stderr: printed,
      stores: { ...system.stores, openFile: () => Promise.resolve(stored) },
      permissions: { ...system.permissions, drop: () => {} },
    };
    try {
      const { options, operands } = parseInvocation(command, args);
      const places = [["config", config.source.path ?? ""], ["state", "/rehearsal"]] as const;
      await command.run(new Invocation({ operands, options: new Map([...options, ...places]) }), rehearsed);
    } catch (error) {
      if (error instanceof UsageError) reject(error.message, error.hint);
      else if (error instanceof ConfigError) reject(error.message, error.hint);
      else throw error;
    }
  };
}
