import assert from "node:assert/strict";
import { Endpoint } from "../../../src/outputs/http_endpoint/endpoint.ts";
import { takeAction } from "../../../src/outputs/http_endpoint/page_actions.ts";
import { newRecord } from "../../../src/state/record_cache.ts";
import { openStateRepository } from "../../../src/state/state_repository.ts";
import { load, withCheck } from "../../../testing/config_system.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/sqlite_store.ts";
import { renderFeed } from "../../../src/outputs/http_endpoint/views.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { testCheck } from "../../support/checks.ts";
import { changeOf, recordOf, updateOf } from "../../state/records.ts";
import { accessOf, handleCheckIn } from "../../../src/outputs/http_endpoint/check_ins.ts";

Deno.test("a check that an agent reports does not run on request", async () => {
  const store = await openInMemoryStore();
  const requested: string[] = [];
  const { message } = await takeAction(new URLSearchParams("do=run"), {
    check: { name: "db", agent: "nas" },
    by: "ada",
    store,
    system: createMemorySystem(),
    timeZone: "UTC",
    recordOf: (name) => newRecord(name, 0),
    request: (name) => requested.push(name),
  });
  assert.deepEqual([message.text, requested], ['Nothing was done: agent "nas" runs the check.', []]);
});

Deno.test(
  "GET /healthz is 503 while runs are late; all else names the member that served it, but not to the public",
  async () => {
    const scheduler = { isAdvancing: true, request: () => {} };
    const ports: number[] = [];
    const system = createMemorySystem();
    const ignore = (): void => {};
    const listen = { address: "127.0.0.1:0", actions: false, intervalMs: 10_000 };
    const httpServers: typeof system.httpServers = {
      listen: async (address, handler) => {
        const server = await system.httpServers.listen(address, handler);
        ports.push(server.port);
        return server;
      },
    };
    // The pause after what is rendered last would outlive the test.
    const clock: typeof system.clock = {
      ...system.clock,
      after: (_delayMs, callback) => {
        queueMicrotask(callback);
        return () => {};
      },
    };
    const endpoint = await Endpoint.start({
      config: await load(withCheck({ kind: "test", parameters: {} })),
      listen,
    }, {
      system: { ...system, clock, httpServers },
      log: { debug: ignore, info: ignore, warning: ignore, error: ignore, notification: ignore },
      repository: await openStateRepository({
        store: await openInMemoryStore(),
        onFailure: ignore,
        reopen: () => openInMemoryStore(),
      }),
      member: { isOpen: false },
      servedBy: "fra-1",
      hasState: false,
      scheduler,
      reports: null,
      metrics: { render: () => Promise.resolve("") },
      select: (checks) => checks,
      isWhole: true,
      listenOf: () => listen,
      onBug: ignore,
    });
    const health = async (): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${ports[0]}/healthz`);
      return `${response.status} ${await response.text()}`;
    };
    assert.equal(await health(), "200 ok\n");
    scheduler.isAdvancing = false;
    assert.equal(await health(), "503 runs are late: the scheduler makes no progress\n");
    const served = async (path: string): Promise<unknown> => {
      const response = await fetch(`http://127.0.0.1:${ports[0]}${path}`);
      const isSaid = (await response.text()).includes("Served by member fra-1.");
      return [response.status, response.headers.get("x-served-by"), isSaid];
    };
    assert.deepEqual(await served("/"), [200, "fra-1", true]);
    assert.deepEqual(await served("/api/v1/checks/web"), [200, "fra-1", false]);
    const config = await load(withCheck({ kind: "test", parameters: {} }));
    await endpoint.adopt({ config, listen: { ...listen, token: "other", public: ["shop"] } });
    assert.deepEqual(await served("/"), [200, null, false]);
    await endpoint.end();
  },
);

const OPTIONS = {
  checks: [testCheck("ok")],
  recordOf,
  title: null,
  hostName: "",
  hasOutputs: true,
  clock: createFakeClock(),
};

async function headOf(title: string | null, hostName: string): Promise<string> {
  const feed = await renderFeed({ ...OPTIONS, store: await openInMemoryStore(), title, hostName });
  return feed.toString().replace(/<updated>[^]*/, "");
}

Deno.test("renderFeed() has the title of the config, else names the host", async () => {
  assert.match(await headOf("Status of <example>", "host"), /<title>Status of &lt;example&gt;<\/title>/);
  assert.match(await headOf(null, "host"), /<title>monitor on host<\/title>/);
  assert.match(await headOf(null, ""), /<title>monitor<\/title>/);
  const idOf = (head: string): string => head.slice(head.indexOf("<id>"), head.indexOf("<title>"));
  assert.equal(idOf(await headOf("Status", "host")), idOf(await headOf(null, "host")), "the id stays");
});

Deno.test("renderFeed() asks the store once for the 50 latest changes, whatever the number of checks", async () => {
  const store = await openInMemoryStore();
  const checks = Array.from({ length: 300 }, (_, index) => testCheck("ok", { name: `check ${index}` }));
  const records = new Map(checks.map(({ name }, index) => {
    const record = recordOf(name);
    const never = { pending: null, unknown: null, warning: null, critical: null };
    const leftAtMs = { ...never, ok: index === 0 ? null : index * 1000 };
    return [name, { ...record, condition: { ...record.condition, leftAtMs } }];
  }));
  // The last check has changed before, too.
  const times = [
    ...checks.slice(1).map(({ name }, index) => [name, (index + 1) * 1000] as const),
    ["check 299", 290_500] as const,
  ];
  await store.save(times.map(([name, atMs]) => updateOf(name, { change: changeOf(name, atMs) })));
  const asked: (readonly string[])[] = [];
  const feed = await renderFeed({
    ...OPTIONS,
    store: {
      latestChanges: (names, limit) => {
        asked.push(names);
        return store.latestChanges(names, limit);
      },
    },
    checks,
    recordOf: (name) => records.get(name) ?? recordOf(name),
  });
  assert.deepEqual(asked.map(({ length }) => length), [50]);
  const found = [...feed.toString().matchAll(/<title>(check \d+):/g)].map(([, name]) => name);
  const expected = times.toSorted(([, one], [, other]) => other - one).slice(0, 50).map(([name]) => name);
  assert.deepEqual(found, expected);
});

const TOKEN = "a-token-of-20-letters";

function accessWith(
  headers: Readonly<Record<string, string>>,
  settings: { readonly token?: string; readonly public?: readonly string[] },
): string | number {
  const request = {
    method: "GET",
    target: "/",
    address: "192.0.2.1",
    header: (name: string) => headers[name] ?? null,
    readTail: () => Promise.resolve(new Uint8Array()),
  };
  const access = accessOf(request, settings);
  return typeof access === "string" ? access : access.status;
}

Deno.test("accessOf() without a token accepts only this machine's own names", () => {
  const rows: Readonly<Record<string, string | number>> = {
    "localhost": "full",
    "LOCALHOST:9797": "full",
    "127.0.0.1:9797": "full",
    "127.1.2.3": "full",
    "[::1]:9797": "full",
    "app.localhost": "full",
    "evil.example": 421,
    "127.0.0.1.evil.example": 421,
    "localhost.evil.example": 421,
    "evillocalhost": 421,
    "192.0.2.1": 421,
    "0.0.0.0": 421,
    "evil.example@127.0.0.1": 421,
    "127.0.0.1@evil.example": 421,
    "127.0.0.1, evil.example": 421,
    "": 421,
  };
  for (const [host, access] of Object.entries(rows)) assert.equal(accessWith({ host }, {}), access, host);
  assert.equal(accessWith({}, {}), "full", "HTTP/1.0 has no host");
});

Deno.test("accessOf() compares the token of both schemes, and shows public checks without one", () => {
  const basic = (login: string): string => `Basic ${btoa(login)}`;
  const rows:
    readonly (readonly [authorization: string | null, isPublic: boolean, access: string | number])[] = [
      [`Bearer ${TOKEN}`, false, "full"],
      [`bearer ${TOKEN}`, true, "full"],
      [basic(`user:${TOKEN}`), false, "full"],
      [basic(`:${TOKEN}`), true, "full"],
      [basic(`${TOKEN}:`), false, 401],
      [basic(TOKEN), false, "full"],
      [`Bearer ${TOKEN}${TOKEN}`, true, 401],
      [`Bearer ${TOKEN.slice(1)}`, true, 401],
      [`Digest ${TOKEN}`, false, 401],
      [null, false, 401],
      [null, true, "public"],
    ];
  for (const [authorization, isPublic, access] of rows) {
    const headers = { host: "evil.example", ...authorization !== null && { authorization } };
    const settings = { token: TOKEN, ...isPublic && { public: ["web"] } };
    assert.equal(accessWith(headers, settings), access, `${authorization} ${isPublic}`);
  }
  assert.equal(accessWith({ host: "evil.example" }, { public: ["web"] }), "public");
});

const NOW_MS = Date.UTC(2026, 2, 2);
const KEY = "a-key-of-a-job";
const OTHER_KEY = "a-key-of-another";

async function createJob() {
  const store = await openInMemoryStore();
  let ids = 0;
  const options = {
    system: { ...createMemorySystem(), clock: createFakeClock(NOW_MS), randomId: () => `${++ids}` },
    log: { warning: assert.fail },
    store,
    targets: [{ name: "backup", key: KEY }, { name: "other", key: OTHER_KEY }],
    redact: (text: string) => text,
    onEnded: () => {},
  };
  return {
    send: async (path: string, method = "POST"): Promise<number> => {
      const target = `/ping/${path}`;
      const request = {
        method,
        target,
        address: "192.0.2.1",
        header: () => null,
        readTail: () => Promise.resolve(new Uint8Array()),
      };
      const words = target.split("?")[0]?.split("/").slice(2) ?? [];
      return (await handleCheckIn(request, words, options)).status;
    },
    job: (name = "backup") => store.job(name, options.system.clock.wallMs()),
  };
}

Deno.test("handleCheckIn() ends the run that began last, or the one of its run id", async () => {
  const { send, job } = await createJob();
  for (const path of [`${KEY}/start`, `${KEY}/start?rid=own`, `${KEY}/start`]) {
    assert.equal(await send(path), 200);
  }
  assert.equal(await send(`${KEY}/0?rid=own`), 200);
  assert.equal((await job()).last?.id, "ping-own/2");
  const { send: sendAgain, job: jobAgain } = await createJob();
  for (const path of [`${KEY}/start`, `${KEY}/start`, KEY]) assert.equal(await sendAgain(path), 200);
  assert.equal((await jobAgain()).last?.id, "ping-2");
});

Deno.test("handleCheckIn() keeps the runs of jobs with the same run id apart", async () => {
  const { send, job } = await createJob();
  for (const path of [`${KEY}/start`, `${KEY}/7`, `${OTHER_KEY}/start`, `${OTHER_KEY}/0`]) {
    assert.equal(await send(`${path}?rid=1`), 200);
  }
  assert.equal((await job()).last?.end.exitCode, 7);
  assert.equal((await job("other")).last?.end.exitCode, 0);
});

Deno.test("handleCheckIn() begins another run with the run id of one that ended, and one for a start sent twice", async () => {
  const { send, job } = await createJob();
  for (const path of [`${KEY}/start`, KEY, `${KEY}/start`, `${KEY}/start`]) {
    assert.equal(await send(`${path}?rid=host`), 200);
  }
  assert.equal((await job()).inProgress.length, 1);
  assert.equal((await job()).last?.end.durationMs, 0);
});

Deno.test("handleCheckIn() records requests of any method that Healthchecks accepts", async () => {
  for (const method of ["GET", "HEAD", "POST"]) {
    const { send, job } = await createJob();
    assert.equal(await send(`${KEY}/start`, method), 200);
    assert.equal((await job()).inProgress.length, 1, method);
    assert.equal(await send(`${KEY}/3`, method), 200);
    assert.equal((await job()).last?.end.exitCode, 3, method);
  }
});

Deno.test("handleCheckIn() records nothing of a log or a malformed check-in", async () => {
  const { send, job } = await createJob();
  const rows: readonly (readonly [path: string, status: number, method?: string])[] = [
    [KEY, 405, "PUT"],
    [`${KEY}s`, 404],
    [`${KEY}/256`, 404],
    [`${KEY}/0/1`, 404],
    [`${KEY}/log`, 200],
    [`${KEY}?rid=a%20b`, 400],
  ];
  for (const [path, status, method] of rows) assert.equal(await send(path, method), status, path);
  assert.deepEqual([(await job()).last, (await job()).inProgress], [null, []]);
});
