import type { JobLog } from "../domain/job_runs.ts";
import type { StateRepository } from "./state_repository.ts";

/** Reads jobs from the store of a repository, also after that was replaced. */
export function jobLogOf(repository: Pick<StateRepository, "store">): JobLog {
  return { recall: (name, nowMs) => repository.store.job(name, nowMs) };
}
