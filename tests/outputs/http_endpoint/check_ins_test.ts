import assert from "node:assert/strict";
import { handleCheckIn } from "../../../src/outputs/http_endpoint/check_ins.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { openInMemoryStore } from "../../../src/state/sqlite/sqlite_store.ts";

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
