import type { FaultyLayer } from "./fault.ts";

/** Faults of what the config would do. */
export const REHEARSAL: FaultyLayer = {
  layer: "rehearsal",
  tests: ["tests/rehearsal"],
  files: [
    {
      file: "src/rehearsal/prove.ts",
      faults: [
        [
          "a fault is noticed only if the check is critical",
          'boolean => result.condition !== "ok"',
          'boolean => result.condition === "critical"',
        ],
        [
          "a check that is not ok proves something",
          'if (result.condition !== "ok") return { result, faults: [] };',
          'if (result.condition === "unknown") return { result, faults: [] };',
        ],
      ],
    },
    {
      file: "src/rehearsal/explain_past.ts",
      tests: ["tests/simulation/why_past_test.ts"],
      faults: [
        ["a silence applies before it began", "fromMs <= atMs && atMs < untilMs", "atMs < untilMs"],
        ["ended silences are ignored", "store.silences(firstMs)", "store.silences(Infinity)"],
        ["later deliveries count", "sent.atMs <= atMs", "sent.atMs <= Infinity"],
      ],
    },
    {
      file: "src/rehearsal/explain_past.ts",
      tests: ["tests/simulation/why_past_test.ts"],
      faults: [
        [
          "a dependency counts as ok while it did not run",
          "found === null || past.gapAt(other, atMs) === null",
          "true",
        ],
        [
          "a check counts until its planned run though the service was stopped",
          "Math.min(plannedMs, notRunning.sinceMs)",
          "plannedMs",
        ],
      ],
    },
    {
      file: "src/rehearsal/explain_past.ts",
      tests: ["tests/simulation/why_past_test.ts"],
      faults: [
        ["a notification that was sent in the past is still pending", "this.#queued.delete(queued.id);", ""],
        [
          "a notification is pending before it was decided",
          "atMs: one.notification.decidedAtMs,",
          "atMs: -Infinity,",
        ],
        ["a notification that was rejected in the past is pending", 'state: "rejected"', 'state: "pending"'],
      ],
    },
    {
      file: "src/rehearsal/explain_past.ts",
      tests: ["tests/simulation/why_past_test.ts"],
      faults: [
        [
          "a check that did not run counts until it is overdue",
          "(isStop || isAfterGap) && untilMs > plannedMs + PUNCTUAL_MS",
          "isAfterGap && untilMs > plannedMs + PUNCTUAL_MS",
        ],
        ["a group counts while its checks did not run", "gap?.isStop === true", "false"],
        ["no check counts until its planned run", "isGap && atMs >= plannedMs", "isGap"],
      ],
    },
    {
      file: "src/rehearsal/explain_past.ts",
      tests: ["tests/simulation/why_past_test.ts"],
      faults: [
        ['a notification that "events" omits is due', "isExcluded(channel, queued)", "false"],
        [
          "repeated results of the past are not counted",
          "this.#played.set(name, { record, lastMs });",
          "this.#played.set(name, { record: entry.record, lastMs });",
        ],
        [
          "a notification without a run is a run of the past",
          "past.isReview(name, nowMs) ? null",
          "false ? null",
        ],
        [
          "a past decision depends on later results of dependencies",
          "this.recordAt(other, nowMs)",
          "this.recordAt(other, Infinity)",
        ],
      ],
    },
    {
      file: "src/rehearsal/past.ts",
      faults: [
        [
          "no result after a stop counts",
          "row.isInterrupted && index === 0",
          "row.isInterrupted",
        ],
        ["runs that a decision waited for have regular times", "if (!isRun) continue;", "continue;"],
        [
          "only the first of two results in one millisecond counts",
          "row.firstMs === endMs ? endMs + 1 : row.firstMs",
          "row.firstMs",
        ],
      ],
    },
    {
      file: "src/rehearsal/replay.ts",
      tests: ["tests/rehearsal/verify_test.ts"],
      faults: [
        [
          "merged notifications are compared one by one",
          "mergeNotifications(some, isExcluded)?.notifications ?? some",
          "some",
        ],
        ["a reminder is due while a notification is pending", "|| !isWaiting(sent, notification)", "|| true"],
      ],
    },
    {
      file: "src/rehearsal/replay.ts",
      tests: [
        "tests/rehearsal/replay_test.ts",
        "tests/simulation/replay_test.ts",
        "tests/simulation/replay_chaos_test.ts",
        "tests/simulation/replay_test.ts",
      ],
      faults: [
        [
          "a replay ignores silences",
          "silence.untilMs <= sinceMs ||",
          "silence.untilMs > sinceMs ||",
        ],
        ["messages that are hours apart are the same", "<= SAME_MS_MAX", "< Infinity"],
        [
          "a night ends at midnight",
          "hour < NIGHT_FROM_HOUR && hour >= NIGHT_TO_HOUR",
          "hour < NIGHT_FROM_HOUR",
        ],
      ],
    },
    {
      file: "src/cli/demo/demo_checks.ts",
      tests: ["tests/simulation/demo_test.ts"],
      faults: [
        [
          "no invented check fails while the demonstration runs",
          "if (incident.name === name && isNow(incident)) return incident;",
          "if (incident.name !== name && incident.untilMs < 0) return incident;",
        ],
      ],
    },
    {
      file: "src/cli/demo/run_demo.ts",
      tests: ["tests/simulation/demo_test.ts"],
      faults: [
        ["the demonstration sends messages", 'channel.name === "terminal"', 'channel.name !== "terminal"'],
      ],
    },
    {
      file: "src/cli/watch.ts",
      tests: ["tests/simulation/demo_test.ts"],
      faults: [
        ["an error ends status --watch", "text = await shown()", "text = await printed()"],
        ["status --watch never refreshes", "text = await shown();", "await shown();"],
      ],
    },
    {
      file: "src/cli/check/run_service.ts",
      tests: ["tests/simulation/replay_test.ts"],
      faults: [
        ["a plan compares with the config of the start", "sources = next.sources;", "void next.sources;"],
      ],
    },
    {
      file: "src/cli/commands/reload.ts",
      tests: ["tests/simulation/replay_test.ts"],
      faults: [
        [
          "a declined plan is applied",
          '["", "n", "no"].includes(answer)) return false',
          '["", "n", "no"].includes(answer)) return true',
        ],
        [
          "a plan is applied without a terminal to confirm it",
          'invocation.has("yes") || isAsked &&',
          'invocation.has("yes") || !isAsked ||',
        ],
      ],
    },
    {
      file: "src/cli/compare_replays.ts",
      tests: ["tests/simulation/replay_test.ts"],
      faults: [
        [
          "results of other parameters are not listed",
          "check.active && past.has(check.name) &&",
          "!check.active && past.has(check.name) &&",
        ],
      ],
    },
    {
      file: "src/cli/commands/prove.ts",
      tests: ["tests/cli/commands/prove_test.ts"],
      faults: [["a job keeps other checks from the network", "usesNetwork: true", "usesNetwork: false"]],
    },
    {
      file: "src/config/config_file.ts",
      tests: ["tests/simulation/replay_test.ts"],
      faults: [
        [
          "a plan reads the included files of the running config again",
          "options.sources !== undefined",
          "options.sources?.length === 0",
        ],
      ],
    },
    {
      file: "src/rehearsal/tape.ts",
      faults: [
        [
          "a body that the check does not read is not on the tape",
          "if (bytes === 0) await",
          "if (bytes > 0) await",
        ],
        [
          "a command is run again",
          "await play(next(tape.calls, key)",
          "await play(next(tape.calls.slice(1), key)",
        ],
      ],
    },
    {
      file: "src/rehearsal/faults.ts",
      faults: [
        ["a JSON time a day old is as new", "new Date(ms - DAY_MS)", "new Date(ms + DAY_MS)"],
        ["another record is one of the answer", "find((record) => !isAnswered(record))", "find(() => true)"],
        [
          "the file of a setting has faults",
          'callsOf("read", path) >= Math.max(1, callsOf("stat", path)) || ',
          "",
        ],
        ["a file that a check compares has no faults", 'Math.max(1, callsOf("stat", path))', "1"],
        ["pings that get lost are replied to", "${sent >> 1} ${rest}", "${sent} ${rest}"],
      ],
    },
    {
      file: "src/outputs/past_events.ts",
      tests: ["tests/simulation/history_test.ts"],
      faults: [
        ["a stop is an event of each check", "gap.fromMs >= last.toMs", "true"],
        ["an edge of the night has its next events", "atMs >= sinceMs && atMs <= untilMs", "atMs >= sinceMs"],
      ],
    },
    {
      file: "src/cli/read_times.ts",
      tests: ["tests/simulation/history_test.ts"],
      faults: [
        ["last night ends with the next morning to come", "nowMs: sinceMs, isEnd", "nowMs, isEnd"],
        ["a date as an end leaves out its day", "isEnd: true", "isEnd: false"],
      ],
    },
    {
      file: "src/cli/formats/github.ts",
      tests: ["tests/cli/formats/formats_test.ts"],
      faults: [
        [
          "a failure that passes the run is annotated as an error",
          'fails(condition) ? "error" : "warning"',
          '"error"',
        ],
      ],
    },
    {
      file: "src/rehearsal/skipped_runs.ts",
      tests: ["tests/rehearsal/skipped_runs_test.ts"],
      faults: [
        ["a rehearsal leaves out a reminder", "remindedMs > nowMs ? remindedMs : Infinity", "Infinity"],
        [
          "a rehearsal counts a run too many",
          "Math.floor(passed) + 1 : Math.ceil(passed)",
          "Math.floor(passed) + 1 : Math.ceil(passed) + 1",
        ],
      ],
    },
    {
      file: "src/condition/transition.ts",
      tests: ["tests/rehearsal/rehearse_test.ts"],
      faults: [
        ["a rehearsal leaves out a run that confirms", "confirmed === observed && ", ""],
      ],
    },
    {
      file: "src/rehearsal/rehearse.ts",
      tests: ["tests/rehearsal/rehearse_test.ts", "tests/rehearsal/examples_test.ts"],
      faults: [
        [
          "a rehearsed channel accepts messages that the scenario rejects",
          'if (response !== "accept") return',
          'if (response === "fail") return',
        ],
        ["a message a minute early is as expected", "message.atMs >= one.atMs && ", ""],
        ["rehearsed results depend on nothing", "attributes !== undefined && { attributes }", "{}"],
      ],
    },
  ],
};
