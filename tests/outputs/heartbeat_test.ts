import assert from "node:assert/strict";
import { sendHeartbeat, startHeartbeat } from "../../src/outputs/heartbeat.ts";
import type { Heartbeat } from "../../src/domain/generated/config.ts";
import { inTime } from "../life/in_time.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { response, startAnswering, startRefusing, startServer } from "../support/http_servers.ts";
import { tempDirectory } from "../../testing/builders.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

/** The reason why the heartbeat failed, or `null`. */
const beat = (settings: Partial<Heartbeat>): Promise<string | null> =>
  sendHeartbeat({ intervalMs: 60_000, method: "GET", ...settings }, createMemorySystem());

Deno.test("beat() touches a file, and creates it", async () => {
  await using directory = await tempDirectory();
  const path = `${directory.path}/alive`;
  assert.equal(await beat({ path }), null);
  await Deno.utime(path, 0, 0);
  assert.equal(await beat({ path }), null);
  assert.ok(((await Deno.stat(path)).mtime?.getTime() ?? 0) > 0);
});

Deno.test("beat() requests a URL, and returns a status other than success with the host alone", async () => {
  for (const [status, isFine] of [[204, true], [302, true], [404, false], [503, false]] as const) {
    await using server = startAnswering(response(status));
    assert.equal(
      await beat({ target: `${server.origin}/ping/secret?key=secret` }),
      isFine ? null : `heartbeat failed: 127.0.0.1:${server.port} returned status ${status}`,
    );
    assert.match(server.heads[0] ?? "", /^GET \/ping\/secret\?key=secret HTTP\/1\.1\r\n/);
    await server.untilLeft();
  }
});

Deno.test("beat() uses the method of the config", async () => {
  for (const method of ["HEAD", "POST"] as const) {
    await using server = startAnswering(response(200));
    assert.equal(await beat({ target: `${server.origin}/ping/key`, method }), null);
    assert.match(server.heads[0] ?? "", new RegExp(`^${method} /ping/key HTTP`));
    await server.untilLeft();
  }
});

Deno.test("beat() returns a refused connection, with the host alone", async () => {
  using refusing = await startRefusing();
  const { port } = refusing;
  assert.equal(
    await beat({ target: `http://me:secret@127.0.0.1:${port}/secret?key=secret` }),
    `heartbeat failed: connecting to 127.0.0.1:${port} failed: connection refused`,
  );
});

Deno.test("beat() aborts if a server does not respond", async () => {
  const clock = createFakeClock();
  const visited = Promise.withResolvers<void>();
  await using server = startServer(async (visitor) => {
    await visitor.readHead();
    visited.resolve();
    await visitor.untilGone();
  });
  const target = `${server.origin}/secret`;
  const beating = sendHeartbeat({ intervalMs: 60_000, method: "GET", target }, {
    ...createMemorySystem(),
    clock,
  });
  await inTime("the heartbeat", visited.promise);
  await clock.advance(10_000);
  assert.equal(await beating, `heartbeat failed: no response from 127.0.0.1:${server.port} within 10 s`);
  assert.equal(clock.timers, 0);
});

Deno.test("beat() sends both heartbeats, and returns both failures", async () => {
  await using directory = await tempDirectory();
  await using server = startAnswering(response(500));
  const target = server.origin;
  const failure = `heartbeat failed: 127.0.0.1:${server.port} returned status 500`;
  assert.equal(await beat({ path: `${directory.path}/alive`, target }), failure);
  assert.ok((await Deno.stat(`${directory.path}/alive`)).isFile);
  const path = `${directory.path}/none/alive`;
  assert.equal(
    await beat({ path, target }),
    `cannot touch "${path}": its directory does not exist; ${failure}`,
  );
});

Deno.test("startHeartbeat() calls onBug with an unexpected error, from its timer and after a reload", async () => {
  const clock = createFakeClock();
  const bugs: unknown[] = [];
  let isBroken = false;
  const { fail } = assert;
  const system = createMemorySystem();
  const touch = (): Promise<void> => Promise.resolve();
  const config = {
    heartbeat: { intervalMs: 60_000, method: "GET" as const, path: "/alive" },
    redact: String,
  };
  const schedule = startHeartbeat({
    system: { ...system, clock, files: { ...system.files, touch } },
    log: { error: fail, warning: fail, info: fail, debug: fail, notification: fail },
    isWell: () => {
      if (isBroken) throw new TypeError("a bug");
      return true;
    },
    config,
    onBug: (error) => void bugs.push(error),
  });
  await clock.advance(0);
  isBroken = true;
  await clock.advance(60_000);
  assert.equal(bugs.length, 1);
  schedule.adopt(config);
  await clock.advance(0);
  assert.equal(bugs.length, 2);
  schedule.end();
  assert.equal(clock.timers, 0);
});
