import assert from "node:assert/strict";
import { World } from "../../testing/simulation/mod.ts";

const ZONE = "Europe/Zurich";
const CRITICAL = { condition: "critical", output: "no space", durationMs: null } as const;

/** A service that is killed during a problem; returns the trace and the messages. */
async function liveThrough(
  seed: number,
): Promise<{ readonly trace: string; readonly posts: readonly string[] }> {
  const world = await World.create({ seed, start: "2026-03-02T21:55", zone: ZONE });
  const posts: string[] = [];
  world.network.add("chat.example.org", {
    respond: ({ body = "" }) => {
      const [{ event, check }] = JSON.parse(body).notifications;
      posts.push(`${event} ${check}`);
      return { status: 200 };
    },
  });
  const machine = world.machine();
  machine.files.put(
    "/etc/monitor/monitor.jsonc",
    JSON.stringify({
      defaults: { threshold: 2, notifications: ["chat"] },
      channels: { chat: { kind: "webhook", parameters: { target: "http://chat.example.org/" } } },
      checks: { web: { kind: "script", parameters: { path: "/bin/probe" } } },
    }),
  );
  machine.start("check", "--format", "ndjson");
  await world.advance(600_000);
  world.outcomes.set("web", CRITICAL);
  await world.advance(600_000);
  machine.service?.signal("SIGKILL");
  machine.start("check", "--format", "ndjson");
  await world.advance(60_000);
  world.outcomes.delete("web");
  await world.advance(600_000);
  const { code } = await machine.run("status");
  assert.equal(code, 0);
  world.end();
  return { trace: world.trace.text({ zone: ZONE }), posts };
}

Deno.test("a world has the same trace for the same seed, and another one for another", async () => {
  const first = await liveThrough(1);
  assert.deepEqual(await liveThrough(1), first);
  assert.notEqual((await liveThrough(2)).trace, first.trace);
  assert.deepEqual(first.posts, ["problem web", "recovery web"]);
});

Deno.test("what a killed process leaves behind fails no test, though nothing catches it", async () => {
  const world = await World.create({ start: "2026-03-02T21:55" });
  const program = world.machine().start("version");
  program.kill();
  const asked = new Promise((resolve) => setTimeout(resolve, 0));
  void Promise.reject(thrownBy(() => program.step("too late")));
  // The runtime finds what nothing catches between two macrotasks.
  await asked;
  world.end();
});

function thrownBy(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
