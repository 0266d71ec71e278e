import assert from "node:assert/strict";
import { Endpoint } from "../../../src/outputs/http_endpoint/endpoint.ts";
import { takeAction } from "../../../src/outputs/http_endpoint/page_actions.ts";
import { newRecord } from "../../../src/state/record_cache.ts";
import { openStateRepository } from "../../../src/state/state_repository.ts";
import { load, withCheck } from "../../../testing/config_system.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/sqlite_store.ts";

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
