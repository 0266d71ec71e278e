import type { System } from "../../domain/system.ts";
import { DEFAULT_LIMITS } from "../../scheduler/run_checks.ts";
import { runOnce } from "../check/run_once.ts";
import { type CheckSettings, FORMAT_NAMES, readCheckSettings } from "../check/settings.ts";
import { listenAtStart, type StartSignals } from "../check/start_signals.ts";
import { type Command, CONFIG_OPTION, type Invocation, optionValue } from "../command_definition.ts";
import { renderProblems } from "../diagnostics.ts";
import { openConfig, readSelection, selectActiveChecks, TAG_OPTION } from "../open_config.ts";
import { describeMissing, keepToNeeds, needsOfConfig } from "../config_permissions.ts";
import { FAIL_ON_CONDITIONS } from "../exit_code.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../../domain/log.ts";
import { printable } from "../../shared/printable.ts";
import { STATE_OPTION } from "../state.ts";
import { wantsColor } from "../terminal.ts";

/** `monitor check`: runs checks, once or on their schedules, and says what they found. */
export const checkCommand: Command = {
  name: "check",
  summary: "run the checks; without --once, keep running them on their schedules",
  operands: "[NAME…]",
  operandsMax: Infinity,
  operandKind: "check",
  description:
    "Runs every active check of the config, or those that are named or tagged: on their schedules until it is " +
    "stopped, or once. With --once the exit code is the highest severity.",
  options: [
    CONFIG_OPTION,
    STATE_OPTION,
    TAG_OPTION,
    { name: "once", description: "run each check once and end" },
    {
      name: "due",
      description:
        "with --once: only checks whose planned time has come, and print only notifications; for cron",
    },
    {
      name: "format",
      value: "FORMAT",
      choices: FORMAT_NAMES,
      description: `${FORMAT_NAMES.join(", ")} (default: pretty); without --once pretty or ndjson`,
    },
    {
      name: "fail-on",
      value: "CONDITION",
      choices: FAIL_ON_CONDITIONS,
      description: "the lowest severity that makes the exit code other than 0: warning or critical " +
        "(default: warning); unknown always does",
    },
    {
      name: "no-notify",
      description: "send no notifications; they are sent later if the problem persists",
    },
    {
      name: "concurrency",
      value: "COUNT",
      description: `how many checks that start a process run at a time (default: ${DEFAULT_LIMITS.process})`,
    },
    {
      name: "log-level",
      value: "LEVEL",
      choices: LOG_LEVELS,
      description: "error, warning, info or debug (default: info)",
    },
    {
      name: "log-format",
      value: "FORMAT",
      choices: LOG_FORMATS,
      description: "text or json (default: text)",
    },
  ],
  examples: [
    ["monitor check", "watch, until it is stopped"],
    ["monitor check --once", "every active check of the config that is found"],
    ["monitor check --once -c web.jsonc web mail", "two checks of a named config"],
    ["monitor check --tag web", "watch what is tagged so"],
    ["monitor check --once --due", "from cron, every minute"],
    ["monitor check --once --state none --format junit", "in a CI pipeline"],
    ["monitor check --once --format plugin", "as one plugin of a bigger monitor"],
  ],
  endings: ["observed", "name", "undelivered", "state", "held", "permission", "config", "interrupted"],
  run: runCheckCommand,
};

async function runCheckCommand(invocation: Invocation, system: System): Promise<number> {
  const settings = readCheckSettings(invocation);
  const signals = listenAtStart(system, settings);
  try {
    return await Promise.race([signals.stopped, runChecks(invocation, { system, settings, signals })]);
  } finally {
    signals.end();
  }
}

interface RunOptions {
  readonly system: System;
  readonly settings: CheckSettings;
  readonly signals: StartSignals;
}

async function runChecks(invocation: Invocation, { system, settings, signals }: RunOptions): Promise<number> {
  const config = await openConfig(invocation, system);
  const checks = selectActiveChecks(config.checks, readSelection(invocation));
  // Without --once they go to the log.
  if (settings.once && !settings.due) {
    const color = wantsColor(invocation, system.stderr, system);
    system.stderr.write(
      renderProblems(config.source, config.placedWarnings, { color, severity: "warning" }),
    );
  }
  // A single run without a state calls no channel.
  const notifies = settings.notifies && !(settings.once && optionValue(invocation, "state") === "none");
  const needs = await needsOfConfig(config, { invocation, system, checks, notifies });
  const missing = keepToNeeds(needs, { system, config });
  const options = { invocation, system, config, settings, signals };
  if (settings.once) {
    for (const need of settings.due ? [] : missing) {
      system.stderr.write(`monitor: warning: ${printable(describeMissing(need))}\n`);
    }
    return await runOnce(checks, options);
  }
  const { runService } = await import("../check/run_service.ts");
  return await runService({ ...options, missing });
}
