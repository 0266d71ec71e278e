/** What checks and deliveries leave behind when every one of them meets a fault. */
import assert from "node:assert/strict";
import type { FaultFindings, FaultOrder } from "../fixtures/fault_rounds.ts";
import { createTrust } from "../support/check_faults.ts";

const PLACES = Deno.env.get("FAULT_PLACES");
const ROUNDS = PLACES === undefined ? 3 : 2;

Deno.test("checks and deliveries through faults leave nothing behind: no connection, process, timer or memory", async () => {
  using trust = createTrust();
  const { certificate, authority, path } = trust;
  const order: FaultOrder = { rounds: ROUNDS, certificate, authority, path };
  const program = new URL("../fixtures/fault_rounds.ts", import.meta.url).pathname;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-check", "--allow-all", "--v8-flags=--expose-gc"],
      program,
      JSON.stringify(order),
    ],
    env: { DENO_CERT: path, FAULT_PLACES: PLACES ?? "20" },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const { places, holdings } = JSON.parse(new TextDecoder().decode(stdout)) as FaultFindings;
  const [before, first, ...rest] = holdings;
  assert.ok(before !== undefined && first !== undefined && rest.length === ROUNDS - 1);
  for (const { sockets, processes } of [first, ...rest]) {
    assert.deepEqual({ sockets, processes }, { sockets: before.sockets, processes: before.processes });
  }
  const grownBytes = (rest.at(-1)?.usedBytes ?? Infinity) - first.usedBytes;
  // It comes and goes by some megabytes; a kilobyte that a run leaves is more in ten rounds than in three.
  assert.ok(grownBytes < 4 * 1024 * 1024, `grew by ${grownBytes} bytes in ${places} runs`);
});
