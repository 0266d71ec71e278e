import type { FaultyLayer } from "./fault.ts";

export const CHECKS: FaultyLayer = {
  layer: "checks",
  tests: ["tests/checks"],
  files: [
    {
      file: "src/checks/process.ts",
      faults: [
        [
          "a process whose executable is unreadable decides nothing",
          "isDecided(running, { unreadable, parameters })",
          "isDecided(running, { unreadable: [], parameters })",
        ],
        [
          "numbers are exact without the unreadable processes",
          "...unreadable.length === 0 ?",
          "...unreadable.length >= 0 ?",
        ],
      ],
    },
    {
      file: "src/checks/process.ts",
      tests: ["tests/checks/process_test.ts"],
      faults: [
        [
          "a process whose executable was replaced does not count",
          "path === expected || path ===",
          "path === expected && path !==",
        ],
      ],
    },
    {
      file: "src/checks/tcp_connect.ts",
      faults: [
        [
          "a text that may be behind what was read is missing",
          '{ ends: "unknown", text: `cannot search all',
          '{ ends: "violated", text: `cannot search all',
        ],
      ],
    },
    {
      file: "src/checks/thresholds.ts",
      faults: [
        [
          "a value equal to its threshold is a problem",
          "value < limit.amount : value > limit.amount",
          "value <= limit.amount : value >= limit.amount",
        ],
        [
          "a percentage is compared with the value itself",
          "limit.isPercent ? percentOf(measure) : measure.value",
          "limit.isPercent ? measure.value : measure.value",
        ],
        [
          "a warning hides a critical threshold",
          '{ key: "criticalAbove", condition: "critical", words: "above" }',
          '{ key: "warningAbove", condition: "warning", words: "above" }',
        ],
      ],
    },
    {
      file: "src/shared/decimal.ts",
      faults: [
        ["a range lacks its end", "compareDecimals(value, to) <= 0", "compareDecimals(value, to) < 0"],
        [
          "an inverted range is not inverted",
          "return isWithin === isInverted",
          "return isWithin !== (isInverted || !isInverted)",
        ],
        [
          "a range of one number begins at any number",
          'start === "~" ?',
          'start === undefined || start === "~" ?',
        ],
      ],
    },
    {
      file: "src/checks/certificate_verdict.ts",
      tests: ["tests/checks/tls_certificate_test.ts"],
      faults: [
        [
          "a certificate warns only from its critical age on",
          ": leftMs < warningBeforeExpiryMs",
          ": leftMs < Math.min(warningBeforeExpiryMs, criticalBeforeExpiryMs)",
        ],
        [
          "an expired certificate is ok",
          "isOver = nowMs >= validToMs;",
          "isOver = nowMs >= validToMs + 1e12;",
        ],
        [
          "a certificate that is not valid yet is ok",
          "nowMs >= validFromMs) return",
          "nowMs >= validFromMs - 1e12) return",
        ],
        [
          "a certificate without a trusted issuer is ok",
          'problem === null || problem.about === "dates" && dates.isBad',
          'problem === null || problem.about !== "names"',
        ],
        [
          "another certificate than the pinned one is accepted",
          "actual === expected ? null",
          "actual.length === expected?.length ? null",
        ],
      ],
    },
    {
      file: "src/checks/http/json_comparisons.ts",
      tests: ["tests/checks/http/json_body_test.ts"],
      faults: [
        ["at_least excludes its number", "atLeast, (order) => order >= 0)", "atLeast, (order) => order > 0)"],
        ["at_most excludes its number", "atMost, (order) => order <= 0)", "atMost, (order) => order < 0)"],
        [
          "an object with more keys is equal",
          "=== names.length && names.every",
          ">= names.length && names.every",
        ],
        [
          "a list contains texts that contain the wanted one",
          "value.some((item) => isEqual(item, wanted))",
          "value.some((item) => isEqual(item, wanted) || String(item).includes(String(wanted)))",
        ],
        [
          "a time that is no time is new enough",
          "(timeOf(value) ?? -Infinity)",
          "(timeOf(value) ?? Infinity)",
        ],
        [
          "seconds and milliseconds are confused",
          "value < SECONDS_MAX ? value * 1000 : value",
          "value > SECONDS_MAX ? value * 1000 : value",
        ],
      ],
    },
    {
      file: "src/checks/script.ts",
      faults: [
        [
          "exit codes 1 and 2 are confused",
          '= ["ok", "warning", "critical", "unknown"]',
          '= ["ok", "critical", "warning", "unknown"]',
        ],
        [
          "configured conditions of exit codes are ignored",
          "check.parameters.exitCodeConditions?.[end.code] ?? CONDITIONS_BY_EXIT_CODE[end.code]",
          "CONDITIONS_BY_EXIT_CODE[end.code] ?? check.parameters.exitCodeConditions?.[end.code]",
        ],
        [
          "an expected output hides a failed command",
          "const isWorse = severity(compared.condition) > severity(verdict.condition);",
          "const isWorse = severity(compared.condition) < severity(verdict.condition);",
        ],
        [
          "performance data of a command that was terminated count",
          'end.ended === "exited" ? printed.performanceData : ""',
          'end.ended !== "signalled" ? printed.performanceData : ""',
        ],
      ],
    },
    {
      file: "src/checks/script_junit.ts",
      tests: ["tests/checks/script_junit_test.ts"],
      faults: [
        [
          "failures that a JUnit report counts, but does not name, pass",
          "if (failed.length > 0 || report.countedFailures > 0) {",
          "if (failed.length > 0) {",
        ],
        [
          "an error of a test in a JUnit report is no failure",
          '(name === "failure" || name === "error") {',
          '(name === "failure") {',
        ],
        [
          "a JUnit report without a test that ran is ok",
          'problem ?? (passedCount > 0 ? "" : "no test ran")',
          'problem ?? ""',
        ],
        [
          "a JUnit report that was cut off is ok",
          'isWhole ? reader.problem : "the report is too long"',
          "reader.problem",
        ],
        [
          "a JUnit report without its end is ok",
          "isWhole && reader.problem === null) reader",
          "false) reader",
        ],
        [
          "an exit code that no test explains is ok",
          '(code === 0 ? "ok" : "unknown")',
          '"ok"',
        ],
      ],
    },
    {
      file: "src/checks/file_timestamp.ts",
      faults: [
        [
          "a file of exactly the critical age is critical",
          "ageMs > criticalAgeMs ?",
          "ageMs >= criticalAgeMs ?",
        ],
        [
          "the oldest file counts instead of the newest",
          "(facts.modifiedAtMs ?? -Infinity) > (newest",
          "(facts.modifiedAtMs ?? -Infinity) < (newest",
        ],
        ["a file from the future is ok", "if (ageMs < 0) {", "if (ageMs < -1e12) {"],
        [
          "a directory of the wanted number of files is a problem",
          "count < (countMin ?? 0)",
          "count <= (countMin ?? -1)",
        ],
      ],
    },
    {
      file: "src/checks/file_findings.ts",
      faults: [
        [
          "a file of exactly the least size is too small",
          "sizeBytes < sizeMinBytes",
          "sizeBytes <= sizeMinBytes",
        ],
        [
          "a file of exactly the greatest size is too large",
          "sizeBytes > sizeMaxBytes",
          "sizeBytes >= sizeMaxBytes",
        ],
      ],
    },
    {
      file: "src/checks/file.ts",
      faults: [
        ["the set-user-id bit of a file does not count", "mode & 0o7777", "mode & 0o777"],
        ["any user whose name begins so is the owner", "first === name", "first?.startsWith(name)"],
        [
          "contents that were not searched to their end are ok",
          "if (searchedLength !== null)",
          "if (searchedLength === 0)",
        ],
        ["unwanted contents are ok", "if (found && !isExpected)", "if (found && isExpected)"],
      ],
    },
    {
      file: "src/checks/log.ts",
      faults: [
        [
          "a log that was emptied and grew again is the same",
          "subarray(0, skipped)) === anchor",
          'subarray(0, skipped)) !== ""',
        ],
        [
          "the last line of a rotated log needs a newline",
          "isWhole: isEnded && !isPart(rotated)",
          "isWhole: false",
        ],
        [
          "a rotated log is left before the new one has a line",
          "fresh.sizeBytes > 0 || rotated",
          "fresh.sizeBytes >= 0 || rotated",
        ],
        [
          "a machine reads on where another one was",
          "const before = positions[host]",
          "const before = Object.values(positions)[0]",
        ],
        [
          "lines that are left for the next run are ok",
          "if (turns < 0 || isPart(start))",
          "if (turns < 0 && isPart(start))",
        ],
        ["a log without a state is ok", "if (memory === undefined) {", "if (memory === null) {"],
      ],
    },
    {
      file: "src/engine/decide.ts",
      faults: [
        [
          "a run that could not read a log forgets its position",
          "const { memory = last?.memory, report",
          "const { memory, report",
        ],
      ],
      tests: ["tests/simulation/cron_test.ts"],
    },
    {
      file: "src/checks/job.ts",
      faults: [
        [
          "a job has no grace",
          "nowMs <= dueMs + graceMs)",
          "nowMs <= dueMs + 0 * graceMs)",
        ],
        [
          "a job that failed is ok",
          "last.end.exitCode === 0) return [];",
          "last.end.exitCode >= 0) return [];",
        ],
        [
          "a run in progress may take for ever",
          "nowMs - begun.startedAtMs > maxMs)",
          "nowMs - begun.startedAtMs > 1e3 * maxMs)",
        ],
        ["a run that starts by a clock that is ahead does not count", "heardMs) + EARLY_MS_MAX", "heardMs)"],
        [
          "a run in progress without a limit counts as ended",
          "durationMaxMs === undefined ? [] : inProgress.map(",
          "durationMaxMs === null ? [] : inProgress.map(",
        ],
        [
          "a start in the future hides missed runs",
          "(ms) => ms <= nowMs + FUTURE_MS_MAX",
          "(ms) => ms <= Infinity",
        ],
        [
          "a cron schedule and an interval of a job exclude nothing",
          "cron !== undefined && expectedEveryMs !== undefined)",
          "cron === null && expectedEveryMs !== undefined)",
        ],
        ["a job that never ran is ok", 'isAwaited ? "unknown"', 'isAwaited ? "ok"'],
        ["a job whose clock was set back is ok", "agoMs < -FUTURE_MS_MAX", "agoMs < -1e6 * FUTURE_MS_MAX"],
      ],
    },
    {
      file: "src/checks/group.ts",
      faults: [
        [
          "a group requires one check too few",
          "severity(other))[needed - 1]",
          "severity(other))[Math.max(0, needed - 2)]",
        ],
        [
          "a group of any requires all",
          'require === "all" ? members.length : 1',
          'require === "any" ? members.length : 1',
        ],
        [
          "a group fails with a check that is not confirmed yet",
          "const conditions = shown.map(({ condition }) => countedAs(condition));",
          "const conditions = shown.map(({ condition, last }) => last ?? countedAs(condition));",
        ],
        [
          "a group counts inactive checks as ok",
          'highestSeverity([...conditions, "unknown"])',
          'highestSeverity([...conditions, "ok"])',
        ],
        [
          "a group does not wait for checks that did not run since a start",
          'isUnconfirmed && state !== "current"',
          'isUnconfirmed && state === "current"',
        ],
      ],
    },
    {
      file: "src/checks/dns_lookup.ts",
      faults: [
        [
          "servers that disagree are ok",
          "if (groups.length > 1) violations.push",
          "if (groups.length > 2) violations.push",
        ],
        [
          "further records are ok",
          "known.size !== expected.size || known.difference(expected).size > 0",
          "expected.difference(known).size > 0",
        ],
        [
          "a number of records of at least excludes it",
          "records.length < atLeast)",
          "records.length <= atLeast)",
        ],
      ],
    },
    {
      file: "src/checks/domain_expiry.ts",
      faults: [
        [
          "a registry that does not answer says that a domain is lost",
          'checkResult("unknown", answer.failure);',
          'checkResult("critical", answer.failure);',
        ],
        [
          "the response about another domain counts",
          "!== asciiOf(domain)) {",
          "=== null) {",
        ],
        ["a domain on hold is ok", "lost !== undefined || leftMs <", "leftMs <"],
        [
          "a registry is asked more than once an hour",
          "spansMs.every((spanMs) => !(spanMs < INTERVAL_MIN_MS))",
          "spansMs.some((spanMs) => !(spanMs < INTERVAL_MIN_MS))",
        ],
      ],
    },
    {
      file: "src/checks/container.ts",
      faults: [
        [
          "a container that starts is ok",
          'condition: "unknown", text: `is starting',
          'condition: "ok", text: `is starting',
        ],
        [
          "an unhealthy container is ok",
          'status === "unhealthy" ? "critical"',
          'status === "unhealthy" ? "ok"',
        ],
        [
          "a container that is paused is ok",
          'status === "running" ? runningOf',
          'status === "running" || status === "paused" ? runningOf',
        ],
        ["restarts that are not counted are none", 'isUncounted ? "unknown" : "ok"', '"ok"'],
        ["a name leads to another request", "/^[a-zA-Z0-9][\\w.-]*$/", "/^[a-zA-Z0-9.][\\w./-]*$/"],
      ],
    },
    {
      file: "src/checks/http/ask.ts",
      faults: [[
        "a part of a response is evaluated",
        "if (!isWhole) return { failure",
        "if (false) return { failure",
      ]],
    },
    {
      file: "src/checks/systemd_unit.ts",
      faults: [
        [
          "a unit that waits to be started again has not failed",
          '!subState.startsWith("auto-restart") &&',
          'subState !== "" &&',
        ],
        [
          "a unit that does not exist is ok",
          'return loadState !== "not-found" &&',
          'return loadState !== "" &&',
        ],
      ],
    },
    {
      file: "src/checks/disk_space.ts",
      faults: [
        [
          "inodes are not compared",
          "thresholds: freeInodes }",
          "thresholds: total > 0 ? {} : freeInodes }",
        ],
      ],
    },
    {
      file: "src/checks/certificate_verdict.ts",
      tests: ["tests/checks/http_request_sent_test.ts", "tests/checks/tls_certificate_test.ts"],
      faults: [
        ["a fingerprint with colons fits none", 'replaceAll(":", "").toLowerCase()', "toLowerCase()"],
        ["a certificate is never verified", "verify === false ? () => null", "verify !== true ? () => null"],
      ],
    },
    {
      file: "src/checks/http_request.ts",
      tests: ["tests/checks/http/redirects_test.ts"],
      faults: [
        [
          "no one is warned that a copy of a certificate reads the headers",
          "!HARMLESS_HEADER.test(name) && name",
          "HARMLESS_HEADER.test(name) && name",
        ],
      ],
    },
    {
      file: "src/system/http/requests.ts",
      tests: ["tests/checks/http_request_sent_test.ts"],
      faults: [
        [
          "a fingerprint is ignored by the client of https",
          ": request.refuses !== undefined;",
          ": false;",
        ],
      ],
    },
    {
      file: "src/checks/database_check.ts",
      tests: ["tests/checks/postgres_query_test.ts"],
      faults: [
        [
          "no value of a database is as expected",
          'if (value === undefined) return "there is no value, expected one";',
          "if (value === undefined) return null;",
        ],
        [
          "one of several values is compared",
          "if (ambiguity !== undefined) return",
          "if (ambiguity === null) return",
        ],
        [
          "the number of rows is not compared",
          "if (problem !== null) return `rows",
          "if (problem === null) return `rows",
        ],
      ],
    },
    {
      file: "src/checks/redis_command.ts",
      tests: ["tests/checks/redis_command_test.ts"],
      faults: [
        [
          "a second reply of Redis is ignored",
          'if (this.#reader.unread.length > 0) throw new DatabaseFailure("server replies more',
          'if (value === 0) throw new DatabaseFailure("server replies more',
        ],
        ["Redis sends a list of any depth", "if (depthLeft === 0) throw", "if (depthLeft === 9) throw"],
        ["a writing command of Redis is accepted", "!READING.has(name.toUpperCase())", 'name === ""'],
        ["a part of a field's name is one", "line.startsWith(`${field}:`)", "line.includes(`${field}:`)"],
      ],
    },
    {
      file: "src/checks/mysql_query.ts",
      faults: [
        [
          "a server of MySQL gets the password in clear text",
          "plugin === CLEAR && isPrivate",
          "plugin === CLEAR",
        ],
        [
          "a server of MySQL elsewhere gets the password by its key",
          "session.tls === null && isLoopback(host)",
          "session.tls === null",
        ],
        [
          "packets of MySQL without a byte are read without end",
          "this.#count(head.length + length);",
          "this.#count(length);",
        ],
        ["a server of MySQL gets a file", "if (kind === LOCAL_FILE) throw", "if (kind === ERROR) throw"],
        [
          "a statement of MySQL may write",
          "if (READING.includes(word.toUpperCase())) return",
          'if (word !== "") return',
        ],
        [
          "data in front of TLS is accepted from MySQL",
          "if (server.hasMore) throw",
          "if (server.hasMore && salt.length === 0) throw",
        ],
        [
          "packets of MySQL are taken out of order",
          "if (head[3] !== (this.#sequence++ & 0xff)) throw",
          "if (head[3] === undefined) throw",
        ],
        ["rows of MySQL are read without end", "this.#count(ROW_BYTES + columnCount * VALUE_BYTES);", ""],
      ],
    },
    {
      file: "src/checks/postgres_query.ts",
      tests: ["tests/checks/postgres_query_test.ts"],
      faults: [
        ["a query may write", "READ COMMITTED READ ONLY", "READ COMMITTED READ WRITE"],
        [
          "data in front of TLS is accepted from PostgreSQL",
          "if (reply.length > 1) throw",
          "if (reply.length > 2) throw",
        ],
        ["a flood of rows is read", "RESPONSE_BYTES_MAX = 2 ** 20", "RESPONSE_BYTES_MAX = 2 ** 24"],
        ["an offset of whole hours is no time", '"$&:00"', '"$&"'],
      ],
    },
    {
      file: "src/checks/http/json_comparisons.ts",
      tests: ["tests/checks/redis_command_test.ts"],
      faults: [[
        "a text of digits is another value than its number",
        "forms.every(isMet)",
        "forms.some(isMet)",
      ]],
    },
    {
      file: "src/checks/tcp_dialog.ts",
      tests: ["tests/checks/tcp_dialog_test.ts"],
      faults: [
        [
          "data in front of TLS is accepted",
          "if (lines.hasMore) return",
          "if (lines.hasMore && tls === null) return",
        ],
        [
          "a cut line of a protocol counts",
          "new Lines(connection, acceptsPrompts ? clock : null)",
          "new Lines(connection, clock)",
        ],
        [
          "a captured value is a part of a later pattern",
          'replaceAll(SIGN, "\\\\$&")',
          'replaceAll(SIGN, "$&")',
        ],
        ["a captured command is sent", "/^[^\\0-\\x1f\\x7f]+$/", "/^[^\\0\\x7f]+$/"],
        ["a flood is a wrong response", "return { text, isObstacle: true };", "return { text };"],
      ],
    },
    {
      file: "src/checks/grpc_health.ts",
      tests: ["tests/checks/grpc_health_test.ts"],
      faults: [
        ["a health status counts despite an error of gRPC", 'if (status !== "0") {', 'if (status === "5") {'],
        ["any health status is ok", "health === SERVING ?", "health !== null ?"],
        ["a response counts before its end", "if (isLast && block.length === 0)", "if (block.length === 0)"],
      ],
    },
    {
      file: "src/checks/websocket.ts",
      tests: ["tests/checks/websocket_test.ts"],
      faults: [
        [
          "any response with status 101 opens a WebSocket",
          'valueOf("sec-websocket-accept") !== ACCEPT',
          "false",
        ],
        ["a message in parts is evaluated at its first", "if (!isLast) continue;", ""],
      ],
    },
    {
      file: "src/checks/connection_run.ts",
      tests: ["tests/checks/connection_reader_test.ts"],
      faults: [
        ["a message of any length is read", "if (count > this.takenMax) return", "if (count < 0) return"],
        [
          "a line of any length is read",
          "at < 0 && this.#unread.length > bytesMax",
          "at < 0 && this.#unread.length > Infinity",
        ],
        [
          "an end in two chunks is not found",
          "this.#unread.length - end.length + 1)",
          "this.#unread.length)",
        ],
      ],
    },
    {
      file: "src/system/tcp/ntp.ts",
      tests: ["tests/checks/ntp_test.ts"],
      faults: [
        [
          "the time of another request counts",
          "nonce.every((byte, at) => message[24 + at] === byte)",
          "true",
        ],
      ],
    },
    {
      file: "src/checks/ntp.ts",
      tests: ["tests/checks/ntp_test.ts"],
      faults: [["a clock without a source counts", "if (!isSynchronized) {", 'if (code !== "") {']],
    },
    {
      file: "src/checks/tcp_connect.ts",
      tests: ["tests/checks/tcp_dialog_test.ts"],
      faults: [["a login is sent before TLS starts", "(login !== undefined && !tls)", "false"]],
    },
    {
      file: "src/checks/http/ask.ts",
      tests: [
        "tests/checks/http/redirects_test.ts",
        "tests/checks/http_request_test.ts",
      ],
      faults: [
        ["any status of a class equals another", "one.slice(0, 1)", "one.slice(0, 0)"],
      ],
    },
    {
      file: "src/checks/http/exchange.ts",
      tests: ["tests/checks/http_request_test.ts"],
      faults: [
        [
          "a response that takes exactly as long as it may is critical",
          "if (durationMs <= limitMs) continue;",
          "if (durationMs < limitMs) continue;",
        ],
        [
          "a slow response is never critical",
          'const limits = [["critical", criticalDurationMs]',
          'const limits = [["critical", undefined]',
        ],
      ],
    },
    {
      file: "src/checks/http/ask.ts",
      tests: ["tests/checks/http/redirects_test.ts"],
      faults: [
        [
          "a redirect takes secret headers to another site",
          "keepsOrigin || HARMLESS_HEADER.test(name)",
          'keepsOrigin || HARMLESS_HEADER.test(name) || name.toLowerCase() !== "authorization"',
        ],
        [
          "a redirect takes the trust in any certificate to another site",
          "...keepsOrigin && { refuses, connection }",
          "refuses, ...keepsOrigin && { connection }",
        ],
        ["redirects go on without end", "REDIRECTS_MAX = 10", "REDIRECTS_MAX = 100"],
        [
          "a redirect with status 303 sends the body again",
          "if (status === 303) return",
          'if (status === 303 && method === "HEAD") return',
        ],
        [
          "a redirect takes the password to another site",
          "if (url.origin !== from.origin || url.username",
          'if (url.origin === "" || url.username',
        ],
      ],
    },
    {
      file: "src/checks/rehearsal.ts",
      tests: ["tests/checks/rehearsal_test.ts"],
      faults: [
        [
          "a rehearsal is sent at each run once it is due",
          "fromMs: isSent ? nowMs : fromMs,",
          "fromMs,",
        ],
        [
          "a rehearsal counts as sent though notifications are off",
          "const isSent = isDue && notifies;",
          "const isSent = isDue;",
        ],
        [
          "each rehearsal postpones the problem of those before",
          "Math.min(last?.unprovenSinceMs ?? nowMs, nowMs)",
          "nowMs",
        ],
        [
          "the link of an older rehearsal proves the last one",
          "confirmation.id !== last.token",
          'confirmation.id === ""',
        ],
        [
          "a channel is proven by the rehearsals of another one",
          "return channelKey === ofChannel ? last : null;",
          "return last;",
        ],
        [
          "a channel that was never proven is ok once a rehearsal is sent",
          'return provenAtMs === null ? awaited(output) : checkResult("ok", output);',
          'return checkResult("ok", output);',
        ],
        [
          "a clock that was set back by days stops the rehearsals",
          "beforeMs - nowMs > DAY_MS ? nowMs : beforeMs",
          "beforeMs",
        ],
      ],
    },
    {
      file: "src/outputs/http_endpoint/confirmations.ts",
      tests: ["tests/simulation/rehearsals_test.ts"],
      faults: [
        [
          "a preview of the link confirms",
          'if (!isKnown && request.method !== "POST") {',
          'if (!isKnown && request.method === "PUT") {',
        ],
        [
          "a second request changes the time of the confirmation",
          "const isKnown = last?.id === token;",
          'const isKnown = last?.id === token && request.method !== "POST";',
        ],
        [
          "a member does not know the rehearsals of others",
          "isShared(store) ? await store.readOthers(names) : []",
          "isShared(store) ? [] : []",
        ],
      ],
    },
  ],
};

export const SUMMARY: FaultyLayer = {
  layer: "summary",
  tests: ["tests/outputs/summary", "tests/simulation"],
  files: [
    {
      file: "src/outputs/summary/objectives.ts",
      tests: ["tests/outputs/summary/objectives_test.ts"],
      faults: [
        ["an objective that is met exactly is missed", "lower > budgetMs ||", "lower >= budgetMs ||"],
        ["uncertain downtime is none", "upper: downMs + uncertainMs", "upper: downMs + 0 * uncertainMs"],
        [
          "an objective is met though one unseen outage could use it up",
          "upper > budgetMs || sightOf(schedule).missedMs > budgetMs",
          "upper > budgetMs",
        ],
        [
          "the error budget is that of a whole month without data",
          "errorBudgetMs(objective, observedMs)",
          "errorBudgetMs(objective, objective.windowMs)",
        ],
      ],
    },
    {
      file: "src/outputs/summary/objectives.ts",
      tests: ["tests/outputs/summary/summarize_test.ts", "tests/simulation/availability_test.ts"],
      faults: [
        ["unknown is uptime", "return critical + unknown;", "return critical + 0 * unknown;"],
      ],
    },
    {
      file: "src/outputs/summary/summarize.ts",
      faults: [
        [
          "a certificate is listed months before it expires",
          "EXPIRING_MS = 30 * DAY_MS",
          "EXPIRING_MS = 300 * DAY_MS",
        ],
        ["a check that does not flap is listed", "changes >= CHANGES_MIN", "changes >= CHANGES_MIN / 5"],
        [
          "notifications dropped before the period are listed",
          "nextAttemptAtMs > sinceMs",
          "nextAttemptAtMs !== sinceMs",
        ],
      ],
    },
    {
      file: "src/outputs/summary/summarize.ts",
      faults: [
        [
          "a warning ends no outage",
          'return condition === "critical" || condition === "unknown";',
          'return condition !== "ok";',
        ],
        [
          "an outage after the period is in it",
          "if (change.atMs > untilMs) break;",
          "if (change.atMs > untilMs + 1e9) break;",
        ],
        [
          "an outage begins with the period although it began before",
          "if (earlier !== null) return earlier;",
          "if (earlier !== null) return { ...earlier, atMs: sinceMs };",
        ],
      ],
    },
    {
      file: "src/outputs/summary/gather_summary.ts",
      tests: ["tests/outputs/summary/queue_summary_test.ts"],
      faults: [
        [
          "the time of a summary counts only when it has passed",
          "atMs <= untilMs; atMs = times",
          "atMs < untilMs; atMs = times",
        ],
        [
          "a week with a DST change has an hour less",
          "Math.abs(beforeMs - sinceMs) <= HOUR_MS",
          "Math.abs(beforeMs - sinceMs) < HOUR_MS",
        ],
      ],
    },
    {
      file: "src/outputs/summary/gather_summary.ts",
      tests: ["tests/outputs/summary/queue_summary_test.ts", "tests/simulation/availability_test.ts"],
      faults: [
        [
          "a summary is sent that another member has queued",
          "if (await store.queueSummary({ schedule, scheduledMs }, last, queued)) sender",
          "if (await store.queueSummary({ schedule, scheduledMs }, last, queued) || nowMs > 0) sender",
        ],
        [
          "a new schedule sends the summary of the past",
          "last.schedule !== schedule ||",
          'last.schedule === "" ||',
        ],
        [
          "a clock that was set back by days stops the summary",
          "last.scheduledMs - nowMs > DAY_MS",
          "last.scheduledMs - nowMs > 1e6 * DAY_MS",
        ],
      ],
    },
  ],
};
