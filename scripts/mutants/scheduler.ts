import type { FaultyLayer } from "./fault.ts";

export const SCHEDULER: FaultyLayer = {
  layer: "schedule",
  tests: ["tests/scheduler", "tests/simulation"],
  files: [
    {
      file: "src/scheduler/next_run.ts",
      tests: ["tests/scheduler/plan_test.ts"],
      faults: [
        [
          "a run is planned an interval late",
          "(Math.floor((afterMs - offset) / intervalMs) + 1)",
          "(Math.floor((afterMs - offset) / intervalMs) + 2)",
        ],
        [
          "the first regular run follows an attentive one at once",
          "nextAtOffset(plannedMs + regularIntervalMs / 2,",
          "nextAtOffset(plannedMs,",
        ],
        [
          "a run is planned for now, not later",
          "Math.floor((nowMs - nextMs) / intervalMs) + 1",
          "Math.ceil((nowMs - nextMs) / intervalMs)",
        ],
        [
          "cron may begin a run of a long interval early by any time",
          "Math.min(intervalMs * TOLERANCE_SHARE, TOLERANCE_MS_MAX)",
          "Math.max(intervalMs * TOLERANCE_SHARE, TOLERANCE_MS_MAX)",
        ],
        [
          "a plan of a longer interval stays after a reload",
          "AHEAD_INTERVALS_MAX = 2",
          "AHEAD_INTERVALS_MAX = 200",
        ],
        [
          "checks that never ran start before overdue ones",
          "isBehindOverdue ? (1 + splay) / 2 : splay",
          "isBehindOverdue ? splay / 2 : splay",
        ],
        [
          "checks with one interval run together",
          "return hash32(name) / 2 ** 32;",
          "return hash32(name) / 2 ** 64;",
        ],
      ],
    },
    {
      file: "src/scheduler/next_run.ts",
      tests: ["tests/scheduler/scheduler_cron_test.ts"],
      faults: [
        [
          "skipped cron times are not counted",
          "    missed++;",
          "    missed += 0;",
        ],
        [
          "an attentive interval delays a cron time",
          "{ atMs: Math.min(atMs, sooner), missed",
          "{ atMs: Math.max(atMs, sooner), missed",
        ],
        [
          "a clock that is set back delays a cron check",
          "times.after(Math.min(keptMs - 1, nowMs))",
          "times.after(Math.max(keptMs - 1, nowMs))",
        ],
        [
          "a new cron check misses the minute in which it is due",
          "record.nextRunAtMs ?? nowMs - CALLED_EVERY_MS + 1",
          "record.nextRunAtMs ?? nowMs + 1",
        ],
        [
          "a check with a plan of another clock is never due",
          "isDue(record.nextRunAtMs, nowMs, intervalMs) || isTooFarAhead",
          "isDue(record.nextRunAtMs, nowMs, intervalMs) && isTooFarAhead",
        ],
        [
          "a run on demand delays the planned one",
          "keptMs > nowMs ? Math.min(keptMs, afresh.atMs)",
          "keptMs > nowMs ? Math.max(keptMs, afresh.atMs)",
        ],
      ],
    },
    {
      file: "src/scheduler/task.ts",
      tests: ["tests/scheduler/scheduler_test.ts"],
      faults: [
        [
          "a slow machine postpones runs again and again",
          "if (lateMs < STALL_MS || state.isSpread) {",
          "if (lateMs < STALL_MS) {",
        ],
        [
          "a result of another target counts after a reload",
          'if (status !== "removed" && isSame(targetOf(before.check), targetOf(check)))',
          'if (status !== "removed" && isSame(targetOf(check), targetOf(check)))',
        ],
        [
          "a clock that is set back counts as a suspended system",
          "if (isJump && jumpMs > 0) {",
          "if (isJump) {",
        ],
        [
          "skipped runs are counted again with each result",
          "planAt({ ...task, missedRuns: 0 }, event.nextRunAtMs)",
          "planAt(task, event.nextRunAtMs)",
        ],
        [
          "a run in progress counts although the system was suspended",
          "const isJump = Math.abs(jumpMs) > JUMP_MS;",
          "const isJump = jumpMs < -JUMP_MS;",
        ],
        [
          "a reload that changes the schedule keeps the plan",
          "return isPlanned ? stay(task)",
          "return isPlanned || task.missedRuns === 0 ? stay(task)",
        ],
      ],
    },
    {
      file: "src/scheduler/run_checks.ts",
      faults: [
        ["one task more than the limit runs", "if (running < limit) {", "if (running <= limit) {"],
        [
          "the last waiting task starts first",
          "const [start] = waiting;",
          "const start = [...waiting].at(-1);",
        ],
      ],
    },
    {
      file: "src/scheduler/wheel_clock.ts",
      faults: [
        ["a timer expires a tick late", "first.startTick <= tick;", "first.startTick < tick;"],
        [
          "the earliest deadline of a slot is the last one",
          "earliest = Math.min(earliest, deadline);",
          "earliest = deadline;",
        ],
        [
          "a slot counts as empty once a timer of it was cancelled",
          "if (timers.size === 0) this.#slots.delete(slot);",
          "this.#slots.delete(slot);",
        ],
      ],
    },
    {
      file: "src/scheduler/scheduler.ts",
      tests: ["tests/simulation/agents_test.ts"],
      faults: [
        ["a result of an agent that is sent again counts twice", "if (isKnown) return true;", ""],
        [
          "a late result of an agent is notified",
          "const isLate = nowMs > overdueAtMs;",
          "const isLate = false;",
        ],
      ],
    },
    {
      file: "src/engine/check_status.ts",
      tests: ["tests/simulation/agents_test.ts"],
      faults: [
        [
          "a check of a silent agent stays ok as long as the agent had planned",
          "return isSilent ? { ...record, overdueAtMs: -Infinity } : record;",
          "return record;",
        ],
        [
          "what an agent reported before an outage of the database is ok again",
          'about.observed === "unknown";',
          "false;",
        ],
      ],
    },
    {
      file: "src/outputs/report_sender.ts",
      tests: ["tests/simulation/agents_test.ts"],
      faults: [
        [
          "a report for which a link is too slow is sent again as it was",
          "if ((isRejected || isTooSlow) && sent.length > 1)",
          "if (isRejected && sent.length > 1)",
        ],
        [
          "a malformed result holds up all results of an agent",
          "const REJECTING_STATUSES: readonly number[] = [400, 413];",
          "const REJECTING_STATUSES: readonly number[] = [413];",
        ],
        [
          "an agent drops all results while the hub rejects each request",
          "if (without.status !== null && without.reply !== null) {",
          "if (without.status !== null) {",
        ],
      ],
    },
    {
      file: "src/scheduler/shared_reports.ts",
      tests: ["tests/scheduler/location_votes_test.ts"],
      faults: [
        [
          "reports that are not persisted are deleted",
          "if (!repository.isWritable || !reports.hasRecorded(agent, batch)) return false;",
          "",
        ],
        [
          "a report is deleted only after the one behind it is recorded",
          "await this.#delete(done.splice(0), inbox);",
          "",
        ],
        [
          "a member records reports before their checks run there",
          "return names.every((name) => member.runs(name));",
          "return names.length > 0;",
        ],
        [
          "a report from before its start is a sign of the agent",
          "before !== null && before.get(agent)",
          "before?.get(agent)",
        ],
        [
          "a vote of an agent that is read again is a new one",
          "(before?.report?.sequence ?? 0) < (report?.sequence ?? 0)",
          "true",
        ],
      ],
    },
    {
      file: "src/scheduler/shared_reports.ts",
      tests: ["tests/simulation/agents_test.ts"],
      faults: [
        [
          "a member that takes over an agent did not hear of it before",
          "received.filter(isNew)",
          "received.filter((one) => isNew(one) && member.runs(agentCheckName(one.agent)))",
        ],
      ],
    },
    {
      file: "src/scheduler/agent_reports.ts",
      tests: ["tests/simulation/agents_test.ts"],
      faults: [
        [
          "members that do not reach the state call agents silent",
          "if (this.#options.isShared !== true) this.#measure();",
          "this.#measure();",
        ],
        [
          "a quiet agent looks as if it reported",
          "return quietMs > QUIET_MS ?",
          "return quietMs > 1_000 * QUIET_MS ?",
        ],
      ],
    },
    {
      file: "src/scheduler/scheduler.ts",
      tests: ["tests/simulation/stall_test.ts"],
      faults: [
        [
          "each late run resets the count of failures",
          "observedAtMs < this.#resumedAtMs ||",
          "observedAtMs < nowMs ||",
        ],
      ],
    },
    {
      file: "src/scheduler/scheduler.ts",
      faults: [
        [
          "a service that does not advance is healthy",
          "state.plannedMs > nowMs - STALL_MS",
          "state.plannedMs > nowMs - 1_000 * STALL_MS",
        ],
        [
          "a check that changes during the run of its group is not seen",
          "else this.#changed.add(group);",
          "else this.#changed.delete(group);",
        ],
        [
          "a change of a confirmed condition does not run its groups",
          "if (entry.record.condition.confirmed !== confirmed) this.runGroupsOf",
          "if (entry.record.condition.confirmed !== confirmed && nowMs < 0) this.runGroupsOf",
        ],
        [
          "a run that began before a reload counts by the old threshold",
          "observed.check === check ? observed : { ...observed, check }",
          "observed.check === check ? observed : observed",
        ],
      ],
    },
    {
      file: "src/scheduler/stall_safe.ts",
      tests: ["tests/simulation/stall_test.ts"],
      faults: [
        [
          "an ok result during a stall is thrown away",
          'if (result === null || result.condition === "ok") return result;',
          "if (result === null) return result;",
        ],
        [
          "a failure during a stall counts",
          "if (stalledForMs === 0 && !wasSuspended) return result;",
          "if (stalledForMs === 0 || !wasSuspended) return result;",
        ],
      ],
    },
    {
      file: "src/scheduler/suppressed_checks.ts",
      tests: ["tests/scheduler/scheduler_test.ts"],
      faults: [
        [
          "a suppressed notification is not decided again",
          "if (suppressed === null && !mayEscalate)",
          "if (suppressed === null || !mayEscalate)",
        ],
        [
          "a problem is not decided again when it is to escalate",
          "if (suppressed === null && !mayEscalate)",
          "if (suppressed === null && mayEscalate !== null)",
        ],
      ],
    },
    {
      file: "src/scheduler/recorded_pass.ts",
      faults: [
        [
          "a group in a single run without a state waits for confirmation",
          "return this.#options.isKept || known.last === null ? known",
          "return this.#options.isKept || known.last !== null ? known",
        ],
        [
          "a group is not run again after another call has overtaken it",
          "!groups.includes(check) || overtaken.has(check.name)",
          "!groups.includes(check)",
        ],
      ],
    },
    {
      file: "src/scheduler/recorded_pass.ts",
      tests: ["tests/scheduler/recorded_pass_test.ts"],
      faults: [
        [
          "the last retry is left out",
          "leftMs > 0 && !signal.aborted",
          "leftMs > PAUSE_MS && !signal.aborted",
        ],
        [
          "a failure that a retry has corrected is passed on",
          "failed.delete(result.check);",
          "failed.has(result.check);",
        ],
      ],
    },
    {
      file: "src/scheduler/located_runs.ts",
      tests: ["tests/simulation/locations_test.ts"],
      faults: [
        [
          "a result of a location counts for too long",
          "silentForMs <= lastsMs(check, row, locationCountsMs)",
          "silentForMs <= 9 * lastsMs(check, row, locationCountsMs)",
        ],
        [
          "a location without a member is waited for",
          "if (mayCome && waitedMs <= awaitedMs) isIncomplete = true;",
          "if (waitedMs <= awaitedMs) isIncomplete = true;",
        ],
        [
          "the clock of another machine makes a new result too old",
          "Math.max(nowMs - ageMs, known === undefined ?",
          "Math.min(nowMs - ageMs, known === undefined ?",
        ],
      ],
    },
    {
      file: "src/scheduler/located_runs.ts",
      tests: ["tests/simulation/locations_test.ts"],
      faults: [
        [
          "a run on demand ends with the first location",
          "from.every((location) => isNew(location)",
          "from.some((location) => isNew(location)",
        ],
        [
          "after a start, a location that has not run yet makes a check unknown",
          "condition !== null).length < agree;",
          "condition !== null).length > agree;",
        ],
      ],
    },
    {
      file: "src/domain/check.ts",
      tests: ["tests/simulation/connectivity_test.ts"],
      faults: [
        ["an inverted check that is unknown is ok", 'if (condition === "unknown") return result;', ""],
        [
          "an inverted check that is ok stays ok",
          'condition: "critical", output: output',
          'condition: "ok", output: output',
        ],
      ],
    },
    {
      file: "src/scheduler/run_checks.ts",
      tests: ["tests/simulation/connectivity_test.ts"],
      faults: [
        [
          "a failure of the own network is ok if inverted",
          "check.invert ? invertResult(counted) : counted",
          "check.invert ? invertResult(observed) : counted",
        ],
      ],
    },
    {
      file: "src/scheduler/run_checks.ts",
      tests: ["tests/simulation/connectivity_test.ts"],
      faults: [
        [
          "without a network, every failure counts",
          "Promise.any(probes).then(() => true, () => false)",
          "Promise.any(probes).then(() => true, () => true)",
        ],
        ["all servers of connectivity must respond", "Promise.any(probes)", "Promise.all(probes)"],
        ["a response is no sign of a network", "hasResponded?.(result) === true", "hasResponded === null"],
        ["an old probe of the network counts", "< FRESH_MS", "< 1e9"],
        ["a failure without a network counts as unknown", ', awaits: "checks" };', " };"],
      ],
    },
    {
      file: "src/cli/open_config.ts",
      tests: ["tests/simulation/connectivity_test.ts"],
      faults: [
        [
          "checks of this machine need a network",
          "hosts.some(isOther)",
          "hosts.length > 0",
        ],
        [
          "checks without a host need a network",
          "hosts.some(isOther)",
          "!hosts.some(isLoopback)",
        ],
        [
          "a check cannot choose whether it needs a network",
          "check.connectivity !== undefined || check.lack",
          "check.lack",
        ],
      ],
    },
    {
      file: "src/scheduler/located_runs.ts",
      faults: [
        [
          "a location without a network counts",
          "awaits === undefined ? result.condition : null",
          "result.condition",
        ],
        [
          "a check that fails elsewhere runs only where it fails already",
          'why === "failing" && (observed ?? "ok") === "ok"',
          'why === "failing" && (observed ?? "ok") !== "ok"',
        ],
      ],
    },
    {
      file: "src/config/cron_times.ts",
      faults: [
        [
          "a fixed time of a repeated hour runs twice",
          "span.fromMs + Math.max(offsetMs, earlierOffsetMs)",
          "span.fromMs + Math.min(offsetMs, earlierOffsetMs)",
        ],
        [
          "the times of a skipped hour are left out",
          "if (leftOutMs < shownMs) return span.fromMs;",
          "if (leftOutMs < 0) return span.fromMs;",
        ],
        [
          "an open hour counts as a fixed time at a DST change",
          "const keepsCount = !isOpen && Math.abs",
          "const keepsCount = (!isOpen || changeMs > 0) && Math.abs",
        ],
        [
          "a large correction of a time zone counts as a DST change",
          "CORRECTION_MS = 3 * 3_600_000",
          "CORRECTION_MS = 30 * 3_600_000",
        ],
        [
          "an expression with an open hour alone counts as fixed",
          "/^(?:@hourly$|[*?]|\\S+\\s+[*?])/i",
          "/^(?:@hourly$|[*?])/i",
        ],
      ],
    },
    {
      file: "src/shared/local_time.ts",
      faults: [
        [
          "a clock that is set back is not followed",
          "if (Math.abs(stepMs) <= STEP_MS)",
          "if (stepMs <= STEP_MS)",
        ],
      ],
    },
  ],
};
