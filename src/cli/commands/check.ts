import type { System } from "../../domain/system.ts";
import { DEFAULT_LIMITS } from "../../monitor.ts";
import { runOnce } from "../check/run_once.ts";
import { type CheckSettings, FORMAT_NAMES, readCheckSettings } from "../check/settings.ts";
import { listenAtStart, type StartSignals } from "../check/start_signals.ts";
import { type Command, CONFIG_OPTION, type Invocation, optionValue } from "../command.ts";
import { renderProblems } from "../diagnostics.ts";
import { openDocument, readSelection, selectActiveChecks, TAG_OPTION } from "../document.ts";
import { describeMissing, keepToNeeds, needsOfDocument } from "../document_needs.ts";
import { FAIL_ON_CONDITIONS } from "../exit_code.ts";
import { LOG_FORMATS, LOG_LEVELS } from "../log.ts";
import { printable } from "../printable.ts";
import { STATE_OPTION } from "../state.ts";
import { wantsColour } from "../terminal.ts";

/** `monitor check`: runs checks, once or on their schedules, and says what they found. */
export const checkCommand: Command = {
  name: "check",
  summary: "run the checks; without --once, keep running them on their schedules",
  operands: "[NAME…]",
  operandsMax: Infinity,
  operandKind: "check",
  description:
    "Runs every active check of the document, or those that are named or tagged: on their schedules until it is " +
    "stopped, or once. With --once the exit code is the worst condition.",
  options: [
    CONFIG_OPTION,
    STATE_OPTION,
    TAG_OPTION,
    { name: "once", description: "run each check once and end" },
    {
      name: "due",
      description: "with --once: only checks whose planned time has come, and print only reports; for cron",
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
      description: "the mildest condition that makes the exit code other than 0: warning or critical " +
        "(default: warning); unknown always does",
    },
    {
      name: "no-notify",
      description: "report nothing to any channel; it is reported later if it still holds",
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
    ["monitor check --once", "every active check of the document that is found"],
    ["monitor check --once -c web.jsonc web mail", "two checks of a named document"],
    ["monitor check --tag web", "watch what is tagged so"],
    ["monitor check --once --due", "from cron, every minute"],
    ["monitor check --once --state none --format junit", "in a CI pipeline"],
    ["monitor check --once --format plugin", "as one plugin of a bigger monitor"],
  ],
  endings: ["observed", "name", "undelivered", "state", "held", "permission", "document", "interrupted"],
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
  const document = await openDocument(invocation, system);
  const checks = selectActiveChecks(document.checks, readSelection(invocation));
  // Without --once they go to the log.
  if (settings.once && !settings.due) {
    const colour = wantsColour(invocation, system.stderr, system);
    system.stderr.write(
      renderProblems(document.source, document.placedWarnings, { colour, severity: "warning" }),
    );
  }
  // A single run without a state calls no channel.
  const notifies = settings.notifies && !(settings.once && optionValue(invocation, "state") === "none");
  const needs = await needsOfDocument(document, { invocation, system, checks, notifies });
  const missing = keepToNeeds(needs, { system, document });
  const options = { invocation, system, document, settings, signals };
  if (settings.once) {
    for (const need of settings.due ? [] : missing) {
      system.stderr.write(`monitor: warning: ${printable(describeMissing(need))}\n`);
    }
    return await runOnce(checks, options);
  }
  const { runWatch } = await import("../check/run_watch.ts");
  return await runWatch({ ...options, missing });
}
