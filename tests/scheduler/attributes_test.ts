import assert from "node:assert/strict";
import type { RunAttributes } from "../../src/domain/check.ts";
import type { Condition } from "../../src/domain/condition.ts";
import type { OutgoingRequest } from "../../src/domain/connections.ts";
import type { FileFacts } from "../../src/domain/system.ts";
import { AttributeObserver } from "../../src/scheduler/attributes.ts";
import { explainRequestError } from "../../src/system/network_failure.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

interface ObservedRun {
  readonly condition?: Condition;
  readonly unit?: string | null;
  readonly targets?: readonly string[];
  readonly connection?: OutgoingRequest["connection"];
}

/** Returns a function that observes runs of one check, each after the other, and the clock of all. */
function createWorld() {
  const clock = createFakeClock();
  const world = {
    peer: "192.0.2.7:80" as string | undefined,
    nameServer: "198.51.100.1",
    /** What look-ups find; `null`: they fail. */
    addresses: null as readonly string[] | null,
  };
  const memory = createMemorySystem();
  const system = {
    ...memory,
    clock,
    dns: {
      ...memory.dns,
      machineServers: () => Promise.resolve([{ host: world.nameServer, port: 53 }]),
    },
    connections: {
      ...memory.connections,
      resolve: () =>
        world.addresses === null
          ? Promise.reject(new Error("no response"))
          : Promise.resolve(world.addresses.map((address) => ({ address, family: 4, token: null }))),
      explain: () => ({ phase: "resolving", reason: "no response" }) as const,
    },
    requests: {
      send: () =>
        Promise.resolve({
          status: 200,
          ...world.peer !== undefined && { peer: world.peer },
          headers: () => new Headers(),
          header: () => null,
          read: () => Promise.resolve(null),
          close: () => Promise.resolve(),
        }),
      explain: explainRequestError,
    },
  };
  const observer = new AttributeObserver();
  const { signal } = new AbortController();
  let last: RunAttributes | undefined;
  const run = async (
    { targets = ["http://192.0.2.7/"], condition = "ok", unit = null, connection }: ObservedRun,
  ): Promise<RunAttributes | undefined> => {
    const observed = observer.start(system, system);
    for (const target of targets) {
      const request = { target, method: "GET", headers: {}, ...connection !== undefined && { connection } };
      await observed.system.requests.send(request, signal);
    }
    last = await observed.finish({ condition, host: null, shared: null, unit, units: [], last }, signal);
    return last;
  };
  return { clock, run, world };
}

const PLAIN = {};
const WORKED = ["address 192.0.2.7", "network 192.0.2.0/24", "port 192.0.2.7:80"];

Deno.test("a run that contacts the same server as the last one has its attributes, the same object", async () => {
  const { run } = createWorld();
  const first = await run(PLAIN);
  assert.deepEqual(first, { suspected: [], worked: WORKED });
  assert.equal(await run(PLAIN), first);
  assert.equal(await run(PLAIN), first);
});

Deno.test("the name servers of this machine are read again after five minutes", async () => {
  const { clock, run, world } = createWorld();
  const named = { targets: ["http://web.example.org/"] };
  const worked = ["resolver 198.51.100.1", "host web.example.org", ...WORKED];
  assert.deepEqual(await run(named), { suspected: [], worked });
  world.nameServer = "198.51.100.2";
  await clock.advance(299_000);
  assert.deepEqual(await run(named), { suspected: [], worked });
  await clock.advance(1_000);
  assert.deepEqual(await run(named), {
    suspected: [],
    worked: ["resolver 198.51.100.2", ...worked.slice(1)],
  });
});

Deno.test("what a look-up found is looked up again", async () => {
  const { run, world } = createWorld();
  const named = { targets: ["https://web.example.org/"] };
  const unresolved = ["resolver 198.51.100.1", "host web.example.org"];
  world.peer = undefined;
  assert.deepEqual(await run(named), { suspected: [], worked: unresolved });
  world.addresses = ["192.0.2.7"];
  const worked = [...unresolved, ...WORKED.slice(0, 2), "port 192.0.2.7:443"];
  assert.deepEqual(await run(named), { suspected: [], worked });
});

Deno.test("a run that differs in anything from the last one has its own attributes", async (t) => {
  const socket = { socket: "/run/app.socket" };
  const runs: Readonly<Record<string, [run: ObservedRun, expected: RunAttributes]>> = {
    "a failure": [{ condition: "critical" }, {
      suspected: ["port 192.0.2.7:80"],
      worked: ["address 192.0.2.7", "network 192.0.2.0/24"],
    }],
    "another port": [{ targets: ["http://192.0.2.7:81/"] }, {
      suspected: [],
      worked: [...WORKED.slice(0, 2), "port 192.0.2.7:81"],
    }],
    "a second server": [{ targets: ["http://192.0.2.7/", "http://192.0.2.9/"] }, {
      suspected: [],
      worked: [...WORKED, "address 192.0.2.9", "port 192.0.2.9:80"],
    }],
    "a unit": [{ unit: "app" }, { suspected: [], worked: ["unit app", ...WORKED] }],
    "a socket": [{ connection: socket }, { suspected: [], worked: ["port /run/app.socket"] }],
    "an address": [{ connection: { address: { address: "192.0.2.8", family: 4, token: null } } }, {
      suspected: [],
      worked: ["address 192.0.2.8", "network 192.0.2.0/24", "port 192.0.2.8:80"],
    }],
  };
  for (const [name, [other, expected]] of Object.entries(runs)) {
    await t.step(name, async () => {
      const { run } = createWorld();
      const first = await run(PLAIN);
      assert.deepEqual(await run(other), expected);
      const third = await run(PLAIN);
      assert.deepEqual(third, first);
    });
  }
});

Deno.test("an ok after a failure does not have the attributes of the failure", async () => {
  const { run } = createWorld();
  await run({ condition: "critical" });
  assert.deepEqual(await run(PLAIN), { suspected: [], worked: WORKED });
});

const DIRECTORY: FileFacts = {
  kind: "directory",
  sizeBytes: 0,
  modifiedAtMs: null,
  mode: null,
  ownerId: null,
  device: 7,
};

Deno.test("the device of a file system is read without a step that the run did not take", async () => {
  const memory = createMemorySystem();
  const looks: string[] = [];
  const filesFor = (who: string) => ({
    ...memory.files,
    stat: () => {
      looks.push(who);
      return Promise.resolve(DIRECTORY);
    },
  });
  const host = {
    ...memory.host,
    fileSystem: () => Promise.resolve({ totalBytes: 1, freeBytes: 1, inodes: null }),
  };
  const own = { ...memory, files: filesFor("monitor") };
  const observed = new AttributeObserver().start({ ...memory, files: filesFor("run"), host }, own);
  await observed.system.host.fileSystem("/");
  const ended = {
    condition: "ok",
    host: null,
    shared: null,
    unit: null,
    units: [],
    last: undefined,
  } as const;
  const attributes = await observed.finish(ended, new AbortController().signal);
  assert.deepEqual([attributes, looks], [{ suspected: [], worked: ["file system 7"] }, ["monitor"]]);
});
