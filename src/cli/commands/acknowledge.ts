import { hasProblem } from "../../condition/transition.ts";
import type { Silence } from "../../domain/outbox.ts";
import type { System } from "../../domain/system.ts";
import { UNTIL_OK_MS_MAX } from "../../alerting/silences.ts";
import { type Command, type Invocation, optionValue } from "../command_definition.ts";
import { EXIT } from "../exit_code.ts";
import {
  chooseProblems,
  readEnd,
  renderSilences,
  renderWithoutProblem,
  requireTargets,
  SILENCE_COMMAND,
  targetOptions,
  UNTIL_OPTION,
  withSilences,
} from "../silence_targets.ts";

export const acknowledgeCommand: Command = {
  ...SILENCE_COMMAND,
  name: "acknowledge",
  summary: "stop reminders and escalation of a problem",
  description:
    "Acknowledges the problems of the named or tagged checks, or with --all every problem. There are no reminders and no " +
    "escalation (after) until recovery. Changes and the recovery are sent, with your note. status and the HTML " +
    "report show it. A running monitor applies it at once. unsilence ends it.",
  options: [
    ...targetOptions("every check with a problem"),
    { name: "note", value: "TEXT", description: "note, shown by status and the next notification" },
    {
      name: "for",
      value: "INTERVAL",
      description: 'end after a duration, such as "2 hours" (default: recovery)',
    },
    UNTIL_OPTION,
  ],
  examples: [
    ['monitor acknowledge web --note "Ada is on it"', "acknowledge the problem of one check"],
    ["monitor acknowledge --all --until 08:00", "acknowledge every problem until the morning"],
  ],
  run: runAcknowledge,
};

async function runAcknowledge(invocation: Invocation, system: System): Promise<number> {
  requireTargets(invocation, "monitor acknowledge NAME");
  const nowMs = system.clock.wallMs();
  const timeZone = system.timeZone();
  const untilMs = readEnd(invocation, { timeZone, nowMs }) ?? nowMs + UNTIL_OK_MS_MAX;
  const reason = optionValue(invocation, "note") ?? "";
  await withSilences(invocation, system, async ({ store, names }) => {
    const problems = (await store.records()).filter(({ condition }) => hasProblem(condition));
    const { chosen, without } = chooseProblems(problems, names);
    const acknowledgements = chosen.map(({ check, problemBeganAtMs }): Silence => ({
      id: `acknowledgement ${check}`,
      kind: "acknowledgement",
      check,
      tag: null,
      fromMs: nowMs,
      untilMs,
      problemBeganAtMs,
      reason,
    }));
    await store.addSilences(acknowledgements);
    return renderSilences(acknowledgements, timeZone) + renderWithoutProblem(without, "acknowledge");
  });
  return EXIT.ok;
}
