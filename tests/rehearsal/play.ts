/** Rehearsals of configs and scenarios that a test has as values. */
import { createActions } from "../../src/cli/commands/rehearse.ts";
import { Invocation } from "../../src/cli/command_definition.ts";
import { type OpenConfig, openConfigAt } from "../../src/cli/open_config.ts";
import type { System } from "../../src/domain/system.ts";
import { type Rehearsal, rehearse, type RehearseOptions } from "../../src/rehearsal/rehearse.ts";
import { readScenario } from "../../src/rehearsal/scenario.ts";
import { createConfigSystem } from "../../testing/config_system.ts";
import { completeConfig, type ScenarioConfig } from "../../testing/simulation/scenario_config.ts";

const CONFIG = "/etc/monitor/monitor.jsonc";

/** Plays a scenario with a config, which is completed as those of the simulation. */
export async function play(
  scenario: Readonly<Record<string, unknown>>,
  written: ScenarioConfig,
  options: Pick<RehearseOptions, "skips" | "onEnd"> = {},
): Promise<Rehearsal> {
  const config = { path: CONFIG, text: JSON.stringify(completeConfig(written), null, 2) };
  const system = createConfigSystem({ files: { [CONFIG]: config.text } });
  const text = JSON.stringify(scenario, null, 2);
  return await playTexts({ path: "/etc/monitor/scenario.jsonc", text }, config, { ...options, system });
}

async function openText(config: TextAt, system: System): Promise<OpenConfig> {
  const invocation = new Invocation({});
  return await openConfigAt({ ...config, named: true }, { invocation, system, withoutSecrets: true });
}

interface TextAt {
  readonly path: string;
  readonly text: string;
}

/** Plays the text of a scenario with that of a config. */
export async function playTexts(
  scenario: TextAt,
  config: TextAt,
  { system, ...options }: Pick<RehearseOptions, "skips" | "onEnd" | "system">,
): Promise<Rehearsal> {
  const read = await readScenario({ ...scenario, named: true }, system);
  const opened = await openText(config, { ...system, timeZone: () => read.timeZone });
  return await rehearse(read, {
    config: opened,
    system,
    act: createActions(opened, read.source),
    ...options,
  });
}

/** The messages of each channel that got some, as an expectation has them. */
export function messagesOf({ channels }: Rehearsal): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    channels.filter(({ lines }) => lines.length > 0).map(({ name, lines }) => [name, lines]),
  );
}
