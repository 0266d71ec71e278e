import type { FaultyLayer } from "./fault.ts";

export const CONDITION: FaultyLayer = {
  layer: "condition",
  tests: ["tests/condition", "tests/simulation"],
  files: [
    {
      file: "src/condition/condition_state.ts",
      tests: ["tests/condition/confirm_test.ts"],
      faults: [
        ["a problem is confirmed one result too early", "to)) >= threshold", "to)) >= threshold - 1"],
        [
          "a recovery is confirmed one result too early",
          "counters.atMost[to] >= recoveryThreshold",
          "counters.atMost[to] >= recoveryThreshold - 1",
        ],
        [
          "a recovery is confirmed one result too late",
          "counters.atMost[to] >= recoveryThreshold",
          "counters.atMost[to] > recoveryThreshold",
        ],
        [
          "a recovery goes by the threshold of problems",
          "counters.atMost[to] >= recoveryThreshold",
          "counters.atMost[to] >= threshold",
        ],
        [
          "the first ok of a check waits for the threshold",
          "confirmed === null && counters.atMost.ok > 0",
          "confirmed === null && counters.atMost.ok >= recoveryThreshold",
        ],
        ["within counts one result too few", "recent.slice(-within)", "recent.slice(1 - within)"],
        [
          "a problem is raised to the lowest severity only",
          "CONDITIONS.findLast((to)",
          "CONDITIONS.find((to)",
        ],
        [
          "a recovery lowers the condition by one level only",
          "CONDITIONS.find((to) => severity(to) < from",
          "CONDITIONS.findLast((to) => severity(to) < from",
        ],
        [
          "a worse result does not count for a lower severity",
          "severity(one) <= level ? next",
          "severity(one) === level ? next",
        ],
        [
          "a worse result does not end the results in a row for a recovery",
          "severity(one) >= level ? next(counters.atMost[one]) : 0",
          "severity(one) >= level ? next(counters.atMost[one]) : counters.atMost[one]",
        ],
      ],
    },
    {
      file: "src/condition/duration_rule.ts",
      faults: [
        ["a limit is exceeded by exactly its share", "100 * slow > slowPercent", "100 * slow >= slowPercent"],
        ["a few slow runs exceed a limit", "if (runs < runsMin) {", "if (runs < 1) {"],
        ["one week shows what is usual", "known.length < WEEKS_MIN", "known.length < 1"],
        ["a value that is low is not lower than usual", "isLower ? durationMs < limit", "isLower ? false"],
        ["a multiple of what is below zero is a limit", "|| usual < 0", ""],
        ["what is usual of a value loses its digits", "steps % EXPONENT_STEPS}e", "100}e"],
        ["slow runs of long ago exceed a limit", "index > part - PARTS &&", ""],
        ["values with limits are not counted", "if (value === undefined)", "if (value !== undefined)"],
        ["a wrong reading of the clock drops runs that count", "PARTS + 2", "PARTS"],
        ["a wrong reading of the clock drops what is usual", "[present, otherUsual].find", "[present].find"],
      ],
    },
    {
      file: "src/condition/burn.ts",
      tests: ["tests/condition/burn_test.ts"],
      faults: [
        ["one failed run burns the error budget", "> sightOf(schedule).uncertainMs", "> 0"],
        ["an outage that is over begins an alert", "return isBurning(shortMs) &&", "return"],
        ["uncertain time is downtime", "uncertain: 0.5", "uncertain: 1"],
        ["an alert ends with the short window", "before.rate >= rate) return true;", "false) return true;"],
        ["the downtime of a span counts whole in a window", "downMs * inWindowMs / lengthMs", "downMs"],
      ],
    },
    {
      file: "src/condition/condition_state.ts",
      tests: ["tests/condition/flapping_test.ts"],
      faults: [
        [
          "a check that flaps stops at the percentage at which it starts",
          "didFlap ? percent >= STOP_PERCENT",
          "didFlap ? percent >= Math.max(STOP_PERCENT, START_PERCENT)",
        ],
        [
          "older changes count more than newer ones for flapping",
          "oldest + (newest - oldest)",
          "newest + (oldest - newest)",
        ],
        [
          "flapping is decided with one result too few",
          "results.length < FLAPPING_RESULTS",
          "results.length < FLAPPING_RESULTS - 1",
        ],
      ],
    },
    {
      file: "src/condition/condition_state.ts",
      tests: ["tests/condition/confirm_test.ts"],
      faults: [
        [
          "within does not count results of exactly the severity",
          "severity(one) >= severity(condition)",
          "severity(one) > severity(condition)",
        ],
      ],
    },
    {
      file: "src/condition/condition_state.ts",
      faults: [
        [
          "a change notes the time of the wrong condition",
          '[state.confirmed ?? "pending"]: nowMs',
          "[confirmed]: nowMs",
        ],
        [
          "a recovery does not pass a dependency",
          '"until_ok", "maintenance", "dependency"];',
          '"until_ok", "maintenance"];',
        ],
        [
          "a recovery does not pass a silence until ok",
          '["silence", "until_ok", "maintenance", "dependency"];',
          '["silence", "maintenance", "dependency"];',
        ],
        [
          "a recovery waits for the end of a silence",
          '["silence", "until_ok", "maintenance", "dependency"];',
          '["until_ok", "maintenance", "dependency"];',
        ],
        [
          "a recovery waits for the end of a maintenance window",
          '["silence", "until_ok", "maintenance", "dependency"];',
          '["silence", "until_ok", "dependency"];',
        ],
        [
          "a change of the condition within a problem is a new problem",
          'return notified === "ok" ? "problem" : "change";',
          'return "problem";',
        ],
        [
          "the intervals of reminders start over after the last one",
          "intervals[Math.min(reminders, intervals.length - 1)]",
          "intervals[reminders % intervals.length]",
        ],
        [
          "a reminder is an interval late if its run is slightly early",
          "return 0.9 * (intervals",
          "return (intervals",
        ],
        [
          "a dependency lets problems pass before it has run again",
          "    dependency.observedAtMs < times.problemBeganAtMs ||",
          "    dependency.observedAtMs > times.problemBeganAtMs ||",
        ],
        [
          "a check that recovers with its dependency is sent as a problem before it runs",
          " || hasRecoveredSince(dependency, times);",
          ";",
        ],
        [
          "a failing dependency is run again before it is confirmed",
          'if (!hasProblem(dependency) && observed !== null && observed !== "ok") return false;',
          'if (!hasProblem(dependency) && observed !== null && observed !== "ok") return true;',
        ],
        [
          "a result that is not confirmed yet does not shorten the interval",
          "return hasProblem(state) || state.observed !== null",
          "return hasProblem(state) && state.observed !== null",
        ],
        ["a check is ok before its first result", "confirmed: null,\n", 'confirmed: "ok",\n'],
        [
          "a problem of a pending check has ok as its previous condition",
          'return leftAtMs.ok === null ? "pending" : "ok";',
          'return leftAtMs.ok === null ? "ok" : "ok";',
        ],
      ],
    },
    {
      file: "src/condition/transition.ts",
      faults: [
        [
          "a suppressed problem is sent although the last result is ok",
          'return observed === "ok" &&',
          'return observed === "unknown" &&',
        ],
        [
          "results before the last recovery count for within",
          "policy, recent.slice(-sinceLowered))",
          "policy, recent)",
        ],
        [
          "a problem passes a dependency",
          'const passes = event === "recovery" && circumstances',
          "const passes = circumstances",
        ],
        [
          "an acknowledged problem has reminders",
          'state.observed === "ok" || isAcknowledged) return',
          'state.observed === "ok" || isAcknowledged && nowMs < 0) return',
        ],
        [
          "a clock that is set back stops reminders",
          "Math.abs(nowMs - (state.notifiedAtMs ?? -Infinity)) >=",
          "nowMs - (state.notifiedAtMs ?? -Infinity) >=",
        ],
        [
          "each change of a flapping check is sent once",
          "(notifiedAtMs ?? -Infinity) < flappingSinceMs",
          "(notifiedAtMs ?? -Infinity) >= flappingSinceMs",
        ],
        [
          "a flapping check that gets worse is not sent",
          "every((one) => severity(one) >= severity",
          "some((one) => severity(one) >= severity",
        ],
        [
          "a result that waits for another one counts",
          "if (awaits === undefined) return",
          'if (awaits !== "job") return',
        ],
        [
          "an ok from before a stop stays known",
          ": withoutOk(before);",
          ": before;",
        ],
        [
          "results from before a stop count",
          "return isInterrupted ?",
          "return !isInterrupted ?",
        ],
        [
          "results before a late run do not count",
          "return isInterrupted ?",
          "return isAfterGap ?",
        ],
        [
          "an ok stays known while a job never ran",
          'if (state.confirmed !== "ok") return state;',
          "if (state.confirmed !== null) return state;",
        ],
        [
          "a job that never ran fails",
          'if (awaits === "checks") return',
          'if (condition !== "ok") return',
        ],
        [
          "a problem goes on until a job that never ran runs",
          'awaits === "job" && hasProblem(before)',
          'awaits === "checks" && hasProblem(before)',
        ],
        [
          "failures from before a group waited for a job count",
          "...hasProblem(known) ? {} : nothingCounted(known),",
          "",
        ],
        [
          "a problem begins again with each result",
          "state.problemBeganAtMs ?? Math.min(beganAtMs, nowMs) : null",
          "Math.min(beganAtMs, nowMs) : null",
        ],
        [
          "an escalation lets the intervals of reminders start over",
          ": isRepeated ? state.reminders : 0,",
          ": 0,",
        ],
        [
          "one channel that was not notified counts as notified",
          "conditions.find((one) => one !== state.confirmed) ?? state.confirmed",
          "conditions.find((one) => one === state.confirmed) ?? state.notified",
        ],
      ],
    },
    {
      file: "src/condition/agreement.ts",
      faults: [
        ["one location decides, however many have to agree", "bySeverity[agree - 1]", "bySeverity[0]"],
        ["one location too many has to agree", "bySeverity[agree - 1]", "bySeverity[agree]"],
        [
          "the lowest severities of the locations decide",
          "severityOf(other) - severityOf(one)",
          "severityOf(one) - severityOf(other)",
        ],
      ],
    },
    {
      file: "src/condition/action.ts",
      tests: ["tests/simulation/actions_test.ts"],
      faults: [
        ["an action runs once too often", ".length < action.atMost &&", ".length <= action.atMost &&"],
        ["an action runs again before it may have helped", "+ action.settleMs", "+ 0"],
        ["an action runs again while it is in progress", "last.atMs + action.timeoutMs", "last.atMs"],
        [
          "an action of a crash is not counted",
          "ofProblem.has(run) ||",
          "run.endedAtMs === null ? false : ofProblem.has(run) ||",
        ],
        ["an action has no limit across problems", "< HOUR_MS", "< 0"],
        ["an action runs without an end during a long problem", "ofProblem.has(run) || ", ""],
        ["an action that cannot start is tried again", "&& !hasNotStarted(state)", ""],
        [
          "an action runs for results that are not critical",
          'state.observed !== "critical" || state.atLeast.critical',
          'state.observed === "ok" || state.atLeast.unknown',
        ],
        [
          "an action runs one result too early",
          "state.atLeast.critical < action.after",
          "state.atLeast.critical < action.after - 1",
        ],
      ],
    },
    {
      file: "src/domain/condition.ts",
      tests: ["tests/domain", "tests/condition"],
      faults: [
        [
          "missing data is more severe than a warning",
          '["ok", "unknown", "warning", "critical"] as const',
          '["ok", "warning", "unknown", "critical"] as const',
        ],
        [
          "the last condition counts instead of the most severe one",
          "if (severity(condition) > severity(result)) result = condition;",
          "if (severity(condition) > 0) result = condition;",
        ],
      ],
    },
  ],
};
