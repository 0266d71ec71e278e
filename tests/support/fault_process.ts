/** Faults in a separate process, with its own connections, children and memory. */
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import type { FaultFindings, FaultOrder } from "../fixtures/fault_rounds.ts";
import { createTrust } from "./check_faults.ts";
import { runArguments } from "../../testing/source.ts";
import { runChild } from "../../testing/tools.ts";

export type FaultProcessOptions = Pick<FaultOrder, "rounds" | "targets"> & { readonly places: number };

/** Runs it until it exits, after which no timer is left either. Throws its error, or returns its resources. */
export async function runFaultProcess(
  { rounds, targets, places }: FaultProcessOptions,
): Promise<FaultFindings> {
  using trust = createTrust();
  const { certificate, authority, path } = trust;
  const order: FaultOrder = { rounds, targets, certificate, authority, path };
  const program = fileURLToPath(new URL("../fixtures/fault_rounds.ts", import.meta.url));
  const flags = runArguments(["--allow-all", "--v8-flags=--expose-gc"]);
  const { success, stdout, stderr } = await runChild(
    Deno.execPath(),
    [...flags, program, JSON.stringify(order)],
    { env: { DENO_CERT: path, FAULT_PLACES: String(places) }, limitMs: limitMsFor(places) },
  );
  assert.ok(success, stderr);
  return JSON.parse(stdout) as FaultFindings;
}

/** All places, which are some thousands, take a quarter of an hour. */
function limitMsFor(places: number): number {
  return 300_000 + 3_000 * Math.min(places, 3400);
}
