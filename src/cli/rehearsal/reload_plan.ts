/** What an edited config would have sent, compared with the one that the service uses: `monitor reload --plan`. */
import { DAY_MS } from "../../shared/time_units.ts";
import { askService } from "../control_client.ts";
import { OutputError } from "../failure.ts";
import { type CommandContext, openConfig, openConfigAt } from "../open_config.ts";
import { readState } from "../read_state.ts";
import { locateState } from "../state_location.ts";
import { compareReplays, comparisonFields, comparisonText, readPast } from "./compare_replays.ts";

const LAST_MS = 7 * DAY_MS;

interface ReloadPlan {
  readonly text: string;
  /** The same for programs. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Plays the last days to the edited config and to the one in use; `null`, which is printed: no result is stored.
 *
 * @throws {ConfigError} If the edited config has errors.
 * @throws {OutputError} If no service can be asked for the config that it uses.
 */
export async function planReload({ invocation, system }: CommandContext): Promise<ReloadPlan | null> {
  const edited = await openConfig(invocation, system, { withoutSecrets: true });
  const response = await askService({ command: "config" }, invocation, system);
  if (!("sources" in response)) throw new OutputError("error" in response ? response.error : "no response");
  const { sources } = response;
  const used = await openConfigAt({ path: sources[0]?.path ?? "-", named: true, sources }, {
    ...{ invocation, system },
    withoutSecrets: true,
  });
  const store = await readState(await locateState(invocation, edited, system), system);
  const past = await readPast([edited, used], { store, lastMs: LAST_MS, system })
    .finally(() => store?.close());
  if (past === null) return null;
  const comparison = await compareReplays(past, {
    after: { label: "edited", config: edited },
    before: { label: "running", config: used },
    system,
  });
  return {
    text: comparisonText(comparison, system.timeZone()),
    fields: comparisonFields(comparison),
  };
}
