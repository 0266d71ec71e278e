import assert from "node:assert/strict";
import { run } from "../../../src/cli/run.ts";
import { tempDirectory } from "../../../testing/builders.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { withState } from "../../state/state_directory.ts";

Deno.test("monitor prove runs a job and a check of the network together", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("welcome"),
  );
  const target = `http://127.0.0.1:${server.addr.port}/`;
  const config = {
    defaults: {},
    checks: {
      job: { kind: "job", parameters: { expected_every: "1 day" } },
      web: { kind: "http_request", parameters: { request: { target }, response: { status_code: 200 } } },
    },
  };
  await using directory = await tempDirectory({ "monitor.json": JSON.stringify(config) });
  const workingDirectory = directory.path;
  await withState(`${workingDirectory}/kept.sqlite`, () => Promise.resolve());
  const system = createMemorySystem({ workingDirectory });
  const code = await run(["prove", "-c", "monitor.json", "--state", "kept.sqlite"], system);
  assert.match(system.stdout.text(), /^job: nothing is proven.*\n\nweb: would notice \d+ of \d+ faults/);
  assert.deepEqual([code, system.stderr.text()], [1, ""]);
});
