/** Rehearsals of configs and scenarios that a test has as values. */
import { createActions } from "../../src/cli/rehearsal/administrator.ts";
import { Invocation } from "../../src/cli/command_definition.ts";
import { openConfigAt } from "../../src/cli/open_config.ts";
import { type Rehearsal, rehearse, type RehearseOptions } from "../../src/rehearsal/rehearse.ts";
import { readScenario } from "../../src/rehearsal/scenario.ts";
import { createConfigSystem } from "../../testing/config_system.ts";
import { completeConfig, type ScenarioConfig } from "../../testing/simulation/scenario_config.ts";

const CONFIG = "/etc/monitor/monitor.jsonc";

/** Plays a scenario with a config, which is completed as those of the simulation. */
export async function play(
  scenario: Readonly<Record<string, unknown>>,
  config: ScenarioConfig,
  options: Pick<RehearseOptions, "skips" | "onEnd"> = {},
): Promise<Rehearsal> {
  const text = JSON.stringify(completeConfig(config), null, 2);
  const system = createConfigSystem({ files: { [CONFIG]: text } });
  return await playTexts(
    { path: "/etc/monitor/scenario.jsonc", text: JSON.stringify(scenario, null, 2) },
    { path: CONFIG, text },
    { ...options, system },
  );
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
  const opened = await openConfigAt({ ...config, named: true }, {
    invocation: new Invocation({}),
    system: { ...system, timeZone: () => read.timeZone },
    withoutSecrets: true,
  });
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
