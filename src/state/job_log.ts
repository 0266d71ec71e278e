import type { JobBook } from "../domain/job_runs.ts";
import type { Ledger } from "./state_repository.ts";

/** Looks jobs up in the store that a ledger writes to, also after that was opened afresh. */
export function jobBookOf(ledger: Pick<Ledger, "store">): JobBook {
  return { recall: (name, nowMs) => ledger.store.job(name, nowMs) };
}
