import type { FaultyLayer } from "./fault.ts";

export const REDACTION: FaultyLayer = {
  layer: "redaction",
  tests: ["tests/shared/redact_test.ts", "tests/checks/script_test.ts"],
  files: [
    {
      file: "src/shared/redact.ts",
      faults: [
        ["secrets of four characters are printed", "SECRET_LENGTH_MIN = 4", "SECRET_LENGTH_MIN = 5"],
        [
          "the beginning of a secret at the end of a truncated text is printed",
          "length < SECRET_LENGTH_MIN ? null",
          "length < 9 * SECRET_LENGTH_MIN ? null",
        ],
        [
          "a line of a secret with several lines is printed",
          "secret.split(/\\r?\\n/)",
          "secret.split(/\\r\\n/)",
        ],
        [
          "a secret whose characters may be read in two ways is printed",
          "for (const path of paths) {\n        const isKept",
          "for (const path of paths.slice(0, 1)) {\n        const isKept",
        ],
        [
          "the output of a terminated command ends with a part of a secret",
          "isCut: truncated || isEnded",
          "isCut: truncated && isEnded",
        ],
        [
          "a secret that begins within another one is printed",
          "Math.max(last.end, end)",
          "last.end",
        ],
        [
          "a secret in base64 without its padding is printed",
          '[text, text.replace(/=+$/, "")]',
          "[text]",
        ],
        [
          "the length of a secret counts its invisible characters",
          "!isInvisible(character.codePointAt(0) ?? 0)",
          "true",
        ],
      ],
    },
    {
      file: "src/shared/hash.ts",
      tests: ["tests/shared/redact_test.ts"],
      faults: [[
        "the beginning of a token suffices",
        "let difference = sent.length ^ secret.length;",
        "let difference = 0;",
      ]],
    },
  ],
};

export const HTTP: FaultyLayer = {
  layer: "HTTP",
  tests: ["tests/system/http", "tests/outputs/http_endpoint", "tests/life/service_test.ts"],
  files: [
    {
      file: "src/system/http/http_servers.ts",
      faults: [
        ["a client may open any number of connections", "CONNECTIONS_MAX = 256", "CONNECTIONS_MAX = 256_000"],
        ["a client may send its head for minutes", "HEAD_MS_MAX = 10_000", "HEAD_MS_MAX = 59_000"],
        ["a client may read a response for hours", "REQUEST_MS_MAX = 60_000", "REQUEST_MS_MAX = 60_000_000"],
        [
          "a request with two lengths is accepted",
          "codings !== null && (length !== null || codings.trim()",
          'codings !== null && (length === "" || codings.trim()',
        ],
        ["a client that sends single bytes takes all the time", "READ_PAUSE_MS = 20", "READ_PAUSE_MS = 0"],
      ],
    },
    {
      file: "src/system/http/http_message.ts",
      tests: ["tests/system/http/http_servers_test.ts"],
      faults: [
        ["the head of a request has any size", "HEAD_BYTES_MAX = 16_384", "HEAD_BYTES_MAX = 16_384_000"],
        [
          "a line without an end has any size",
          "(line === null ? bytes.size : 0)) throw tooLarge",
          "(line === null ? 0 : 0)) throw tooLarge",
        ],
        ["a request of another protocol is accepted", "HTTP\\/1\\.([01])$/", "HTTP\\/\\d\\.([01])$/"],
      ],
    },
    {
      file: "src/system/http/http_message.ts",
      tests: ["tests/system/http/plain_http_test.ts"],
      faults: [
        ["a response has any number of headers", "FIELDS_MAX = 5000", "FIELDS_MAX = 5_000_000"],
        [
          "informational responses come without end",
          "INFORMATIONAL_MAX = 100",
          "INFORMATIONAL_MAX = 100_000_000",
        ],
        [
          "a line of a response without an end has any size",
          "if (leftBytes < (line === null ? bytes.size : 0)) throw",
          "if (leftBytes < (line === null ? 0 : 0)) throw",
        ],
      ],
    },
    {
      file: "src/system/http/http_message.ts",
      tests: ["tests/system/http/plain_http_test.ts"],
      faults: [
        [
          "two different lengths of a body are accepted",
          "lengths.some((other) => other !== length)",
          "lengths.every((other) => other !== length)",
        ],
        [
          "a body that is cut short is complete",
          "if (bytes.size === 0 && !await bytes.fill()) throw malformed();",
          "if (bytes.size === 0 && !await bytes.fill()) return null;",
        ],
        [
          "the trailer of a response has any size",
          "trailerBytes <= LINE_BYTES_MAX",
          "trailerBytes >= LINE_BYTES_MAX * 0",
        ],
      ],
    },
    {
      file: "src/outputs/http_endpoint/check_ins.ts",
      faults: [
        [
          "a request without the token is answered",
          "if (token !== undefined) return UNAUTHORIZED;",
          'if (token === "") return UNAUTHORIZED;',
        ],
        [
          "the page of another site can read the endpoint",
          'host.endsWith(".localhost")',
          'host.endsWith("localhost")',
        ],
        [
          "a wrong token is answered in full",
          'isSameSecret(sent, token) ? "full"',
          'isSameSecret(sent, token) || sent !== "" ? "full"',
        ],
      ],
    },
    {
      file: "src/outputs/why/describe_why.ts",
      tests: ["tests/simulation/why_test.ts"],
      faults: [
        ["a page explains nothing while a check is silenced", '"ok" || isSilenced ||', '"ok" ||'],
        ["a page explains a check that is ok", "if (!isNews) return [];", ""],
      ],
    },
    {
      file: "src/outputs/http_endpoint/endpoint.ts",
      tests: ["tests/outputs/http_endpoint/endpoint_test.ts", "tests/life/endpoint_cases.ts"],
      faults: [
        [
          "metrics are public",
          'if (access === "public") return',
          'if (access === "public" && area === "") return',
        ],
        [
          "the public page is the private one while it is cached",
          "JSON.stringify([access, type, area, rest, variant])",
          "JSON.stringify([type, area, rest, variant])",
        ],
        ["a browser gets outdated pages", 'tag.replace("W/", "") === etag', 'tag.replace("W/", "") !== ""'],
      ],
    },
    {
      file: "src/outputs/http_endpoint/check_ins.ts",
      tests: ["tests/outputs/http_endpoint"],
      faults: [
        ["an exit code above 255 is accepted", "Number(word) <= 255", "Number(word) <= 999"],
        ["an end without a run id ends the oldest run", "inProgress.findLast(", "inProgress.find("],
        ["a HEAD request is no check-in", '"GET", "HEAD", "POST"]', '"GET", "POST"]'],
        [
          "a request of any method is a check-in",
          "!METHODS.includes(",
          "METHODS.length === METHODS.indexOf(",
        ],
        ["a log is recorded as a run", 'if (signal === "log")', 'if (signal === "never")'],
      ],
    },
    {
      file: "src/outputs/http_endpoint/render_cache.ts",
      faults: [
        ["pages of any number are kept", "ENTRIES_MAX = 32", "ENTRIES_MAX = 32_000"],
        ["a slow page is rendered all the time", "VALID_TIMES = 20", "VALID_TIMES = 0"],
      ],
    },
    {
      file: "src/outputs/html_report/public_page.ts",
      faults: [
        [
          "a public page shows checks without the tag",
          "active && tags.some(",
          "active || tags.some(",
        ],
        ["a public page shows outputs", '    output: "",', "    output: `${startedAtMs}`,"],
        [
          "a public page shows a pending check as operational",
          'pending: "no_data"',
          'pending: "operational"',
        ],
        [
          "a public page shows a degraded service as operational",
          'warning: "degraded"',
          'warning: "operational"',
        ],
        [
          "a public group has the mildest state of its services",
          "SERVICE_STATES.findLast(",
          "SERVICE_STATES.find(",
        ],
        [
          "a public group has the share of its best service",
          "Math.min(least ?? 1, share)",
          "Math.max(least ?? 0, share)",
        ],
        ["a public page claims maintenance while no service runs", "&& status.notRunning === null", ""],
      ],
    },
    {
      file: "src/outputs/html_report/public_page.ts",
      tests: ["tests/outputs/html_report/public_page_test.ts"],
      faults: [
        [
          "a public page without data claims that all is operational",
          "count === 0 ? null",
          "count >= 0 ? null",
        ],
        ["some services are all of them", "count === services.length", "count > 0"],
        [
          "a public page has a link to sign in without a token",
          "isLive === true && canSignIn",
          "isLive === true || canSignIn",
        ],
      ],
    },
    {
      file: "src/outputs/html_report/page_rows.ts",
      faults: [
        [
          "the bar of a row lacks a run that failed",
          'record?.last?.condition === "ok" && before',
          "record !== null && before",
        ],
        [
          "the bar of a row stays that of yesterday",
          "Math.floor(kept.readAtMs / DAY_MS)",
          "Math.floor(nowMs / DAY_MS)",
        ],
        [
          "the histories of all checks are read at once from the second day on",
          "this.#reads++",
          "this.#reads",
        ],
      ],
    },
    {
      file: "src/outputs/html_report/page_rows.ts",
      tests: ["tests/outputs/html_report/page_histories_test.ts"],
      faults: [
        ["an update lacks a row that changed", "piece.version > version", "piece.version > version + 1"],
        ["a row is not rendered after another run", "status.record === other.record &&", ""],
        [
          "an update refers to the page before a reload",
          "version.startsWith(`${this.#id}-`)",
          'version.includes("-")',
        ],
      ],
    },
    {
      file: "src/outputs/html_report/snapshot.ts",
      tests: ["tests/outputs/html_report/public_page_test.ts"],
      faults: [["a group of tags alone has only named checks", "|| tags.some(", "&& tags.some("]],
    },
    {
      file: "src/outputs/http_endpoint/endpoint.ts",
      faults: [["the page of a check is public", 'access === "public" || !view.has(one)', "!view.has(one)"]],
    },
  ],
};

export const SIGN_IN: FaultyLayer = {
  layer: "sign-in",
  tests: ["tests/simulation/sign_in_test.ts", "tests/simulation/page_actions_test.ts"],
  files: [
    {
      file: "src/outputs/http_endpoint/sessions.ts",
      faults: [
        ["a form of another origin is accepted", " && own.includes(origin)", ""],
        ["a form of another port of the site is accepted", 'site !== "same-origin"', 'site === "cross-site"'],
        ["a form has any size", "BODY_BYTES_MAX = 16_384", "BODY_BYTES_MAX = 16_384_000"],
        ["a form is a text", 'if (type !== "application/x-www-form-urlencoded")', 'if (type === "")'],
        [
          "anybody is a trusted proxy",
          "if (!isTrusted(request.address)) return",
          'if (request.address === "") return',
        ],
        ["a client behind a proxy chooses its address", "hops.findLast(", "hops.find("],
      ],
    },
    {
      file: "src/outputs/http_endpoint/sessions.ts",
      faults: [
        ["a session never ends", "nowMs < endsAtMs", "nowMs !== endsAtMs"],
        ["sessions of any number are kept", "SESSIONS_MAX = 100", "SESSIONS_MAX = 100_000"],
        ["the cookie of another listener is a session", "one.startsWith(`${name}=`)", 'one.includes("=")'],
        ["any cookie is a session", "isSameSecret(one, id)", 'one !== ""'],
        ["a token of a form works twice", "this.#renew(subject, { token, request });", "void request;"],
        ["any token of a form works", "if (isSameSecret(token, known.token)) {", 'if (token !== "") {'],
        ["a second tap acts again", '? "repeated"', '? "accepted"'],
        ["an outdated page acts", ': "rejected";', ': "accepted";'],
        ["a client guesses a thousand tokens", "const ATTEMPTS_MAX = 10;", "const ATTEMPTS_MAX = 1_000;"],
        ["many clients guess a thousand tokens", "ATTEMPTS_MAX_OF_ALL = 100", "ATTEMPTS_MAX_OF_ALL = 1_000"],
        [
          "the attempts of others pause who signed in before",
          "this.#known.has(client) ? 0 : ",
          "",
        ],
      ],
    },
    {
      file: "src/outputs/http_endpoint/sign_in.ts",
      faults: [
        ["sessions outlast a change of the token", " && next.listen.token === listen.token", ""],
        ["sessions outlast the end of actions", "const isSame = next.listen.actions && ", "const isSame = "],
        ["a script can read the cookie of a session", "`HttpOnly; SameSite", "`SameSite"],
        ["a site sends the cookie of a session", "SameSite=Strict;", "SameSite=Lax;"],
        ["a cookie is sent without TLS", 'isSecure ? "; Secure" : ""', 'isSecure ? "" : ""'],
        [
          "a wrong token signs in",
          'if (!isSameSecret(form.get("token") ?? "", token)) {',
          'if (form.get("token") === "") {',
        ],
        [
          "the token is guessed in headers",
          'else if (access !== "public") this.#failed(address);',
          "",
        ],
        ["a link of another site asks to sign in again", '=== "cross-site"', '=== "none"'],
      ],
    },
    {
      file: "src/outputs/http_endpoint/endpoint.ts",
      faults: [
        [
          "a page of a person who is signed in is stored",
          "if (session !== null) {",
          'if (session?.by === "") {',
        ],
        [
          "there is a form to sign in without actions",
          "const isForm = signIn.isOffered && ",
          "const isForm = ",
        ],
      ],
    },
    {
      file: "src/outputs/http_endpoint/page_actions.ts",
      tests: ["tests/simulation/page_actions_test.ts"],
      faults: [
        [
          "an acknowledgement needs no problem",
          "if (!hasProblem(condition)) {",
          "if (condition.problemBeganAtMs === 1) {",
        ],
        [
          "a silence until ok ends without a problem",
          "end.untilMs === null && problemBeganAtMs === null",
          "end.untilMs === 0",
        ],
        [
          "an end on the page ends what is for other checks",
          "kind === detail && check === name",
          "kind === detail",
        ],
      ],
    },
  ],
};
