import assert from "node:assert/strict";
import { sendHeartbeat } from "../../src/outputs/heartbeat_sender.ts";
import { inTime } from "../life/in_time.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { response, startAnswering, startRefusing, startServer } from "../support/http_servers.ts";
import { createMemorySystem } from "../../testing/memory_system.ts";

const INTERVAL = { intervalMs: 60_000 };

Deno.test("beat() touches a file, and creates it", async () => {
  await withDirectory(async (directory) => {
    const path = `${directory}/alive`;
    assert.equal(await sendHeartbeat({ ...INTERVAL, path }, createMemorySystem()), null);
    await Deno.utime(path, 0, 0);
    assert.equal(await sendHeartbeat({ ...INTERVAL, path }, createMemorySystem()), null);
    assert.ok(((await Deno.stat(path)).mtime?.getTime() ?? 0) > 0);
  });
});

Deno.test("beat() returns the reason why a file cannot be touched", async (t) => {
  await withDirectory(async (directory) => {
    await Deno.writeTextFile(`${directory}/file`, "");
    const rows: Readonly<Record<string, readonly [path: string, reason: string]>> = {
      "its directory is missing": [`${directory}/none/alive`, "its directory does not exist"],
      "its directory is a file": [
        `${directory}/file/alive`,
        "its path leads through something that is not a directory",
      ],
      "it is a directory": [directory, "it is a directory"],
    };
    for (const [name, [path, reason]] of Object.entries(rows)) {
      await t.step(name, async () => {
        assert.equal(
          await sendHeartbeat({ ...INTERVAL, path }, createMemorySystem()),
          `cannot touch "${path}": ${reason}`,
        );
      });
    }
  });
});

Deno.test("beat() requests a URL", async () => {
  await using server = startAnswering(response(204));
  const target = `${server.origin}/ping/secret?key=secret`;
  assert.equal(await sendHeartbeat({ ...INTERVAL, target }, createMemorySystem()), null);
  assert.match(server.heads[0] ?? "", /^GET \/ping\/secret\?key=secret HTTP\/1\.1\r\n/);
  await server.untilLeft();
});

Deno.test("beat() returns a status other than success, with the host alone", async (t) => {
  const rows: Readonly<Record<string, readonly [status: number, isFine: boolean]>> = {
    "200": [200, true],
    "a redirect, which is not followed": [302, true],
    "404": [404, false],
    "503": [503, false],
  };
  for (const [name, [status, isFine]] of Object.entries(rows)) {
    await t.step(name, async () => {
      await using server = startAnswering(response(status));
      const target = `${server.origin}/secret?key=secret`;
      assert.equal(
        await sendHeartbeat({ ...INTERVAL, target }, createMemorySystem()),
        isFine ? null : `heartbeat failed: 127.0.0.1:${server.port} returned status ${status}`,
      );
    });
  }
});

Deno.test("beat() returns a refused connection, with the host alone", async () => {
  using refusing = await startRefusing();
  const { port } = refusing;
  const target = `http://me:secret@127.0.0.1:${port}/secret?key=secret`;
  assert.equal(
    await sendHeartbeat({ ...INTERVAL, target }, createMemorySystem()),
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
  const beating = sendHeartbeat({ ...INTERVAL, target }, { ...createMemorySystem(), clock });
  await inTime("the heartbeat", visited.promise);
  await clock.advance(10_000);
  assert.equal(await beating, `heartbeat failed: no response from 127.0.0.1:${server.port} within 10 s`);
  assert.equal(clock.timers, 0);
});

Deno.test("beat() sends both heartbeats, and returns both failures", async () => {
  await withDirectory(async (directory) => {
    await using server = startAnswering(response(500));
    const target = server.origin;
    const failure = `heartbeat failed: 127.0.0.1:${server.port} returned status 500`;
    assert.equal(
      await sendHeartbeat({ ...INTERVAL, path: `${directory}/alive`, target }, createMemorySystem()),
      failure,
    );
    assert.ok((await Deno.stat(`${directory}/alive`)).isFile);
    assert.equal(
      await sendHeartbeat({ ...INTERVAL, path: `${directory}/none/alive`, target }, createMemorySystem()),
      `cannot touch "${directory}/none/alive": its directory does not exist; ${failure}`,
    );
  });
});

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_heartbeat_" });
  try {
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
