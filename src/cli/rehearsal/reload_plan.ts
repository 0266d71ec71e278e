/** Compares the messages of an edited config with those of the config in use: `monitor reload --plan`. */
import { hasProblem } from "../../condition/condition_state.ts";
import type { Check } from "../../domain/check.ts";
import type { Condition } from "../../domain/condition.ts";
import type { CheckRecord } from "../../domain/store.ts";
import { counted, printable } from "../../shared/text.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { compareConfigs, type ConfigDifference, describeDifference } from "../check/service_output.ts";
import { askService } from "../control_client.ts";
import { OutputError } from "../failure.ts";
import { type CommandContext, type OpenConfig, openConfig, openConfigAt } from "../open_config.ts";
import { readState } from "../open_store.ts";
import { locateState } from "../state_location.ts";
import { compareReplays, comparisonFields, comparisonText, readPast } from "./compare_replays.ts";

const LAST_MS = 7 * DAY_MS;

interface ReloadPlan {
  readonly text: string;
  readonly difference: ConfigDifference;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A changed or removed check that has a problem now. */
interface PresentProblem {
  readonly check: string;
  readonly condition: Condition;
  readonly change: "changed" | "removed";
}

/**
 * Replays the last days with the edited config and with the one in use.
 *
 * @throws {ConfigError} If the edited config has errors.
 * @throws {OutputError} If no service returns the config in use.
 */
export async function planReload({ invocation, system }: CommandContext): Promise<ReloadPlan> {
  const edited = await openConfig(invocation, system, { withoutSecrets: true });
  const response = await askService({ command: "config" }, invocation, system);
  if (!("sources" in response)) throw new OutputError("error" in response ? response.error : "no response");
  const { sources } = response;
  const used = await openConfigAt({ path: sources[0]?.path ?? "-", named: true, sources }, {
    ...{ invocation, system },
    withoutSecrets: true,
  });
  const store = await readState(await locateState(invocation, edited, system), system);
  const [records, past] = await Promise.all([
    store?.records() ?? [],
    readPast([edited, used], { store, lastMs: LAST_MS, system }),
  ]).finally(() => store?.close());
  const comparison = past && await compareReplays(past, {
    after: { label: "edited", config: edited },
    before: { label: "running", config: used },
    ...{ records, system },
  });
  const active = ({ checks }: OpenConfig): readonly Check[] => checks.filter(({ active }) => active);
  const difference = compareConfigs(
    { checks: active(used), files: used.files },
    { checks: active(edited), files: edited.files },
  );
  const problems = problemsOf(records, difference);
  const lines = [
    ...problems.map(problemLine),
    `edited: ${counted(active(edited).length, "check")}, ${describeDifference(difference)}`,
  ];
  return {
    text: (comparison === null ? "" : `${comparisonText(comparison, edited.timeZone())}\n`) +
      lines.map((line) => `${printable(line)}\n`).join(""),
    difference,
    fields: { problems, plan: comparison && comparisonFields(comparison) },
  };
}

function problemsOf(
  records: readonly CheckRecord[],
  { changed, removed }: ConfigDifference,
): readonly PresentProblem[] {
  const confirmed = new Map(
    records.flatMap(({ name, condition }) => hasProblem(condition) ? [[name, condition.confirmed]] : []),
  );
  const among = (names: readonly string[], change: PresentProblem["change"]): readonly PresentProblem[] =>
    names.flatMap((check) => {
      const condition = confirmed.get(check) ?? null;
      return condition === null ? [] : [{ check, condition, change }];
    });
  return [...among(removed, "removed"), ...among(changed, "changed")];
}

function problemLine({ check, condition, change }: PresentProblem): string {
  return `${check} is ${condition} now and ${change}` +
    (change === "removed" ? ': channels that were notified of it get "no longer checked"' : "");
}
