import { type Command, EXIT, option } from "../command_definition.ts";
import { hasProblem } from "../../condition/condition_state.ts";
import type { CheckRecord } from "../../domain/store.ts";
import { describeCount, type ShownCheck } from "../../engine/check_status.ts";
import { UNTIL_OK_MS_MAX } from "../../engine/suppression.ts";
import { printable } from "../../shared/text.ts";
import {
  addChosen,
  chooseProblems,
  requireTargets,
  SILENCE_COMMAND,
  targetOptions,
  UNTIL_OPTION,
  withSilences,
} from "./silence.ts";

export const acknowledgeCommand: Command = {
  ...SILENCE_COMMAND,
  name: "acknowledge",
  group: "quiet",
  summary: "stop reminders and escalation of a problem",
  description:
    "Acknowledges the problems of the named or tagged checks, or with --all every problem. There are no reminders and no " +
    "escalation (after) until recovery. Changes and the recovery are sent, with your note. status and the HTML " +
    "report show it. A running monitor applies it at once. silence end ends it.",
  options: [
    ...targetOptions("every check with a problem"),
    option("--note TEXT", "note, shown by status and the next notification"),
    option("--for INTERVAL", 'end after a duration, such as "2 hours" (default: recovery)'),
    UNTIL_OPTION,
  ],
  examples: [
    ['monitor acknowledge web --note "Ada is on it"', "acknowledge the problem of one check"],
    ["monitor acknowledge --all --until 08:00", "acknowledge every problem until the morning"],
  ],
  run: async (invocation, system) => {
    requireTargets(invocation, "monitor acknowledge NAME");
    const reason = invocation.text("note") ?? "";
    await withSilences(invocation, system, async (targets) => {
      const { store, names, checks, nowMs } = targets;
      const records = await store.records();
      const problems = records.filter(({ condition }) => hasProblem(condition));
      const { chosen, without } = chooseProblems(problems, names);
      const pending = describePending(checks, records);
      const nothing = without.filter((name) => name === null ? pending.size === 0 : !pending.has(name));
      return await addChosen(targets, { chosen, without: nothing }, {
        ...{ kind: "acknowledgement", untilMs: targets.untilMs ?? nowMs + UNTIL_OK_MS_MAX, reason },
        notes: [...pending.values()].join(""),
      });
    });
    return EXIT.ok;
  },
};

/** Returns a line for each check that fails while no problem is confirmed, by name: it is notified once it is. */
function describePending(checks: readonly ShownCheck[], records: readonly CheckRecord[]) {
  const failing = records.filter(({ condition }) =>
    !hasProblem(condition) && condition.problemBeganAtMs !== null
  );
  return new Map(checks.flatMap((check) => {
    const record = failing.find(({ name }) => name === check.name);
    if (record === undefined) return [];
    const count = describeCount(check, record);
    const line = `${check.name}: not acknowledged, its problem is not confirmed yet: ${count}`;
    return [[check.name, `${printable(line)}\n`]];
  }));
}
