/** The implicit check of an agent: whether it reports. */
import type { Check } from "./check.ts";

/** The name of the check that is about an agent itself. */
export function agentCheckName(agent: string): string {
  return `agent ${agent}`;
}

/** Returns whether a check is about an agent itself; otherwise an agent reports it, or it runs here. */
export function isAgentCheck({ name, agent }: Pick<Check, "name" | "agent">): boolean {
  return agent !== undefined && name === agentCheckName(agent);
}
