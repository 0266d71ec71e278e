import type { System } from "../../domain/system.ts";
import { jsonDocument } from "../../shared/text.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { type Command, type Invocation, OPTION, option, UsageError } from "../command_definition.ts";
import { EXIT } from "../exit_code.ts";
import { openStateOf } from "../known_config.ts";
import { type OpenConfig, openConfig, openConfigAt } from "../open_config.ts";
import { readDuration } from "../read_duration.ts";
import { compareReplays, comparisonFields, comparisonText, readPast } from "../rehearsal/compare_replays.ts";
import { LAST_MS_MAX, verifyReplay } from "../rehearsal/verify_replay.ts";
import { locateState } from "../state_location.ts";

export const replayCommand: Command = {
  name: "replay",
  group: "set_up",
  summary: "show what a config would have sent in the past",
  description:
    "Replays stored results with the config: the messages that it would have sent, the nights with one, the outages and " +
    "the mean delay. With --against, it compares another config, and lists messages that only one of both sends within " +
    "two minutes. It uses the same decision code as the service, sends nothing and stores nothing. All checks begin pending.",
  page: "guides/rehearse.md",
  options: [
    OPTION.config,
    option("--against PATH", "config to compare with, such as the present one; its state has the results"),
    OPTION.state,
    option("--verify", "compare with what was really sent, and fail if that differs"),
    option("--last TIME", "how far back (default: 90 days)"),
    OPTION.format,
  ],
  examples: [
    ["monitor replay --last 7d", "list the messages of a week"],
    ["monitor replay -c new.jsonc --against monitor.jsonc", "compare a new config with the present one"],
    ["monitor replay --format json", "print JSON for scripts"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "nothing_stored", "differs", "state", "permission", "config"],
  run: runReplay,
};

async function runReplay(invocation: Invocation, system: System): Promise<number> {
  const format = invocation.reportFormat();
  const verifies = invocation.has("verify");
  if (verifies && format === "json") throw new UsageError("--verify cannot be used with --format json");
  const lastMs = readLast(invocation);
  const config = await openConfig(invocation, system, { withoutSecrets: true });
  const path = invocation.text("against");
  const against = path === undefined
    ? null
    : await openConfigAt({ path, named: true }, { invocation, system, withoutSecrets: true });
  const place = await locateState(invocation, against ?? config, system);
  await using state = await openStateOf({ config: against ?? config, place }, system);
  const { store, records } = state;
  if (verifies) return await verifyReplay(config, { store, lastMs, system });
  const past = await readPast(against === null ? [config] : [config, against], { store, lastMs, system });
  if (past === null) {
    if (store === null && against === null) {
      system.stderr.write("monitor: hint: use the results of the config that runs: --against PATH\n");
    }
    return EXIT.nothing;
  }
  const label = (config: OpenConfig) => ({ label: config.source.label, config });
  const comparison = await compareReplays(past, {
    after: label(config),
    before: against && label(against),
    records,
    system,
  });
  system.stdout.write(
    format === "json"
      ? jsonDocument(comparisonFields(comparison))
      : comparisonText(comparison, config.timeZone()),
  );
  return EXIT.ok;
}

function readLast(invocation: Invocation): number {
  const lastMs = readDuration(invocation, "last", () => "monitor replay --last 7d") ?? 90 * DAY_MS;
  if (lastMs <= LAST_MS_MAX) return lastMs;
  const text = JSON.stringify(invocation.text("last"));
  throw new UsageError(`--last is ${text}, expected 10 years or less`);
}
