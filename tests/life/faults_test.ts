/** The resources that checks and deliveries leak if every one of them meets a fault. */
import assert from "node:assert/strict";
import { testWith } from "../../testing/tools.ts";
import { runFaultProcess } from "../support/fault_process.ts";

const ROUNDS = 3;
/**
 * The soak tries more, and not all of them: neighboring bytes leak the same. A check or a delivery of the tests has
 * its own clock and connections, some of which are kept while the process lives.
 */
const PLACES_MAX = 500;

testWith("time")(
  "checks and deliveries through faults leak no connection, process, timer or memory",
  async () => {
    const { places, holdings } = await runFaultProcess({
      rounds: ROUNDS,
      targets: "some_of_each",
      places: Math.min(Number(Deno.env.get("FAULT_PLACES") ?? 3), PLACES_MAX),
    });
    const [before, first, ...rest] = holdings;
    assert.ok(before !== undefined && first !== undefined && rest.length === ROUNDS - 1);
    for (const { sockets, processes } of [first, ...rest]) {
      assert.deepEqual({ sockets, processes }, { sockets: before.sockets, processes: before.processes });
    }
    // The first round reads code, too.
    const grownBytes = (rest.at(-1)?.usedBytes ?? Infinity) - (rest[0]?.usedBytes ?? 0);
    // It comes and goes by some megabytes.
    assert.ok(grownBytes < 4 * 1024 * 1024, `grew by ${grownBytes} bytes in ${places} runs`);
  },
);
