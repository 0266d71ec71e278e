/** The implicit check of an agent: whether it reports. */
import type { Check } from "./check.ts";

/** The name of the check that is about an agent itself. */
export function agentCheckName(agent: string): string {
  return `agent ${agent}`;
}

/** Returns whether a check is about an agent itself. */
export function isAgentCheck({ name, agent }: Pick<Check, "name" | "agent">): boolean {
  return agent !== undefined && name === agentCheckName(agent);
}

const LATE = "reported late";

/** Returns the output of a result that its agent reported late. */
export function lateOutput(output: string): string {
  return output === "" ? LATE : `${LATE}: ${output}`;
}

/** Returns whether an agent runs a check, and reports its results. */
export function isReported(check: Pick<Check, "name" | "agent">): boolean {
  return check.agent !== undefined && !isAgentCheck(check);
}
