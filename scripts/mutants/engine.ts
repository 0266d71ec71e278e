import type { FaultyLayer } from "./fault.ts";

const QUEUE = ["tests/engine/channel_queue_test.ts"];

export const ENGINE: FaultyLayer = {
  layer: "engine",
  tests: ["tests/engine", "tests/simulation"],
  files: [
    {
      file: "src/cli/check/service_log.ts",
      tests: ["tests/simulation/delivery_test.ts"],
      faults: [
        ["the log repeats what is printed", 'consoles.has(channelKey) ? "debug" : "info"', '"info"'],
        ["the log does not have why nothing is sent", "suppressed !== null && { suppressed }", "{}"],
      ],
    },
    {
      file: "src/engine/causes.ts",
      tests: ["tests/engine/causes_test.ts"],
      faults: [
        [
          "an attribute of an unknown kind is the narrowest",
          "value: attribute, rank: KIND_NAMES.length",
          "value: attribute, rank: -1",
        ],
        ["two ports that fail are a unit that is stopped", "if (isSole) {", "if (isSole && false) {"],
      ],
    },
    {
      file: "src/scheduler/scheduler.ts",
      tests: ["tests/simulation/members_test.ts"],
      faults: [
        [
          "a healthy service of one member refutes the common cause at another one",
          "new AttributeObserver(share.name,",
          "new AttributeObserver(null,",
        ],
        [
          "a healthy host of one location refutes the common cause at another one",
          "share.location?.name);",
          "null);",
        ],
      ],
    },
    {
      file: "src/scheduler/attributes.ts",
      tests: ["tests/simulation/common_causes_test.ts"],
      faults: [
        ["the unit of a process that is gone is unknown", "[...found, ...this.#lastOf(UNIT, last)]", "found"],
      ],
    },
    {
      file: "src/scheduler/attributes.ts",
      tests: ["tests/scheduler/attributes_test.ts"],
      faults: [
        ["a server that has moved keeps its attributes", "madeOf.contact === contact.key && ", ""],
        [
          "what a look-up found is kept",
          "attributes !== undefined && contact.address !== null",
          "attributes !== undefined",
        ],
        ["the name servers are never read again", "isName(contact.place.target) ?", "false ?"],
        [
          "a failure has the attributes of the last success",
          'condition === "ok" && host === null',
          "host === null",
        ],
      ],
    },
    {
      file: "src/scheduler/noted_system.ts",
      tests: ["tests/scheduler/attributes_test.ts"],
      faults: [
        [
          "only the first server of a run counts",
          "this.contacts.length + this.questions.length === 1",
          "this.questions.length === 0",
        ],
        [
          "the look at a file system is a step of the run",
          "host, this.#ownFiles, ",
          "host, this.#system.files, ",
        ],
      ],
    },
    {
      file: "src/engine/why.ts",
      tests: ["tests/engine/why_test.ts", "tests/simulation/why_test.ts"],
      faults: [
        ["why names settings that suppress nothing", "causes.delete(removal);", "causes.has(removal);"],
        ["why names one setting of two", "causes.size < before;", "causes.size < 0;"],
        [
          "why explains what is not confirmed first",
          "fewest(asIs, removals) ?? fewest",
          "fewest",
        ],
        [
          "a change is explained as a reminder",
          'found?.event === "reminder"',
          'found !== null && found.event !== "recovery"',
        ],
        [
          "the suppression of a reminder is decided for the present time",
          "nowMs: atMs, isAgain",
          "nowMs, isAgain",
        ],
        ["why forgets the channel's own filters", "one.key === channel.key ? channel : one", "one"],
      ],
    },
    {
      file: "src/engine/configured_channels.ts",
      tests: ["tests/engine/message_test.ts"],
      faults: [
        [
          "a link leads to the page of a check that does not exist",
          "user === undefined ? null : check",
          "check",
        ],
        [
          "a link has the name of its check without encoding",
          "encodeURIComponent(check.toWellFormed())",
          "check",
        ],
      ],
    },
    {
      file: "src/engine/channel_filters.ts",
      faults: [
        [
          "a condition that a channel does not list is sent",
          "conditions === undefined || conditions.includes(condition)",
          "conditions === undefined || conditions.length > 0",
        ],
        [
          "an unlisted condition that is worse ends a problem",
          'condition !== "unknown" && severity(condition) < severity(notified)',
          'condition !== "unknown" && severity(condition) !== severity(notified)',
        ],
        [
          "a channel outside its hours delays the reminders of others",
          "if (isOutsideHours(filters, nowMs)) return [];",
          'if (isOutsideHours(filters, nowMs) && filters.outsideHours !== "never") return [];',
        ],
        [
          "problems are sent outside the hours only",
          "hours !== undefined && !isInWindow(hours, nowMs)",
          "hours !== undefined && isInWindow(hours, nowMs)",
        ],
        [
          "an acknowledged problem escalates",
          "return isAcknowledged || leftMs > 0",
          "return isAcknowledged && leftMs > 1 || leftMs > 0",
        ],
        [
          "a clock that is set back a little lets a problem escalate at once",
          "leftMs <= 2 * afterMs",
          "leftMs <= afterMs",
        ],
        [
          "the first other condition counts for the time until an escalation",
          "Math.max(...others.map",
          "Math.min(...others.map",
        ],
        [
          "a problem that is never sent outside the hours is sent when they begin",
          "return isOutsideHours(filters, decidedAtMs) ?",
          "return isOutsideHours(filters, Math.max(decidedAtMs, nowMs)) ?",
        ],
        [
          "a problem that began outside the hours is not sent when they begin",
          'if (filters.outsideHours !== "never") return',
          'if (filters.outsideHours !== "never" && nowMs < 0) return',
        ],
        [
          "a problem outside the hours waits for the next run when they begin",
          'afterMs !== undefined || hours !== undefined && outsideHours !== "never"',
          'afterMs !== undefined || hours !== undefined && outsideHours === "never"',
        ],
        [
          "a reminder makes dropped notifications due",
          "state.notifiedSinceMs ?? nowMs,",
          "state.notifiedAtMs ?? nowMs,",
        ],
        [
          "a missed problem is dropped with a recovery that is not wanted",
          "!passes(notification) && !(missedProblem",
          "!passes(notification) && (missedProblem",
        ],
      ],
    },
    {
      file: "src/engine/queue_state.ts",
      tests: QUEUE,
      faults: [
        ["the backoff does not grow", "2 ** Math.min(failures - 1, 20)", "1 ** Math.min(failures - 1, 20)"],
        ["the backoff grows to hours", "BACKOFF_MS_MAX = 15 * 60_000", "BACKOFF_MS_MAX = 150 * 60_000"],
        ["the jitter makes a backoff longer than its maximum", "(0.75 + jitter / 4)", "(1 + jitter / 4)"],
        [
          "a rejected notification is retried twice as often",
          "Math.max(REJECTED_MS_MIN, 2 * (nowMs - sinceMs))",
          "Math.max(REJECTED_MS_MIN, nowMs - sinceMs)",
        ],
        [
          "an attempt planned by a wrong clock waits for days",
          "nextAttemptAtMs > nowMs + REJECTED_MS_MAX ?",
          "nextAttemptAtMs > nowMs + 99 * REJECTED_MS_MAX ?",
        ],
        [
          "a message that may have arrived gets another id",
          "messageId: mayHaveArrived ? queued.messageId : null",
          "messageId: mayHaveArrived ? null : null",
        ],
        [
          "a message that did not arrive keeps its id",
          "messageId: mayHaveArrived ? queued.messageId : null",
          "messageId: mayHaveArrived ? queued.messageId : queued.messageId",
        ],
        [
          "a rejected notification stays pending",
          'retryable ? "pending" : "rejected"',
          'retryable ? "pending" : "pending"',
        ],
        [
          "each failure counts as the first one",
          "firstFailedAtMs: queued.firstFailedAtMs ?? nowMs",
          "firstFailedAtMs: nowMs",
        ],
      ],
    },
    {
      file: "src/engine/batching.ts",
      tests: QUEUE,
      faults: [
        ["a message has any number of notifications", "BATCH_MAX = 1000", "BATCH_MAX = 100_000"],
        [
          "a summary is sent together with notifications",
          "if (isAlone(first)) return [first];",
          "",
        ],
        [
          "a channel that does not batch sends each notification of a group by itself",
          "!batches && !isDigest && key === null",
          "!batches && !isDigest",
        ],
        [
          "a message has the notifications of other groups",
          "isDigest || keyOf(head) === key",
          "isDigest || keyOf(head) === keyOf(head)",
        ],
        [
          "a group waits although the service stops",
          "round.isForced ? () => -Infinity : groupTimes",
          "round.isForced ? groupTimes(notifications, group) : groupTimes",
        ],
        [
          "each notification of a group waits for itself",
          "Math.min(times.get(key) ?? Infinity, queued.nextAttemptAtMs)",
          "queued.nextAttemptAtMs",
        ],
        [
          "a message of a group that failed waits again like a new one",
          'queued.state === "pending" && queued.attempts === 0 && !isAlone(queued)',
          'queued.state === "pending" && !isAlone(queued)',
        ],
        [
          "a summary waits for a group",
          'queued.state === "pending" && queued.attempts === 0 && !isAlone(queued)',
          'queued.state === "pending" && queued.attempts === 0',
        ],
        [
          "a notification overtakes an earlier one of its check that failed",
          "own.every(({ id }) => !round.tried.has(id))",
          "own.some(({ id }) => !round.tried.has(id))",
        ],
        [
          "rejected notifications are sent before new ones",
          "pending.length > 0 ? pending : rejected",
          "rejected.length > 0 ? rejected : pending",
        ],
        [
          "a rejected notification does not wait for its time",
          'head.state === "rejected" && head.nextAttemptAtMs <= nowMs',
          'head.state === "rejected" && nowMs >= 0',
        ],
        [
          "a message that fails for long blocks those of other checks",
          "Math.max(0, attempts - attemptsInOrder)",
          "Math.max(0, attempts - attemptsInOrder) * 0",
        ],
        [
          "a message that may have arrived is sent again with others",
          "queued.messageId !== null || isExcluded(queued) || isAlone(queued)",
          "isExcluded(queued) || isAlone(queued)",
        ],
      ],
    },
    {
      file: "src/engine/merge_pending.ts",
      tests: QUEUE,
      faults: [
        [
          "a notification is merged while it is being sent",
          "if (older.messageId !== null || newer.messageId !== null) return null;",
          "if (newer.messageId !== null) return null;",
        ],
        [
          "a recovery is merged into the next problem",
          'if (before.event === "recovery" || isStandalone(before.event) && !isReplaced) return null;',
          "if (isStandalone(before.event) && !isReplaced) return null;",
        ],
        [
          "each rehearsal that was missed is sent once the channel is back",
          "isStandalone(before.event) && !isReplaced",
          "isStandalone(before.event)",
        ],
        [
          "a merge lets a rejected notification be retried earlier",
          'nextAttemptAtMs: older.state === "rejected"',
          'nextAttemptAtMs: older.state === "dropped"',
        ],
        [
          "a problem that recovered unsent is lost",
          "missedProblem: isFirst ? before : null",
          "missedProblem: null",
        ],
        [
          "a change is lost with a problem that the channel does not get",
          "isExcluded(older) && !isExcluded(queued)",
          "isExcluded(older) && isExcluded(queued)",
        ],
        [
          "a merge forgets the counted problems",
          "summarized: older.summarized + newer.summarized",
          "summarized: newer.summarized",
        ],
      ],
    },
    {
      file: "src/engine/sending.ts",
      tests: ["tests/engine/dispatcher_test.ts"],
      faults: [
        [
          "a rejection is logged at each attempt",
          'retried.filter(({ state }) => state !== "rejected")',
          "retried",
        ],
        ["a failure that may end soon is logged as a rejection", "retryable ? [] : logOf(", "logOf("],
      ],
    },
    {
      file: "src/engine/sending.ts",
      tests: QUEUE,
      faults: [
        [
          "a batch that fails for long is never sent one by one",
          "ONE_BY_ONE_AFTER_MS = 3_600_000",
          "ONE_BY_ONE_AFTER_MS = 3_600_000_000",
        ],
        [
          "a message is sent a minute before its limit permits it",
          "if (permittedMs > nowMs) {",
          "if (permittedMs > nowMs + 60_000) {",
        ],
        ["attempts are not counted", "attempts: queued.attempts + 1", "attempts: queued.attempts"],
        [
          "a delivered notification stays in the state",
          "    removed: ids,",
          "    removed: ids.slice(0, 0),",
        ],
        [
          "Retry-After is ignored",
          "Math.max(nowMs + backoffMs(failures, jitter), notBeforeMs)",
          "nowMs + backoffMs(failures, jitter)",
        ],
        [
          "a new notification ends the wait of Retry-After",
          "Math.max(Math.min(untilMs, nowMs + NEW_DURING_BACKOFF_MS), notBeforeMs)",
          "Math.min(Math.min(untilMs, nowMs + NEW_DURING_BACKOFF_MS), Math.max(untilMs, notBeforeMs))",
        ],
        [
          "a batch that may have arrived is sent one by one",
          "return failed.length > 1 && !mayHaveArrived;",
          "return failed.length > 1 && (!mayHaveArrived || failed.length > 1);",
        ],
        [
          "each notification of a batch is tried with a wrong password",
          "const rejectsAll = round.accepted === 0;",
          "const rejectsAll = round.accepted < 0;",
        ],
        [
          "a failed repetition forgets that the message may have arrived",
          "mayHaveArrived: reported.mayHaveArrived || message.mayHaveArrived",
          "mayHaveArrived: reported.mayHaveArrived",
        ],
        [
          "a message that did not arrive counts for the limit",
          "reported.mayHaveArrived ? nowMs : null;",
          "reported.mayHaveArrived ? nowMs : nowMs;",
        ],
        [
          "a failed message waits on although the config was fixed",
          "return { queue: retrySoon(queue, context), effects };",
          "return { queue: rest(queue, context), effects };",
        ],
      ],
    },
    {
      file: "src/engine/channel_queue.ts",
      faults: [
        [
          "a batch is sent a second too early",
          "!isForced && context.nowMs < status.untilMs",
          "!isForced && context.nowMs + 1_000 < status.untilMs",
        ],
        [
          "a clock that is set back delays rejected notifications",
          "nextAttemptAtMs: one.nextAttemptAtMs - byMs",
          "nextAttemptAtMs: one.nextAttemptAtMs",
        ],
        [
          "a clock that is set back delays a queue",
          "{ untilMs: status.untilMs - byMs }",
          "{ untilMs: status.untilMs }",
        ],
        [
          "a restart forgets the backoff after the first failure",
          'state === "pending" && attempts > 0',
          'state === "pending" && attempts > 1',
        ],
        [
          "the outcome of a message counts for notifications that were moved",
          ".filter(({ id }) => !moved.has(id))",
          ".filter(({ id }) => moved.size >= 0 || id)",
        ],
        [
          "a message that was not sent counts for the limit",
          "const unused = limit === null ? null : afterEnd(limit, null);",
          "const unused = limit === null ? null : afterEnd(limit, nowMs);",
        ],
        [
          "a failed notification counts as new after a restart",
          'state === "pending" && attempts === 0',
          'state === "pending" && attempts >= 0',
        ],
      ],
    },
    {
      file: "src/engine/queue_state.ts",
      tests: ["tests/engine/sending_limit_test.ts"],
      faults: [
        ["a limit permits one message too few", ".at(-limit.atMost.count)", ".at(1 - limit.atMost.count)"],
        [
          "an attempt in progress counts before it can have arrived",
          "nowMs + attemptTimeoutMs].slice(",
          "nowMs - attemptTimeoutMs].slice(",
        ],
        [
          "a clock that is set back extends a limit",
          "sentAtMs: sentAtMs.map((ms) => ms - byMs)",
          "sentAtMs: sentAtMs.map((ms) => ms + byMs)",
        ],
        [
          "an attempt in the future, of another clock, extends a limit",
          "Math.min(ms, nowMs + attemptTimeoutMs)",
          "Math.max(ms, nowMs + attemptTimeoutMs)",
        ],
      ],
    },
    {
      file: "src/engine/suppression.ts",
      tests: ["tests/engine/suppression_test.ts"],
      faults: [
        ["a silence lasts a moment too long", "nowMs < silence.untilMs", "nowMs <= silence.untilMs"],
        [
          "a silence until ok applies to the next problem",
          "|| silence.problemBeganAtMs === check.problemBeganAtMs)",
          "|| check.problemBeganAtMs !== null)",
        ],
        [
          "a silence of all checks applies to none",
          "tag === null ? check === null || check === name",
          "tag === null ? check === name",
        ],
        ["a silence of a tag applies to each check with tags", "tags.includes(tag)", "tags.length > 0"],
        [
          "a silence does not apply on a machine whose clock is behind",
          "nowMs < silence.untilMs &&",
          "nowMs < silence.untilMs && silence.fromMs <= nowMs &&",
        ],
        [
          "a silence until ok is shown after its problem has ended",
          "check === name && condition.problemBeganAtMs === problemBeganAtMs",
          "check === name && condition.problemBeganAtMs !== undefined",
        ],
      ],
    },
    {
      file: "src/engine/run_action.ts",
      tests: ["tests/simulation/actions_test.ts"],
      faults: [
        ["an action starts that is not persisted", "repository.isWritable ? obstacleIn", "true ? obstacleIn"],
        ["the end of an action is forgotten", "  if (isKnown()) {", "  if (!isKnown()) {"],
      ],
    },
    {
      file: "src/engine/suppression.ts",
      faults: [
        [
          "an action runs in maintenance",
          "options.notifies && !isInMaintenance(check, options) &&",
          "options.notifies &&",
        ],
        [
          "an action runs while a dependency is down",
          "holdingDependencies(check, options).length === 0;",
          "true;",
        ],
        ["an action runs without notifications", "return options.notifies && ", "return "],
        [
          "a maintenance window that was started suppresses nothing",
          'silencesOfKind("maintenance", check, options).length > 0',
          'silencesOfKind("maintenance", check, options).length > 1',
        ],
        [
          "one failing alternative of a dependency suppresses",
          "names.every((name) => dependencyHolds",
          "names.some((name) => dependencyHolds",
        ],
        [
          "a clock that is set back makes a dependency hold",
          "beganAtMs !== null && beganAtMs > nowMs;",
          "beganAtMs !== null && beganAtMs === nowMs;",
        ],
        [
          "a dependency that does not run suppresses",
          "names.length > 0 &&",
          "names.length >= 0 &&",
        ],
        [
          "a silence until ok takes precedence over maintenance",
          'if (silences.some(({ problemBeganAtMs }) => problemBeganAtMs === null)) return "silence";',
          'if (silences.some(({ problemBeganAtMs }) => problemBeganAtMs !== undefined)) return "silence";',
        ],
      ],
    },
    {
      file: "src/engine/maintenance_windows.ts",
      tests: ["tests/engine/window_property_test.ts"],
      faults: [
        [
          "a maintenance window includes the minute of its end",
          "minute >= fromMinute && minute < toMinute && beginsOn",
          "minute >= fromMinute && minute <= toMinute && beginsOn",
        ],
        [
          "a single maintenance window includes its end",
          "timeMs < window.untilMs",
          "timeMs <= window.untilMs",
        ],
        [
          "the morning of a window over midnight counts for its own day",
          "beginsOn(window, shown.toPlainDate().subtract({ days: 1 }))",
          "beginsOn(window, shown.toPlainDate().subtract({ days: 0 }))",
        ],
        [
          "a window of a cron expression opens a moment late",
          "window.times.after(timeMs - window.durationMs) <= timeMs",
          "window.times.after(timeMs - window.durationMs) < timeMs",
        ],
        [
          "a DST change does not cut a window short",
          "change !== null && change.epochMilliseconds < untilMs",
          "change !== null && change.epochMilliseconds > untilMs",
        ],
        [
          "a window ends at the second of a repeated time",
          ".find((endMs) => endMs > nowMs)",
          ".findLast((endMs) => endMs > nowMs)",
        ],
      ],
    },
    {
      file: "src/domain/schedule.ts",
      tests: ["tests/engine/suppression_test.ts", "tests/engine/window_property_test.ts"],
      faults: [
        [
          "the last day of a month is the last but one",
          "number < 0 ? daysInMonth + 1 + number",
          "number < 0 ? daysInMonth + number",
        ],
        ["a range of days lacks its last day", "day <= dayOf(to)", "day < dayOf(to)"],
        [
          "a window opens a day before its day of the week",
          "WEEKDAYS[date.dayOfWeek - 1]",
          "WEEKDAYS[date.dayOfWeek % 7]",
        ],
      ],
    },
    {
      file: "src/domain/store.ts",
      tests: ["tests/engine/check_status_test.ts"],
      faults: [
        [
          "an edited check keeps its condition",
          "if (last.definition !== definition) return true;",
          'if (last.definition === "") return true;',
        ],
      ],
    },
    {
      file: "src/engine/check_status.ts",
      tests: ["tests/engine/check_status_test.ts"],
      faults: [
        ["a check is overdue an interval late", "OVERDUE_INTERVALS = 2", "OVERDUE_INTERVALS = 3"],
        [
          "a small correction of the clock makes a result count as from the future",
          "clockToleranceMs(record) && lastMs > secondRunAfter",
          "clockToleranceMs(record) || lastMs > secondRunAfter",
        ],
        [
          "a failing check is overdue by its regular interval",
          "if (isAttentive(state)) return schedule.attentiveIntervalMs;",
          "if (isAttentive(state) && isCron(schedule)) return schedule.attentiveIntervalMs;",
        ],
      ],
    },
    {
      file: "src/engine/queued_notifications.ts",
      tests: ["tests/engine/sender_test.ts", "tests/simulation/suppression_test.ts"],
      faults: [
        [
          "a reminder is queued while a notification is pending",
          "previous === undefined && !isPending && wanted",
          "previous === undefined && isPending !== null && wanted",
        ],
        [
          "a suppressed change is sent to channels that it is no recovery for",
          'if (notification.event === "recovery") return null;',
          'if (notification.event === "recovery" && nowMs < 0) return null;',
        ],
        [
          "a recovery outside the hours is not sent",
          'if (wanted !== "ok" && isOutsideHours(channel, nowMs)) return null;',
          "if (isOutsideHours(channel, nowMs)) return null;",
        ],
        [
          "a problem of which the delivery is uncertain counts as notified",
          'certain ? [condition] : [condition, "ok"]',
          "certain ? [condition] : [condition]",
        ],
        [
          "a channel that is left out gets the problem",
          "if (isLeftOut(channel, conditions)) return null;",
          "if (isLeftOut(channel, conditions) && isPending) return null;",
        ],
      ],
    },
    {
      file: "src/engine/outbox_changes.ts",
      tests: ["tests/engine/dispatcher_test.ts", "tests/engine/outbox_changes_test.ts", ...QUEUE],
      faults: [
        [
          "a dropped problem that may have arrived gets no recovery",
          'messageId === null || event === "recovery" || event === "burning" || isStandalone(event)',
          'messageId === null || event !== "change"',
        ],
        [
          "a change starts another thread of messages",
          "messageId: known?.messageId || messageId",
          "messageId: known === null ? messageId : messageId",
        ],
      ],
    },
    {
      file: "src/engine/outbox_changes.ts",
      tests: ["tests/engine/dispatcher_test.ts", "tests/engine/outbox_changes_test.ts", ...QUEUE],
      faults: [
        [
          "a notification that is still true is dropped after a day",
          "> RETRY_OBSOLETE_MS && !isStillTrue",
          "> RETRY_OBSOLETE_MS && isStillTrue !== null",
        ],
        [
          "an old recovery with its missed problem is shown",
          "(!isStillTrue || queued.missedProblem !== null)",
          "!isStillTrue",
        ],
      ],
    },
    {
      file: "src/engine/batching.ts",
      tests: ["tests/engine/sending_limit_test.ts"],
      faults: [
        [
          "a digest with a problem and a recovery is a recovery",
          'notifications.every(({ event }) => event === "recovery")',
          'notifications.some(({ event }) => event === "recovery")',
        ],
        [
          "a digest has the lowest severity",
          "severity(one.condition) > severity(",
          "severity(one.condition) < severity(",
        ],
      ],
    },
    {
      file: "src/engine/rekey.ts",
      faults: [
        [
          "a channel that is still used loses its notifications to another",
          "old.kind !== channel.kind || used.has(old.key)",
          "old.kind !== channel.kind || used.size === 0",
        ],
        [
          "a message that may have arrived keeps its id in a channel that splits it",
          "(checks.size === 1 || batches(channelKey))",
          "(checks.size >= 1 || batches(channelKey))",
        ],
        [
          "a problem stays certain in a channel that the check has lost",
          "moved.push({ ...marker, certain: false })",
          "moved.push({ ...marker, certain: true })",
        ],
      ],
    },
    {
      file: "src/engine/decide.ts",
      tests: ["tests/simulation/availability_test.ts"],
      faults: [
        ["downtime in maintenance burns", "|| isInMaintenance(check, situation)", "|| false"],
        ["time without a network here burns", "|| lastAwaits(before.journal) !== null", "|| false"],
        ["one outage burns", "problemBeganAtMs >= alert.sinceMs &&", ""],
        ["a burn is sent at each run", "burn: withTold(burn, alert)", "burn"],
        [
          "a burn is sent after its problem",
          "hasProblem(record.condition) && notified === confirmed",
          "false",
        ],
        [
          "a burn passes a silence",
          "if (suppressedBy !== null) return { ...concluded, suppressed:",
          "if (false) return { ...concluded, suppressed:",
        ],
      ],
    },
    {
      file: "src/engine/decide.ts",
      tests: ["tests/simulation/latency_test.ts"],
      faults: [
        ["a check is ok without a value that has limits", "&& lacking.length === 0) return", ") return"],
        ["one run without a value ends a problem", "&& !lastValues.has(name)", ""],
      ],
    },
    {
      file: "src/engine/decide.ts",
      tests: ["tests/simulation/agents_test.ts"],
      faults: [
        [
          "the silence of an agent suppresses what it reports after it",
          "run === null || !isReported(check) ? check : whileReported(check)",
          "check",
        ],
      ],
    },
    {
      file: "src/engine/decide.ts",
      tests: [
        "tests/simulation/suppression_test.ts",
        "tests/state/state_repository_test.ts",
        "tests/state/observed_time_test.ts",
      ],
      faults: [
        [
          "a recovery of a channel with conditions waits for the end of a silence",
          "suppressed !== null && letsRecoveriesPass(suppressed)",
          'suppressed === "flapping" && letsRecoveriesPass(suppressed)',
        ],
        [
          "a suppressed reminder is due later",
          'verdict.kind === "suppressed" && verdict.event !== "reminder"',
          'verdict.kind === "suppressed"',
        ],
        ["skipped runs are forgotten", "before.missedRuns + missed", "missed"],
        [
          "the present condition counts for the time before it",
          "asObserved(check, before, null),",
          "asObserved(check, { ...before, condition: { ...before.condition, confirmed: after.condition.confirmed } }, null),",
        ],
        [
          "the time of a pause counts as observed",
          "isInterrupted || isUnreported(result, before.last),",
          "isUnreported(result, before.last),",
        ],
      ],
    },
    {
      file: "src/engine/check_status.ts",
      tests: ["tests/simulation/members_test.ts"],
      faults: [
        [
          "a disconnected member shows the last ok of checks of other members",
          "return isShared && member?.isOpen === true",
          "return isShared && member === null",
        ],
      ],
    },
    {
      file: "src/engine/engine.ts",
      tests: ["tests/engine", "tests/simulation"],
      faults: [
        [
          "a reminder waits for the next write",
          "update.change !== null || notification !== null",
          "update.change !== null",
        ],
      ],
    },
    {
      file: "src/members/shared_sender.ts",
      tests: ["tests/members/shared_sender_test.ts"],
      faults: [
        [
          "a member sends while the state cannot be written",
          "this.writer.isWritable && this.#member.claims(channelKey)",
          "this.#member.claims(channelKey)",
        ],
        [
          "a check with hours alone is decided by a record of another member",
          "afterMs !== undefined || hours !== undefined",
          "afterMs !== undefined && hours !== undefined",
        ],
      ],
    },
    {
      file: "src/members/shared_sender.ts",
      tests: ["tests/members/shared_sender_test.ts"],
      faults: [
        [
          "what was read replaces newer decisions",
          "if (this.#byCheck.get(check) !== known) continue;",
          "if (this.#byCheck.get(check) !== known && known === null) continue;",
        ],
        [
          "a forgotten check is not read while a decision is not stored",
          "!isUnstored(check) || this.isForgotten(check)",
          "!isUnstored(check)",
        ],
      ],
    },
    {
      file: "src/engine/outcome_writer.ts",
      tests: ["tests/engine/dispatcher_test.ts", "tests/engine/sender_test.ts"],
      faults: [
        [
          "delivered notifications stay in the replacement of a damaged state",
          ".filter((id) => !ids.has(id))",
          ".filter((id) => ids.has(id))",
        ],
        [
          "an outcome that cannot be written is lost",
          "this.#pending = [change, ...this.#pending];",
          "this.#pending = [...this.#pending];",
        ],
      ],
    },
    {
      file: "src/engine/outbox_changes.ts",
      faults: [
        [
          "a notification that is queued again after its removal is removed",
          "removed.delete(queued.id);",
          "removed.has(queued.id);",
        ],
        [
          "counts of outcomes that are written together are not added",
          "addCounts(counted.get(count.channelKey), count)",
          "addCounts(undefined, count)",
        ],
        ["deliveries that are written together are not logged", "logged.push(...change.logged ?? []);", ""],
      ],
    },
    {
      file: "src/engine/batching.ts",
      tests: ["tests/engine/message_test.ts", "tests/simulation/message_groups_test.ts"],
      faults: [
        [
          "a recovery counts only the checks of its own message",
          "group.of(check) === group.of(first.notification.check)) checks.add(check)",
          "group.of(check) === group.of(first.notification.check)) checks.has(check)",
        ],
      ],
    },
    {
      file: "src/engine/channel_queue.ts",
      tests: ["tests/engine/channel_queue_test.ts"],
      faults: [
        [
          "a new notification waits as long as a group that is batching",
          'Math.min(before.status.untilMs, "untilMs" in status ? status.untilMs : Infinity)',
          "before.status.untilMs",
        ],
      ],
    },
    {
      file: "src/engine/sending.ts",
      tests: ["tests/engine/channel_queue_test.ts"],
      faults: [
        [
          "a notification that another clock has delayed waits for days",
          "queued.nextAttemptAtMs <= nowMs + (group?.waitMs ?? 0)",
          "queued.nextAttemptAtMs <= Infinity",
        ],
      ],
    },
    {
      file: "src/engine/queued_notifications.ts",
      tests: ["tests/simulation/message_groups_test.ts"],
      faults: [["a group does not wait", "nowMs + channel.group.waitMs", "nowMs"]],
    },
    {
      file: "src/engine/causes.ts",
      tests: ["tests/simulation/common_causes_test.ts"],
      faults: [
        ["two checks have a common cause", "const CHECKS_MIN = 3;", "const CHECKS_MIN = 2;"],
        [
          "what works for another check is a cause",
          "refutersOf(one.attribute, sinceOf(one.checks), options).next().done === true",
          "true",
        ],
        [
          "the cause of the fewest checks is named",
          "return other.checks.length - one.checks.length ||",
          "return one.checks.length - other.checks.length ||",
        ],
        [
          "a check that a dependency suppresses has a common cause",
          'observed !== "warning" || isHeld(check)',
          'observed !== "warning"',
        ],
      ],
    },
    {
      file: "src/channels/describe_item.ts",
      tests: ["tests/channels/console_test.ts"],
      faults: [
        [
          "a disk that is full is down",
          'goesDown ? ["down", "up"]',
          'true ? ["down", "up"]',
        ],
        [
          "the end of a warning of a service is its return",
          'before.rest === "down" ? "is up again"',
          'item.goesDown === true ? "is up again"',
        ],
        [
          "a check that is to fail is down if it does not",
          "rest: isInverted ? up : down",
          "rest: down",
        ],
        [
          "a headline of a recovery has the output of an earlier result",
          'hasOutput: item.notification.event !== "recovery"',
          "hasOutput: true",
        ],
        [
          "a problem that has just begun lasts 0 s",
          "notification.decidedAtMs - notification.problemBeganAtMs < 1000",
          "notification.decidedAtMs - notification.problemBeganAtMs < 0",
        ],
        [
          "the first notification of a check decides in a message of many",
          "new Map(items.map((item)",
          "new Map(items.toReversed().map((item)",
        ],
      ],
    },
    {
      file: "src/engine/configured_channels.ts",
      faults: [
        [
          "of two limits of a channel the looser one applies",
          "one.count / one.windowMs < other.count / other.windowMs",
          "one.count / one.windowMs > other.count / other.windowMs",
        ],
        [
          "a channel with a limit drops what it shows late",
          "mayWait(channel) ? null : entry.staleAfterMs ?? null",
          "entry.staleAfterMs ?? null",
        ],
        [
          "a check of a group by parents is alone",
          'by === "tag" ? tag : parent === undefined ? undefined : alternativesOf(parent)[0]',
          'by === "tag" ? tag : undefined',
        ],
      ],
    },
    {
      file: "src/engine/dispatcher.ts",
      faults: [
        [
          "a recovery of another member is sent without its problem",
          'event === "recovery" ? !isNotified',
          'event === "recovery" ? !isNotified && isPending',
        ],
        [
          "a notification that is received twice is sent twice",
          "known.some((one) => one.id === id)",
          "known.some((one) => one.id === id && one.attempts < 0)",
        ],
        [
          "what came since results of others were read waits for no other read",
          "!isFresh || !ids.has(queued.id) || causes.awaitsOthers(queued)",
          "causes.awaitsOthers(queued)",
        ],
        [
          "a member sends from a queue that it lost",
          "this.#options.maySend(running.channelKey)",
          "(this.#options.maySend(running.channelKey) || message.mayHaveArrived)",
        ],
        [
          "a single run does not try notifications in backoff",
          '{ kind: "woke", isForced: true }',
          '{ kind: "woke", isForced: false }',
        ],
        [
          "a delivery in progress is certain for a channel that a reload removed",
          "? { ...marker, certain: false }",
          "? { ...marker, certain: true }",
        ],
      ],
    },
    {
      file: "src/engine/sender.ts",
      tests: ["tests/engine/sender_test.ts"],
      faults: [
        [
          "the last notification of a check counts as true although the check has another condition",
          "isStandalone(event) || observedAtMs === null) {",
          "isStandalone(event) || observedAtMs !== null) {",
        ],
        [
          "the marker of a problem that lasts is obsolete",
          'return confirmed === "ok" && nowMs -',
          "return confirmed !== null && nowMs -",
        ],
      ],
    },
    {
      file: "src/engine/engine.ts",
      tests: ["tests/simulation/suppression_test.ts"],
      faults: [
        [
          "only direct dependents are counted",
          "of found) for (const child",
          "of [name]) for (const child",
        ],
      ],
    },
  ],
};
