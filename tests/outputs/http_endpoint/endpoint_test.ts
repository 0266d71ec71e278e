import assert from "node:assert/strict";
import { Endpoint } from "../../../src/outputs/http_endpoint/endpoint.ts";
import { openStateRepository } from "../../../src/state/state_repository.ts";
import { load, withCheck } from "../../../testing/config_system.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/in_memory_store.ts";

/** Starts an endpoint with one check. */
async function withEndpoint(
  use: (origin: string, scheduler: { isAdvancing: boolean }) => Promise<void>,
): Promise<void> {
  const scheduler = { isAdvancing: true };
  const ports: number[] = [];
  const system = createMemorySystem();
  const ignore = (): void => {};
  const listen = { address: "127.0.0.1:0", intervalMs: 10_000 };
  const endpoint = await Endpoint.start({
    config: await load(withCheck({ kind: "test", parameters: {} })),
    listen,
  }, {
    system: {
      ...system,
      httpServers: {
        listen: async (address, handler) => {
          const server = await system.httpServers.listen(address, handler);
          ports.push(server.port);
          return server;
        },
      },
    },
    log: { debug: ignore, info: ignore, warning: ignore, error: ignore, notification: ignore },
    repository: await openStateRepository({
      store: await openInMemoryStore(),
      onFailure: ignore,
      reopen: () => openInMemoryStore(),
      newId: () => crypto.randomUUID(),
      hostName: "test-host",
    }),
    hasState: false,
    scheduler,
    metrics: { render: () => Promise.resolve("") },
    select: (checks) => checks,
    isWhole: true,
    listenOf: () => listen,
    onBug: ignore,
  });
  try {
    await use(`http://127.0.0.1:${ports[0]}`, scheduler);
  } finally {
    await endpoint.close();
  }
}

Deno.test("GET /healthz is 503 while runs are late", () =>
  withEndpoint(async (origin, scheduler) => {
    const health = async (): Promise<string> => {
      const response = await fetch(`${origin}/healthz`);
      return `${response.status} ${await response.text()}`;
    };
    assert.equal(await health(), "200 ok\n");
    scheduler.isAdvancing = false;
    assert.equal(await health(), "503 runs are late: the scheduler makes no progress\n");
  }));

Deno.test("a browser that has the present text receives none, and one with another receives it", () =>
  withEndpoint(async (origin) => {
    const ask = async (tag: string): Promise<readonly [status: number, etag: string]> => {
      const response = await fetch(`${origin}/live.js`, { headers: { "if-none-match": tag } });
      await response.body?.cancel();
      return [response.status, response.headers.get("etag") ?? ""];
    };
    const [status, etag] = await ask('"another"');
    assert.equal(status, 200);
    assert.deepEqual(await ask(`"another", W/${etag}`), [304, etag]);
  }));
