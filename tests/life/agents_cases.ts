/** A monitor that reports to another one, as a real process. */
import assert from "node:assert/strict";
import { concurrentTests, provided } from "../support/concurrent_tests.ts";
import { type Harness, withHarness } from "./program.ts";

const test = provided(withHarness, concurrentTests("monitor check: agents"));

const KEY = "0123456789abcdef";

async function runsOf(harness: Harness): Promise<number> {
  const { stdout } = await harness.runHere(["history", "web", "--format", "json"]);
  const { spans } = JSON.parse(stdout) as { spans: Readonly<Record<string, { runs: number }>> };
  return Math.max(...Object.values(spans).map(({ runs }) => runs));
}

test("each run of an agent that is killed is recorded once at the hub", (hub) =>
  withHarness(async (agent) => {
    hub.writeConfig({ web: { kind: "reported", parameters: {} } }, {
      listen: { address: "127.0.0.1:0" },
      agents: { nas: { key: KEY, checks: ["web"] } },
    });
    const receiver = hub.startHere(["check", "--format", "ndjson"]);
    const target = /http:\/\/[\d.]+:\d+/.exec(await receiver.stderr.next("listening on http://"))?.[0];
    const result = () => receiver.stdout.event("result", ({ name }) => name === "web");
    agent.writeConfig({
      web: { kind: "test", parameters: { condition: "warning", output: "from the agent" } },
    }, { report_to: { target, key: KEY, interval: 1 } });
    Deno.chmodSync(`${agent.directory}/monitor.json`, 0o600);
    const killed = agent.start(["check"]);
    for (let count = 0; count < 3; count++) {
      assert.equal((await result())["output"], "from the agent");
    }
    killed.signal("SIGKILL");
    await killed.ended;
    const next = agent.startHere(["check"]);
    for (let count = 0; count < 3; count++) await result();
    next.signal("SIGTERM");
    assert.equal((await next.end()).code, 0);
    const { code, stderr } = await agent.runHere(["check", "--once"]);
    assert.deepEqual([code, stderr], [1, ""]);
    assert.equal(await runsOf(hub), await runsOf(agent));
    receiver.signal("SIGTERM");
    assert.equal((await receiver.end()).code, 0);
  }));
