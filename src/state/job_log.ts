import type { JobLog } from "../domain/job_runs.ts";
import type { StateRepository } from "./state_repository.ts";

/** Looks jobs up in the store that a repository writes to, also after that was opened afresh. */
export function jobLogOf(repository: Pick<StateRepository, "store">): JobLog {
  return { recall: (name, nowMs) => repository.store.job(name, nowMs) };
}
