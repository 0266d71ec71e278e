import type { FaultyLayer } from "./fault.ts";

const SQLITE = ["tests/state/sqlite/sqlite_store_test.ts"];

export const STATE: FaultyLayer = {
  layer: "state",
  tests: ["tests/state/state_repository_test.ts", "tests/state", "tests/simulation"],
  files: [
    {
      file: "src/state/state_repository.ts",
      tests: ["tests/simulation/not_running_test.ts"],
      faults: [
        [
          "a check that nothing runs any more stays ok",
          "nextRunAtMs: null, overdueAtMs: observedAtMs",
          "overdueAtMs: observedAtMs",
        ],
        [
          "the time of a stop is observed until the next run",
          "if (ranUntilMs !== null) this.settle",
          "if (ranUntilMs === null) this.settle",
        ],
        ["a group of a check that nothing runs stays ok", "while (left.size > 0)", "while (left.size < 0)"],
      ],
    },
    {
      file: "src/cli/monitor_status.ts",
      tests: ["tests/simulation/not_running_test.ts", "tests/simulation/state_test.ts"],
      faults: [
        [
          "a stored ok is current while the state can't be written",
          '? "unwritable" : "running"',
          '? "running" : "running"',
        ],
        ["a service without a control socket never hangs", "< ALIVE_MS_MAX &&", "< Infinity &&"],
      ],
    },
    {
      file: "src/state/journal.ts",
      tests: ["tests/state/journal_test.ts"],
      faults: [
        ["the journal fills a gap", 'run.isAfterGap === (gap === "each") &&', ""],
        [
          "the journal fills the time of a suspension",
          "run.isLate === row.isLate && !run.isInterrupted &&",
          "run.isLate === row.isLate &&",
        ],
        ["a decision has a regular time in the journal", "!run.isDecisive && ", ""],
        ["the times in a row of the journal drift", "intervalMs < intervalMsMin ||", "false ||"],
        ["the journal joins results of other reasons", "return texts[0] === texts[1]", "return true"],
        [
          "a row of the journal goes on after the clock was set back",
          "endedAtMs <= lastMs || endedAtMs - firstMs",
          "endedAtMs - firstMs",
        ],
        [
          "an output of the journal is that of another row",
          'if (row.output !== "") output = row.output;',
          'output = output === "" ? row.output : output;',
        ],
        [
          "a block of the journal becomes a year old",
          "Math.abs(open.row.lastMs - firstMs) >= BLOCK_MS_MAX",
          "false",
        ],
      ],
    },
    {
      file: "src/state/split_time.ts",
      tests: ["tests/state/split_time_test.ts"],
      faults: [
        [
          "the time of a gap counts as observed",
          'row.gap === "none" || row.firstMs - before.lastMs <= observedGapMs',
          "true",
        ],
        [
          "the time between late runs of a failing check is not observed",
          'row.gap === "none" || row.firstMs - before.lastMs <= observedGapMs',
          'row.gap === "none"',
        ],
        ["results without a network count", "if (awaits.length > 0)", "if (awaits.length > 1)"],
        ["an outage in maintenance uses up the budget", "ms -= Math.min(", "ms -= 0 * Math.min("],
        ["time counts again after the clock was set back", "Math.max(fromMs, coveredMs)", "fromMs"],
      ],
    },
    {
      file: "src/state/availability.ts",
      tests: ["tests/state/observed_time_test.ts"],
      faults: [
        [
          "the time of a stop counts as observed",
          "observedUntil(before, Math.min(endMs, overdueAtMs), true)",
          "observedUntil(before, overdueAtMs, true)",
        ],
      ],
    },
    {
      file: "src/state/availability.ts",
      tests: ["tests/outputs/summary/summarize_test.ts", "tests/state/availability_test.ts"],
      faults: [
        ["a warning is downtime", "availability: shares.ok + shares.warning", "availability: shares.ok"],
        [
          "99.999 % is shown as 100 %",
          "Math.floor(share * 100 * 10 ** places)",
          "Math.round(share * 100 * 10 ** places)",
        ],
        [
          "the time since the last run counts however long it is",
          "if (timeMs < observedAtMs || timeMs > overdueAtMs) return null;",
          "if (timeMs < observedAtMs) return null;",
        ],
        [
          "a span without a run is available",
          "if (runs === 0) return NO_COUNTS;",
          "if (runs < 0) return NO_COUNTS;",
        ],
      ],
    },
    {
      file: "src/state/write_behind.ts",
      faults: [
        [
          "an outage loses results of the journal",
          "queued.length > 0 || journal !== undefined",
          "queued.length > 0",
        ],
        [
          "updates that could not be written overwrite later ones",
          "mergeUpdates([...batch, ...this.#pending])",
          "mergeUpdates([...this.#pending, ...batch])",
        ],
        [
          "an update is written with an older state of its notification",
          "this.#amended.get(queued.id) ?? queued)",
          "this.#amended.has(queued.id) ? queued : queued)",
        ],
        [
          "updates of overtaken checks are written",
          ".filter(({ record }) => !names.has(record.name))",
          ".filter(({ record }) => !names.has(record.name) || names.size > 0)",
        ],
      ],
    },
    {
      file: "src/state/state_repository.ts",
      faults: [
        [
          "a state that cannot be written is tried once in minutes",
          "RETRY_MS_MAX = 16_000",
          "RETRY_MS_MAX = 160_000",
        ],
        [
          "the backoff of a state stays after it was written",
          "if (repository.isWritable) this.#delayMs = WRITE_AFTER_MS;",
          "if (repository.isWritable) this.#delayMs = Math.max(this.#delayMs, WRITE_AFTER_MS);",
        ],
        [
          "an urgent change waits for a second",
          "if (this.#options.repository.isUrgent) return",
          "if (this.#options.repository.isUrgent && this.#cancel !== null) return",
        ],
      ],
    },
    {
      file: "src/state/state_repository.ts",
      faults: [
        [
          "the replacement of a damaged state lacks the records of other checks",
          "[...everything(), ...batch]",
          "[...everything().slice(0, 1), ...batch]",
        ],
        [
          "a damaged state is not replaced",
          'if (error.failure === "damaged") this.#health = { status: "damaged", error };',
          'if (error.failure === "other") this.#health = { status: "damaged", error };',
        ],
      ],
    },
    {
      file: "src/state/state_repository.ts",
      faults: [
        [
          "each single run prunes everything",
          "if (Math.floor(this.#lastResultAtMs / HOUR_MS) === Math.floor(nowMs / HOUR_MS)) return;",
          "if (Math.floor(this.#lastResultAtMs / HOUR_MS) > Math.floor(nowMs / HOUR_MS)) return;",
        ],
      ],
    },
    {
      file: "src/state/retention.ts",
      tests: SQLITE,
      faults: [
        [
          "a check that left the config is forgotten after three days",
          "nowMs - 30 * DAY_MS",
          "nowMs - 3 * DAY_MS",
        ],
        [
          "a wrong reading of the clock deletes history",
          ": { earlierMs: laterMs, laterMs: nowMs }",
          ": { earlierMs: nowMs, laterMs: nowMs }",
        ],
        [
          "hours are added to days too late",
          "startOf(nowMs - 8 * DAY_MS, DAY_MS)",
          "startOf(nowMs - 80 * DAY_MS, DAY_MS)",
        ],
        ["a day is added while it goes on", "startOf(nowMs - 8 * DAY_MS, DAY_MS)", "nowMs - 8 * DAY_MS"],
        ["dropped notifications are kept for months", "nowMs - 7 * DAY_MS", "nowMs - 70 * DAY_MS"],
      ],
    },
    {
      file: "src/state/record_cache.ts",
      faults: [
        [
          "a check that is still in the config is not noted as seen",
          "Math.abs(nowMs - seenAtMs) > SEEN_EVERY_MS",
          "Math.abs(nowMs - seenAtMs) > 99 * SEEN_EVERY_MS",
        ],
      ],
    },
    {
      file: "src/state/sql/tables.ts",
      tests: SQLITE,
      faults: [
        [
          "the longest streaks of hours are added up",
          'integer("failed_streak_max", { merge: "max" })',
          'integer("failed_streak_max", { merge: "add" })',
        ],
        [
          "the runs of a deleted check stay",
          '["journal", "changes", "rollups", "recent_runs"]',
          '["journal", "changes", "rollups"]',
        ],
        [
          "a count forgets the use of the limit",
          'jsonFieldOrNull("limit_use", LIMIT_USE, { merge: "fill" })',
          'jsonFieldOrNull("limit_use", LIMIT_USE, { merge: "replace" })',
        ],
        [
          "a clock that is set back does not move the beginning of a job",
          'integer("since_ms", { merge: "min" })',
          'integer("since_ms", { merge: "keep" })',
        ],
      ],
    },
    {
      file: "src/state/sql/outbox_and_jobs.ts",
      tests: SQLITE,
      faults: [
        [
          "two processes queue the same summary",
          "AND scheduled_at_ms = ${parameter(4)}",
          "AND scheduled_at_ms >= ${parameter(4)}",
        ],
        [
          "a summary is queued although another process did",
          "if (kept.length > 0) yield* each",
          "if (kept.length >= 0) yield* each",
        ],
        [
          "a delivery is deleted before the results of its time",
          "at_ms < ${limit} OR",
          "at_ms > ${limit} OR",
        ],
        ["no delivery is ever surplus", "- ${DELIVERIES_MAX}`", "- ${2 * DELIVERIES_MAX}`"],
        ["silence end ends maintenance windows", "kind <> 'maintenance'", "kind <> 'acknowledgement'"],
        [
          "a dropped notification is deleted by its plan alone",
          "AND coalesce(first_failed_at_ms, next_attempt_at_ms) < ${limit}`",
          "AND coalesce(first_failed_at_ms, next_attempt_at_ms) IS NOT NULL`",
        ],
        [
          "the markers of deleted checks stay",
          "WHERE check_name NOT IN (SELECT name FROM checks)",
          "WHERE check_name IN ('')",
        ],
        [
          "a run that began before the last end is still in progress",
          "AND job_runs.id > (SELECT coalesce(max(id), 0)",
          "AND job_runs.id > (SELECT coalesce(max(id), 0) * 0",
        ],
      ],
    },
    {
      file: "src/state/sql/rows.ts",
      tests: SQLITE,
      faults: [
        [
          "the longest streaks are added up",
          '["streak", "max", "failed_streak_max"]',
          '["streak", "sum", "failed_streak_max"]',
        ],
      ],
    },
    {
      file: "src/state/sqlite/sqlite_checks.ts",
      tests: SQLITE,
      faults: [
        [
          "the newest changes are deleted instead of the oldest",
          "WHERE check_id = ? ORDER BY at_ms DESC, id DESC LIMIT -1 OFFSET ?)",
          "WHERE check_id = ? ORDER BY at_ms, id LIMIT -1 OFFSET ?)",
        ],
        [
          "recent runs are in the wrong order",
          "CAST(excluded.runs || runs AS BLOB)",
          "CAST(runs || excluded.runs AS BLOB)",
        ],
      ],
    },
    {
      file: "src/state/sqlite/database_store.ts",
      tests: SQLITE,
      faults: [
        ["a check is forgotten while it is in the config", "< limits.seenMs;", "> limits.seenMs;"],
        [
          "pruning begins again with each step",
          "lastId = end ?? 0;",
          "lastId = (end ?? 0) * 0;",
        ],
      ],
    },
    {
      file: "src/state/sqlite/sqlite_connection.ts",
      faults: [
        [
          "a damaged file is not quarantined",
          '[11, ["damaged",',
          '[11, ["other",',
        ],
      ],
    },
  ],
};

const POSTGRES_STORE = ["tests/state/postgres/postgres_shared_test.ts"];
const POSTGRES_MEMBERS = ["tests/state/postgres/postgres_shared_test.ts"];

export const POSTGRES: FaultyLayer = {
  layer: "PostgreSQL",
  tests: ["tests/state/postgres", "tests/life/members_test.ts", "tests/simulation"],
  files: [
    {
      file: "src/state/postgres/postgres_checks.ts",
      tests: POSTGRES_MEMBERS,
      faults: [
        [
          "a record that another member has written is overwritten",
          "WHERE checks.version = excluded.replaces",
          "WHERE checks.version = excluded.replaces OR checks.version > excluded.replaces",
        ],
        [
          "runs of one hour that are saved together are not added",
          "addSums(before, one)",
          "addSums(one, { ...before, durationTotalMs: 0 })",
        ],
      ],
    },
    {
      file: "src/state/record_writer.ts",
      tests: ["tests/state/memory_shared_store_test.ts", ...POSTGRES_MEMBERS],
      faults: [
        [
          "a block of the journal is saved twice",
          "if (journal !== undefined) this.#repeated.add(journal);",
          "",
        ],
        [
          "a save that is repeated counts its runs twice",
          "rollup: rollup === null || repeated.has(rollup) ? null : rollup",
          "rollup: rollup === null ? null : rollup",
        ],
        [
          "a save whose outcome was unknown counts as that of another member",
          "version !== batch.versions.get(record.name)?.version",
          'version !== 0 && record.name !== ""',
        ],
        [
          "a save that is repeated queues a notification twice",
          "queued.filter(({ id }) => !repeated.has(id))",
          "queued.filter(({ id }) => !repeated.has(`${id} `))",
        ],
      ],
    },
    {
      file: "src/state/postgres/postgres_members.ts",
      tests: POSTGRES_MEMBERS,
      faults: [
        [
          "a queue is claimed with an outdated token",
          "WHERE channel_key = $1 AND token = $3\n",
          "WHERE channel_key = $1 AND token >= $3\n",
        ],
        ["a claim keeps the token", "token = token + 1", "token = token"],
        [
          "a member that lost a queue logs its dropped notifications",
          'one.outcome !== "dropped" || isOwned(one)',
          "true",
        ],
        [
          "the next owner does not receive what the former one has received",
          "received_token IS DISTINCT FROM token",
          "received_token IS NULL",
        ],
        [
          "a delivered notification comes back with a late change",
          'attempts === 0 && state === "pending"',
          'attempts >= 0 && state === "pending"',
        ],
        [
          "a message sent without the state makes the marker of another condition certain",
          "THEN delivery_markers.certain ELSE 0 END",
          "THEN delivery_markers.certain ELSE 1 END",
        ],
        [
          "a former owner overwrites the use of a limit",
          "isOwned(count) ? count : { ...count, limitUse: null }",
          "isOwned(count) ? count : count",
        ],
        [
          "a message of a dead owner is not waited for",
          "AND message_id IS NOT NULL",
          "AND message_id IS NULL",
        ],
        [
          "a pending recovery counts as a problem for the next member",
          'event === "recovery" ? "ok" : last',
          'event === "summary" ? "ok" : last',
        ],
      ],
    },
    {
      file: "src/state/postgres/postgres_members.ts",
      tests: POSTGRES_MEMBERS,
      faults: [
        [
          "an older process of a host takes its place back",
          "WHERE members.process = excluded.process OR $6::boolean",
          "WHERE members.process = excluded.process OR $6::boolean OR true",
        ],
      ],
    },
    {
      file: "src/state/postgres/postgres_store.ts",
      tests: POSTGRES_STORE,
      faults: [
        [
          "one change too few is kept in PostgreSQL",
          "WHERE place > ${CHANGES_MAX})",
          "WHERE place >= ${CHANGES_MAX})",
        ],
        [
          "a check is forgotten while another member runs it",
          "AND seen_at_ms < $2 RETURNING",
          "AND seen_at_ms > $2 RETURNING",
        ],
      ],
    },
    {
      file: "src/state/postgres/postgres_store.ts",
      tests: POSTGRES_MEMBERS,
      faults: [
        [
          "a new result of a location does not count as new",
          "SET runs = location_results.runs + 1",
          "SET runs = location_results.runs",
        ],
      ],
    },
    {
      file: "src/shared/histograms.ts",
      tests: ["tests/shared/histograms_test.ts"],
      faults: [
        [
          "a histogram has one bucket too many",
          "places.length > BUCKETS_MAX",
          "places.length > BUCKETS_MAX + 1",
        ],
        ["the smallest numbers are 0", "const EXPONENTS = 1536;", "const EXPONENTS = 1280;"],
        [
          "values below 0 are in mirrored buckets",
          "Math.trunc(place / 2 ** by)",
          "Math.floor(place / 2 ** by)",
        ],
      ],
    },
    {
      file: "src/state/metric_sums.ts",
      tests: ["tests/state/availability_test.ts"],
      faults: [
        [
          "the sum of hours has the histogram of none",
          "addValueHistograms(sums.map",
          "addHistograms(sums.slice(1).map",
        ],
        [
          "a wrong reading of the clock drops measured values",
          "one !== hour && (",
          "one !== hour && false && (",
        ],
      ],
    },
  ],
};
