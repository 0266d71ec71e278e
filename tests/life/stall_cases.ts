/** The program is stopped for a while, as by SIGSTOP, a debugger or a frozen container, in the middle of its runs. */
import assert from "node:assert/strict";
import { concurrentTests } from "../support/concurrent_tests.ts";
import { livingProcesses, untilGone } from "../support/processes.ts";
import { until } from "./in_time.ts";
import type { Event } from "./lines.ts";
import { withHarness } from "./program.ts";
import { withTarget } from "./target.ts";

const test = concurrentTests("monitor check: stall");

/** The duration of the stop: longer than the timeouts below, and than the minimum of a stall. */
const STOPPED_MS = 3_000;

test("monitor check: while it stands still no time-out is invented, and one that is real is told later", () =>
  withTarget((answering) =>
    withTarget((hanging) =>
      withHarness(async (harness) => {
        const script = harness.mark;
        harness.writeScript("wait.sh", "while [ ! -e go ]; do sleep 0.02; done\necho in time");
        harness.writeConfig({
          [script]: { kind: "script", timeout: 2, parameters: { path: "./wait.sh" } },
          answering: { kind: "http_request", timeout: 2, parameters: answering.parameters },
          hanging: { kind: "http_request", timeout: 2, parameters: hanging.parameters },
        });
        answering.status = null;
        hanging.status = null;
        const program = harness.start(["check", "--format", "ndjson"]);
        await hanging.held();
        const held = await answering.held();
        await until("the script", () => livingProcesses(script).length > 0);

        program.signal("SIGSTOP");
        answering.status = 200;
        held.answer(200);
        Deno.writeTextFileSync(`${harness.directory}/go`, "");
        await untilGone(script);
        // Not to wait for an event: the time itself is tested.
        await new Promise((resolve) => setTimeout(resolve, STOPPED_MS));
        program.signal("SIGCONT");

        // It logs one run at once, and later ones together a minute later.
        await program.stderr.next("stall: discarding the result of");
        const { notification } = await program.stdout.event("notification");
        assert.deepEqual([(notification as Event)["check"], (notification as Event)["condition"]], [
          "hanging",
          "critical",
        ]);
        assert.equal(hanging.requests, 2, "a time-out counts once, whatever comes between");
        program.signal("SIGTERM");
        hanging.status = 200;
        const { stdout } = await program.end();
        const results = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Event)
          .filter(({ event, name }) => event === "result" && name !== "hanging");
        assert.deepEqual([...new Set(results.map(({ name }) => name))].sort(), ["answering", script]);
        for (const { name, condition } of results) assert.equal(condition, "ok", `${name}`);
      })
    )
  ));
