import assert from "node:assert/strict";
import { ControlRuns } from "../../src/scheduler/location_runs.ts";
import { createFakeClock } from "../../testing/fake_clock.ts";
import { createFakeTargets } from "../../testing/fake_targets.ts";
import { requestCheck } from "../support/checks.ts";
import { createProgramSystem } from "../support/fake_commands.ts";

Deno.test("ControlRuns: checks that fail together share a run, unless it is aborted", async () => {
  const clock = createFakeClock();
  let requests = 0;
  const control = requestCheck("http://control/", { name: "net" });
  const runs = new ControlRuns({ checks: [control] });
  const optionsOf = (signal: AbortSignal) => ({
    system: {
      ...createProgramSystem(clock, () => ({ condition: "ok", afterMs: 20 })),
      requests: createFakeTargets(clock, () => {
        requests++;
        return { status: 500, afterMs: 100 };
      }).requests,
    },
    jobs: null,
    directory: "/",
    redact: (text: string) => text,
    signal,
  });
  const never = new AbortController().signal;
  const located = (control?: string) => ({
    ...requestCheck("http://web/"),
    locations: { from: ["fra"], agree: 1, ...control !== undefined && { control } },
  });
  const check = located("net");
  assert.equal(await runs.run(located(), optionsOf(never)), null);
  const aborted = new AbortController();
  const first = runs.run(check, optionsOf(aborted.signal));
  const others = [1, 2].map(() => runs.run(check, optionsOf(never)));
  await clock.advance(50);
  assert.equal(requests, 1);
  aborted.abort(new Error("The check left the config"));
  await assert.rejects(first, /left the config/);
  await clock.advance(200);
  const conditions = (await Promise.all(others)).map((result) => result?.condition);
  assert.deepEqual(conditions, ["critical", "critical"]);
  assert.ok(requests <= 3, `${requests}`);
});
