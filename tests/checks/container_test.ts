/** Responses are as the API of Docker 28 and Podman 5 has them, reduced to the fields that the check reads. */
import assert from "node:assert/strict";
import { containerKind } from "../../src/checks/container.ts";
import type { CheckOf } from "../../src/domain/check.ts";
import type { ContainerParameters } from "../../src/domain/generated/config.ts";
import { createRequests } from "../../src/system/http/requests.ts";
import { checkOf, contextOf, tempDirectory } from "../../testing/builders.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";
import { createRealClock } from "../../testing/real_clock.ts";
import { bridge, response, startServer, type Visitor } from "../support/http_servers.ts";
import { problemTexts } from "../support/observe_check.ts";
import { fieldsOf, type Rows, testRows, testTable } from "../support/rows.ts";

const NOW_MS = Date.UTC(2026, 5, 1, 12);
const NEVER = "0001-01-01T00:00:00Z";

function containerCheck(parameters: Partial<ContainerParameters>, timeoutMs = 60_000): CheckOf<"container"> {
  const defaults = { name: "web", socket: "/none", restarts: {} };
  return checkOf("container", { ...defaults, ...parameters }, { name: "container", timeoutMs });
}

async function observe(check: CheckOf<"container">, nowMs = NOW_MS) {
  const real = createRealClock();
  const system = {
    ...createMemorySystem(),
    clock: { ...real, wallMs: () => nowMs },
    requests: createRequests({ clock: real }),
  };
  return await containerKind.observe(check, contextOf({ system, signal: new AbortController().signal }));
}

async function seenOf(
  answer: (visitor: Visitor) => Promise<void>,
  parameters: Partial<ContainerParameters> = {},
  timeoutMs?: number,
  nowMs?: number,
): Promise<string> {
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    await answer(visitor);
  });
  const { condition, output } = await observe(
    containerCheck({ target: `${server.origin}/`, ...parameters }, timeoutMs),
    nowMs,
  );
  return `${condition}: ${output}`.replaceAll(String(server.port), "PORT");
}

function answering(container: unknown, status = 200): (visitor: Visitor) => Promise<void> {
  return (visitor) =>
    visitor.send(response(status, { "Content-Type": "application/json" }, JSON.stringify(container)));
}

const RUNNING = {
  Status: "running",
  ExitCode: 0,
  OOMKilled: false,
  Error: "",
  StartedAt: "2026-06-01T09:30:00.123456789Z",
  FinishedAt: NEVER,
};
const of = (State: object, RestartCount = 0) =>
  answering({ Name: "/web", RestartCount, State: { ...RUNNING, ...State } });
const healthLog = (Output: string) => [{ ExitCode: 0, Output: "ok" }, { ExitCode: 1, Output }];

const STATES = `
  of Podman, without a health check | Health.Status=""      | ok: web is running for 2 h 29 min
  of another health            | Health.Status=7            | unknown: web is of unknown health
  of a health without a status | Health=bad                 | unknown: web is of unknown health
  without a health             | Health=null                | ok: web is running for 2 h 29 min
  not started                  | Status=created ExitCode=127 Error="exec: no such file" | \\
    critical: web is created (exec: no such file)
  restarting again and again   | Status=restarting ExitCode=1 FinishedAt=2026-06-01T11:57:00Z restarts=12 | \\
    critical: web is restarting (exit code 1, 3 min ago); restarts 12
  restarted often              | restarts=3 warningAbove=2  | \\
    warning: web is running for 2 h 29 min; restarts 3, warning above 2
  restarted not often          | restarts=2 warningAbove=2  | ok: web is running for 2 h 29 min; restarts 2`;

const ANSWERS: Rows<[body: unknown, status: number, seen: string]> = {
  "without a count of restarts": [
    { State: RUNNING },
    200,
    "unknown: web is running for 2 h 29 min; its restarts are not counted",
  ],
  "of no state": [{ State: [] }, 200, "unknown: 127.0.0.1:PORT returned no state of web"],
  "no object": [null, 200, "unknown: 127.0.0.1:PORT returned no state of web"],
  "behind a proxy that forbids it": [
    { message: "Forbidden" },
    403,
    "unknown: 127.0.0.1:PORT returned status 403, allow GET of /containers: Forbidden",
  ],
  "of a failing daemon": [[], 500, "unknown: 127.0.0.1:PORT returned status 500"],
};

Deno.test("observeContainer() tells the state, the health and the restarts of a container", async (t) => {
  await testTable(t, STATES, async (_, fields, seen) => {
    const { restarts, warningAbove, ...state } = fieldsOf<{ restarts?: number; warningAbove?: number }>(
      fields,
    );
    const parameters = warningAbove === undefined ? {} : { restarts: { warningAbove } };
    assert.equal(await seenOf(of(state, restarts), parameters), seen);
  });
  await testRows(t, ANSWERS, async ([body, status, seen]) => {
    assert.equal(await seenOf(answering(body, status), { restarts: { warningAbove: 2 } }), seen);
  });
  assert.equal(
    await seenOf((visitor) => visitor.untilGone(), {}, 50),
    "unknown: no response from 127.0.0.1:PORT within 0.05 s",
  );
});

/** As Docker Engine 20.10.24 responded to `GET /containers/NAME/json`, without what describes its machine. */
const RECORDED: Readonly<Record<string, object>> = JSON.parse(
  await Deno.readTextFile(new URL("testdata/docker_containers.json", import.meta.url)),
);

Deno.test("observeContainer() reads what Docker responds", async (t) => {
  const rows = {
    web: "ok: web is running for 1 min 11 s",
    healthy: "ok: healthy is healthy, running for 55 s",
    starting: "unknown: starting is starting for 53 s, its health is not known yet",
    unhealthy: "critical: unhealthy is unhealthy: queue is full",
    exited: "critical: exited is exited (exit code 3, 52 s ago)",
    restarting: "critical: restarting is restarting (exit code 4, 38 s ago); restarts 7",
    killed: "critical: killed is exited (exit code 137, killed for lack of memory, 49 s ago)",
    paused: "critical: paused is paused",
    created: "critical: created is created",
    missing: 'critical: there is no container "missing"',
  } as const;
  assert.deepEqual(Object.keys(rows).sort(), Object.keys(RECORDED).sort());
  await testRows(t, rows, async (seen, name) => {
    const answer = answering(RECORDED[name], name === "missing" ? 404 : 200);
    assert.equal(await seenOf(answer, { name }, 60_000, Date.UTC(2026, 10, 27, 3, 34)), seen);
  });
});

Deno.test("observeContainer() asks the socket for one container, and for nothing else", async () => {
  await using temporary = await tempDirectory();
  const socket = `${temporary.path}/docker.sock`;
  const absent = await observe(containerCheck({ socket }));
  assert.equal(absent.condition, "unknown");
  assert.match(absent.output, /docker\.sock/);
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    await of({ Health: { Status: "unhealthy", Log: healthLog("line 1\nline 2") } })(visitor);
  });
  await using _bridge = bridge(socket, server.port);
  const { output, detail } = await observe(containerCheck({ socket }));
  assert.equal(output, "web is unhealthy: line 1 line 2");
  assert.equal(detail, "line 1\nline 2");
  assert.equal(server.heads.length, 1);
  assert.match(server.heads[0] ?? "", /^GET \/containers\/web\/json HTTP\/1\.1\r\n/);
});

Deno.test("container accepts names of containers only, and requires the socket or the proxy", async () => {
  const errors = (name: string) => problemTexts(containerKind.errors?.(containerCheck({ name })));
  assert.deepEqual([errors("shop-web-1"), errors("4c01db0b339c")], [[], []]);
  const expected = "expected the name or the id of a container: letters, digits, _, . and -";
  for (const name of ["../images", "a/b", "", "a?b", "-x"]) {
    assert.deepEqual(errors(name), [`name: is "${name}", ${expected}`]);
  }
  const required = (parameters: Partial<ContainerParameters>) =>
    containerKind.requiredPermissions(containerCheck(parameters), createMemorySystem());
  assert.deepEqual(await required({ socket: "/run/docker.sock" }), {
    read: ["/run/docker.sock"],
    write: ["/run/docker.sock"],
  });
  assert.deepEqual((await required({ target: "http://127.0.0.1:2375" })).net, ["127.0.0.1:2375"]);
});
