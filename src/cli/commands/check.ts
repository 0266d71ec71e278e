import { type Command, FAIL_ON_CONDITIONS, OPTION, option, UsageError } from "../command_definition.ts";
import { DEFAULT_LIMITS } from "../../scheduler/run_checks.ts";
import { runOnce } from "../check/run_once.ts";
import type { OnceOptions } from "../check/run_chosen.ts";
import { FORMAT_NAMES, readCheckSettings } from "../check/settings.ts";
import { listenAtStart, wantsColor, warn } from "../terminal.ts";
import { renderProblems } from "../failure.ts";
import {
  type OpenConfig,
  openConfig,
  readSelection,
  rejectUnsharedLocations,
  selectActiveChecks,
} from "../open_config.ts";
import {
  describeMissing,
  dropOtherPermissions,
  LISTEN_OPTION,
  permissionsOfConfig,
} from "../config_permissions.ts";
import { outputOption } from "../formats/format.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../../domain/system.ts";
import { pathFromHere } from "../../config/source.ts";
import { temporaryPathOf } from "../../shared/regular_file.ts";
import { controlPathsOf, locateState } from "../open_state.ts";

export const checkCommand: Command = {
  name: "check",
  group: "run",
  summary: "run the checks, on their schedules or once",
  operands: "[NAME…]",
  description:
    "Runs every active check of the config, or the named or tagged ones. Without --once it runs them on their " +
    "schedules until it is stopped.",
  page: "reference/checks.md",
  options: [
    OPTION.config,
    OPTION.state,
    OPTION.tag,
    option("--once", "a single run of each check"),
    option("--due", "with --once: only checks that are due, and only notifications as output; for cron"),
    option(
      "--format FORMAT",
      `${FORMAT_NAMES.join(", ")}; without --once pretty or ndjson (default: pretty)`,
      { choices: FORMAT_NAMES },
    ),
    outputOption("with --once: file for the results"),
    option(
      "--retry-for DURATION",
      'with --once: how long to retry failing checks, such as "2m"; only the last result counts',
    ),
    option(
      "--fail-on CONDITION",
      "lowest severity that sets the exit code: warning or critical (default: warning); " +
        "unknown always does",
      { choices: FAIL_ON_CONDITIONS },
    ),
    option("--trace", "with --once: everything that each run sends and receives, without secrets"),
    option("--no-notify", "no notifications; a later run sends those of lasting problems"),
    option(
      "--concurrency COUNT",
      `number of checks with a process that run at a time (default: ${DEFAULT_LIMITS.process})`,
    ),
    LISTEN_OPTION,
    option("--member NAME", "name of this monitor among those that share a state (default: the host name)"),
    option("--location NAME", 'location of this monitor, for checks with "locations" (default: none)'),
    option("--log-level LEVEL", "error, warning, info or debug (default: info)", { choices: LOG_LEVELS }),
    option("--log-format FORMAT", "text or json (default: text)", { choices: LOG_FORMATS }),
  ],
  examples: [
    ["monitor check", "run on schedules, as a service"],
    ["monitor check --once", "run every active check once"],
    ["monitor check --once -c web.jsonc web mail", "run two checks of one config"],
    ["monitor check --once --trace web", "show why a check fails"],
    ["monitor check --listen 127.0.0.1:9797", "show every check live in a browser"],
    ["monitor check --tag web", "run the checks with a tag"],
    ["monitor check --once --due", "run from cron, every minute"],
    ["monitor check --once --state none --format junit", "run in a CI pipeline"],
    ["monitor check --once --retry-for 2m", "wait until a deployment is healthy"],
    ["monitor check --once --output junit=monitor.xml", "print the results, and write them for CI"],
    ["monitor check --once --format plugin", "run as a plugin of Nagios or Icinga"],
  ],
  endings: ["observed", "name", "undelivered", "state", "held", "permission", "config", "interrupted"],
  run: async (invocation, system) => {
    const settings = readCheckSettings(invocation);
    const signals = listenAtStart(system, settings);
    try {
      return await Promise.race([signals.stopped, runChecks({ invocation, system, settings, signals })]);
    } finally {
      signals.end();
    }
  },
};

async function runChecks(call: Omit<OnceOptions, "config">): Promise<number> {
  const { invocation, system, settings } = call;
  const config = await openConfig(invocation, system);
  const checks = selectActiveChecks(config.checks, readSelection(invocation));
  // Without --once they go to the log.
  if (settings.once && !settings.due) {
    const color = wantsColor(invocation, system.stderr, system);
    system.stderr.write(renderProblems(config.source, config.placedWarnings, { color, severity: "warning" }));
  }
  const outputs = settings.outputs.map(({ path }) => pathFromHere(path, system));
  await refuseClashes(outputs, config);
  // A single run without a state calls no channel.
  const notifies = settings.notifies && !(settings.once && invocation.text("state") === "none");
  const place = await locateState(invocation, config, system);
  // A single run without a state is about this machine alone.
  const isHereAlone = settings.once && place.path === null;
  if (place.postgres === undefined && !isHereAlone) await rejectUnsharedLocations(config, checks);
  const controlPaths = settings.once ? [] : controlPathsOf(place, system);
  const wanted = { invocation, system, checks, notifies, listens: !settings.once, outputs };
  const missing = dropOtherPermissions(await permissionsOfConfig(config, wanted), { system, config });
  const options = { ...call, config };
  if (settings.once) {
    for (const need of settings.due ? [] : missing) warn(describeMissing(need), system);
    return await runOnce(checks, options);
  }
  const { runService } = await import("../check/run_service.ts");
  return await runService({ ...options, missing, controlPaths });
}

/** @throws {UsageError} If an output would overwrite a file that the config, the state or another output needs. */
async function refuseClashes(paths: readonly string[], config: OpenConfig): Promise<void> {
  const taken = new Map<string, string>();
  const take = (path: string, owner: string): void => {
    taken.set(path, `the file of ${owner}`);
    taken.set(temporaryPathOf(path), `the temporary file of ${owner}`);
  };
  if (config.report !== null) take(config.report.path, "the report");
  for (const path of paths) {
    const owner = taken.get(path) ?? taken.get(temporaryPathOf(path));
    const clash = owner === undefined
      ? await config.clashOf(path)
      : `is ${owner}, expected a file of its own because it is overwritten`;
    if (clash !== null) throw new UsageError(`--output "${path}" ${clash}`);
    take(path, "another --output");
  }
}
