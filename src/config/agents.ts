/** The agents of a config: which checks each reports, and the check about each agent itself. */
import { agentCheckName, type Check, isAgentCheck } from "../domain/check.ts";
import { exactDuration } from "../domain/duration.ts";
import type { Agent, ReportTo } from "../domain/generated/config.ts";
import { MINUTE_MS, SECOND_MS } from "../shared/time_units.ts";
import { isLoopback } from "../shared/ip_address.ts";
import { CheckSelectors } from "./named_references.ts";
import { type Problem, quoteValue } from "./problem.ts";
import { isObject } from "./schema_view.ts";
import type { JsonObject } from "./syntax.ts";

/** An agent reports at least every 30 s. */
const SILENT_MS_MIN = 2 * MINUTE_MS;
/** How often it is looked whether an agent is silent, at most. */
const LOOK_MS_MAX = MINUTE_MS;

/** Adds the check about each agent to a config as it is written, unless one of that name is there. */
export function withAgentChecks(
  config: JsonObject,
  agents: Readonly<Record<string, Agent>>,
  isCheck: (name: string) => boolean,
): JsonObject {
  const missing = Object.entries(agents).filter(([name]) => !isCheck(agentCheckName(name)));
  if (missing.length === 0) return config;
  const checks = config["checks"];
  const added = missing.map(([name, { silentAfterMs }]) => {
    const interval = Math.max(1, Math.floor(Math.min(LOOK_MS_MAX, silentAfterMs / 4) / SECOND_MS));
    const schedule = { regular_interval: interval, attentive_interval: interval };
    return [agentCheckName(name), { kind: "reported", parameters: {}, threshold: 1, schedule }];
  });
  return { ...config, checks: { ...isObject(checks) ? checks : {}, ...Object.fromEntries(added) } };
}

/** Adds to each check of the kind `reported` its agent, and that it depends on the check about that. */
export function assignAgents(
  checks: readonly Check[],
  agents: Readonly<Record<string, Agent>>,
): { readonly checks: readonly Check[]; readonly problems: readonly Problem[] } {
  const reported = checks.filter(({ kind }) => kind === "reported");
  const names = Object.keys(agents);
  const own = new Map(names.map((agent) => [agentCheckName(agent), agent]));
  const selectors = new CheckSelectors(reported.filter(({ name }) => !own.has(name)));
  const agentsOf = new Map<string, string[]>();
  const problems: Problem[] = [];
  for (const [agent, { checks: entries, silentAfterMs }] of Object.entries(agents)) {
    if (silentAfterMs < SILENT_MS_MIN) {
      const message = `is ${exactDuration(silentAfterMs)}, expected at least ${exactDuration(SILENT_MS_MIN)}`;
      problems.push({ path: ["agents", agent, "silent_after"], message });
    }
    for (const [index, entry] of entries.entries()) {
      const found = selectors.find(entry);
      const path = ["agents", agent, "checks", index];
      if (found.length === 0) {
        const problem = selectors.problemOf(entry, path, { own: null, hasHint: true });
        problems.push({ ...problem, message: `${problem.message} of the kind "reported"` });
      }
      for (const { name } of found) {
        const others = agentsOf.get(name) ?? [];
        if (!others.includes(agent)) agentsOf.set(name, [...others, agent]);
      }
    }
  }
  const keys = new Map<string, string>();
  for (const [agent, { key }] of Object.entries(agents)) {
    const other = keys.get(key);
    // Without secrets, a placeholder stays as it is.
    if (other !== undefined && key !== "" && !key.includes("${")) {
      const message = `is the key of the agent ${quoteValue(other)} too`;
      problems.push({ path: ["agents", agent, "key"], message });
    }
    keys.set(key, agent);
  }
  const assigned = checks.map((check): Check => {
    const { name, kind } = check;
    const about = own.get(name);
    if (kind !== "reported") {
      if (about !== undefined) {
        const message = `is ${quoteValue(kind)}, expected "reported": this is the check about an agent`;
        problems.push({ path: ["checks", name, "kind"], message });
      }
      return check;
    }
    if (check.invert === true) {
      const message = "has no effect on a result that is reported: set it where the agent runs the check";
      problems.push({ path: ["checks", name, "invert"], message });
    }
    if (about !== undefined) return { ...check, agent: about };
    const [agent, other] = agentsOf.get(name) ?? [];
    if (agent === undefined || other !== undefined) {
      const two = `is reported by two agents, ${quoteValue(agent)} and ${quoteValue(other)}`;
      const message = agent === undefined ? "has no agent that reports it" : two;
      problems.push({ path: ["checks", name, "kind"], message, hint: 'name it in "checks" of one agent' });
      return check;
    }
    const dependency = agentCheckName(agent);
    // The first one: members run all checks of an agent at one place.
    const dependsOn = [dependency, ...check.dependsOn.filter((other) => other !== dependency)];
    return { ...check, agent, dependsOn };
  });
  return { checks: assigned, problems };
}

/** Reports are not from a state that several members share. */
export const SHARED_REPORTS: Problem = {
  path: ["report_to"],
  message: "cannot be used with a state in PostgreSQL: results are reported from a state of its own",
  hint: "use a state in SQLite on this machine",
};

export function warnOfReports(
  reportTo: ReportTo | null,
  { agents, hasListen, checks }: {
    readonly agents: Readonly<Record<string, Agent>>;
    readonly hasListen: boolean;
    readonly checks: readonly Check[];
  },
): readonly Problem[] {
  const problems: Problem[] = [];
  const url = URL.parse(reportTo?.target ?? "");
  if (url?.protocol === "http:" && !isLoopback(url.hostname)) {
    const message = "is not encrypted: anyone on the way can read the key and the results; use https";
    problems.push({ path: ["report_to", "target"], message });
  }
  if (!hasListen && checks.some(isAgentCheck)) {
    const [first = ""] = Object.keys(agents);
    problems.push({ path: ["agents", first], message: 'nothing receives its reports: set "listen"' });
  }
  return problems;
}
