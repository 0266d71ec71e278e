/** What `prove` predicts is what the check finds in a real server with that fault, and the target sees one run. */
import assert from "node:assert/strict";
import { faultsOf } from "../../src/rehearsal/faults.ts";
import { prove, type Proved } from "../../src/rehearsal/prove.ts";
import { runCheck } from "../../src/scheduler/run_checks.ts";
import type { FileParameters } from "../../src/domain/generated/config.ts";
import { checkOf, tempDirectory } from "../../testing/builders.ts";
import type { Check } from "../../src/domain/check.ts";
import { httpCheck, httpContext, type HttpExpectations } from "../support/http_check.ts";
import { response, startServer, type TestServer, type Visitor } from "../support/http_servers.ts";
import { resetConnection } from "../support/reset_connection.ts";
import { testRows } from "../support/rows.ts";
import { DAY_MS } from "../../src/shared/time_units.ts";

const SCHEMA = Deno.readTextFileSync(new URL("../../schemas/source.json", import.meta.url));
const NOW_MS = Date.now();
const BODY = { status: "ok", updated: new Date(NOW_MS).toISOString(), queue: { length: 3 } };
const JSON_TYPE = { "content-type": "application/json" };
const HTML = { "content-type": "text/html; charset=utf-8" };

/** How a real server has each fault. */
const PLANTED: Readonly<Record<string, (visitor: Visitor) => Promise<void>>> = {
  "connection reset": (visitor) => {
    resetConnection(visitor.connection as Deno.TcpConn);
    return Promise.resolve();
  },
  "status 500": (visitor) => visitor.send(response(500, JSON_TYPE, JSON.stringify(BODY))),
  "status 404": (visitor) => visitor.send(response(404, JSON_TYPE, JSON.stringify(BODY))),
  "empty body": (visitor) => visitor.send(response(200, JSON_TYPE)),
  "half of the body": (visitor) => {
    const text = JSON.stringify(BODY);
    return visitor.send(response(200, JSON_TYPE, text.slice(0, text.length >> 1)));
  },
  "error page with the same status": (visitor) =>
    visitor.send(response(200, HTML, "<title>Error</title><h1>Something went wrong</h1>")),
  "login page with the same status": (visitor) =>
    visitor.send(response(200, HTML, '<title>Sign in</title><input type="password">')),
  "JSON field null": (visitor) =>
    visitor.send(response(200, JSON_TYPE, JSON.stringify({ ...BODY, status: null }))),
  "JSON time a day old": (visitor) => {
    const updated = new Date(NOW_MS - DAY_MS).toISOString();
    return visitor.send(response(200, JSON_TYPE, JSON.stringify({ ...BODY, updated })));
  },
};

/** The form of a fault that has several forms. */
const FORMS: Readonly<Record<string, string>> = {
  "JSON field null": "$.status",
  "JSON time a day old": "$.updated",
};

function runOptions() {
  const { system } = httpContext();
  return {
    system,
    jobs: null,
    directory: "/",
    redact: (text: string) => text,
    signal: new AbortController().signal,
    settle: () => new Promise<void>((resolve) => void setTimeout(resolve, 0)),
  };
}

async function proveAgainst(
  meet: (visitor: Visitor) => Promise<void>,
  checkFor: (server: TestServer) => Check,
): Promise<{ readonly faults: readonly Proved[]; readonly visits: number }> {
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    await meet(visitor);
  });
  const { faults } = await prove(checkFor(server), runOptions());
  return { faults, visits: server.visits };
}

Deno.test("prove() predicts what the check finds in a server with the fault, after one run", async (t) => {
  const expectations: Readonly<Record<string, HttpExpectations>> = {
    "a status": {},
    "any status": { statusCode: null },
    "a part of the body": { bodyPart: '"status"' },
    "the end of the body": { bodyPart: "}}" },
    "a field": { json: { "$.status": { equals: "ok" } } },
    "a time": { json: { "$.updated": { newerThanMs: DAY_MS / 2 } } },
  };
  await testRows(t, expectations, async (expected) => {
    const checkFor = ({ origin }: Pick<TestServer, "origin">): Check => httpCheck(`${origin}/`, expected);
    const { faults, visits } = await proveAgainst(
      (visitor) => visitor.send(response(200, JSON_TYPE, JSON.stringify(BODY))),
      checkFor,
    );
    assert.equal(visits, 1);
    for (const [name, plant] of Object.entries(PLANTED)) {
      const predicted = faults.find((fault) => fault.name === name) ?? assert.fail(`no ${name}`);
      await using server = startServer(async (visitor) => {
        await visitor.readHead();
        await plant(visitor);
      });
      const found = await runCheck(checkFor(server), runOptions());
      const isNoticed = predicted.isNoticed && !predicted.unnoticed.includes(FORMS[name] ?? "");
      assert.equal(found.condition !== "ok", isNoticed, `${name}: ${found.output}`);
    }
  });
});

Deno.test("prove() names the fields that nothing notices, and takes no time for what hangs", async () => {
  const { faults } = await proveAgainst(
    (visitor) => visitor.send(response(200, JSON_TYPE, JSON.stringify(BODY))),
    ({ origin }) => httpCheck(`${origin}/`, { json: { "$.status": { equals: "ok" } }, timeoutMs: 3_600_000 }),
  );
  const shown = faults.map(({ name, isNoticed, unnoticed }) =>
    `${isNoticed ? "" : "! "}${name} ${unnoticed}`.trim()
  );
  assert.deepEqual(shown, [
    "connection refused",
    "connection reset",
    "no response",
    "! ten times slower, after 2 s",
    "status 500",
    "status 404",
    "empty body",
    "half of the body",
    "error page with the same status",
    "login page with the same status",
    "JSON field null $.updated,$.queue.length",
    "! JSON time a day old $.updated",
  ]);
});

Deno.test("prove() proves nothing of a check that is not ok", async () => {
  const { faults } = await proveAgainst(
    (visitor) => visitor.send(response(500)),
    ({ origin }) => httpCheck(`${origin}/`),
  );
  assert.deepEqual(faults, []);
});

Deno.test("prove() finds what a check of a file compares", async (t) => {
  await using directory = await tempDirectory({ "file": "text\n" });
  const path = `${directory.path}/file`;
  const always = ["missing file", "unreadable file", "file system that hangs"];
  const rows: Readonly<Record<string, [parameters: Partial<FileParameters>, noticed: readonly string[]]>> = {
    "no expectation": [{}, []],
    "a size": [{ sizeMinBytes: 1 }, ["empty file"]],
    "contents": [{ contentPattern: "text" }, ["file with other contents", "empty file"]],
  };
  await testRows(t, rows, async ([parameters, expected]) => {
    const check = checkOf("file", { path, conditionOnMissing: "critical", asWarning: false, ...parameters });
    const { result, faults } = await prove(check, runOptions());
    assert.equal(result.condition, "ok", result.output);
    const noticed = faults.filter(({ isNoticed }) => isNoticed).map(({ name }) => name);
    assert.deepEqual(noticed, [...always, ...expected]);
  });
});

Deno.test("faultsOf() has those of commands, names, files, machines and jobs, as far as they can have them", () => {
  const end = { atMs: 0, durationMs: 1, how: "noted", exitCode: 0, reason: "", output: "" } as const;
  const values: Readonly<Record<string, unknown>> = {
    "run /bin/true": { ended: "exited", code: 0, stdout: { text: "1\n2\n", truncated: false } },
    "run /usr/bin/ping": {
      ended: "exited",
      code: 0,
      stdout: { text: "5 packets transmitted, 5 received, 0% packet loss\n", truncated: false },
    },
    "lookup A example.org.": { records: ["203.0.113.7"] },
    "stat /backup": { kind: "directory", sizeBytes: 0, modifiedAtMs: 1 },
    "fileSystem /": { freeBytes: 1, totalBytes: 2, inodes: null },
    "memory": { availableBytes: 1, totalBytes: 2, swapUsedBytes: 0, swapTotalBytes: 0 },
    "job backup": { sinceMs: 0, last: { id: "1", startedAtMs: 0, end }, inProgress: [] },
    "certificate example.org:443": { problem: null, facts: null },
  };
  const allOf = (key: string, value: unknown) =>
    faultsOf({ responses: [], connections: [], calls: [{ key, outcome: { value, tookMs: 0 } }] }, 0);
  const namesOf = (key: string, value: unknown): string =>
    allOf(key, value).map(({ name }) => name).join(", ");
  // A hint names keys of the config.
  for (const { hint } of Object.entries(values).flatMap(([key, value]) => allOf(key, value))) {
    for (const [, word] of (hint ?? "").matchAll(/"(\w+)"/g)) {
      assert.ok(SCHEMA.includes(`"${word}": {`), `${hint}`);
    }
  }
  assert.deepEqual(Object.entries(values).map(([key, value]) => namesOf(key, value)), [
    "exit code 1, exit code 2, exit code 0 without output, output that ends after its first line, " +
    "command that is killed, command that hangs, command that is missing",
    "host that does not reply, pings of which half get lost, " +
    "exit code 0 without output, command that is killed, command that hangs, command that is missing",
    "name that does not exist, name server that fails, name server that is silent, another record",
    "missing file, unreadable file, file system that hangs, file that is no longer written",
    "full file system, file system that hangs",
    "no memory left",
    "run of the job that fails, job that does not run any more, run of the job that does not end",
    "certificate that expired, certificate for another name, certificate that expires tomorrow",
  ]);
  const records = ["192.0.2.1"];
  const [, tape] = allOf("lookup A example.org.", { records }).at(-1)?.tapes[0] ?? assert.fail();
  const [{ outcome } = assert.fail()] = tape.calls;
  assert.notDeepEqual(
    "value" in outcome && outcome.value,
    { records },
    "another record is none of the answer",
  );
});
