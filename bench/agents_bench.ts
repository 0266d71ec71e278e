/** Measures agents that report to one hub: the processor time of a result at either side, and how soon the hub replies. */
import type { AgentsLoad } from "./agents_load.ts";
import { askModule, endChild, startChild } from "./children.ts";
import { freePort, untilListening } from "./page_bench.ts";
import type { Row } from "./row.ts";
import type { Workplace } from "./workplace.ts";

const LOAD = new URL("agents_load.ts", import.meta.url).pathname;
const AGENTS = 50;
const RESULTS_PER_SECOND = 5_000;
const KEY = "a-key-of-an-agent-";

export async function benchAgents({ directory, programs, effort }: Workplace): Promise<readonly Row[]> {
  const place = await Deno.makeTempDir({ dir: directory });
  const [config, state] = [`${place}/monitor.json`, `${place}/state.sqlite`];
  const agents = Array.from({ length: AGENTS }, (_, agent) => String(agent));
  const names = agents.flatMap((agent) =>
    Array.from({ length: RESULTS_PER_SECOND / AGENTS }, (_, index) => `${agent}-${index}`)
  );
  const text = JSON.stringify({
    defaults: {},
    agents: Object.fromEntries(agents.map((agent) => [agent, { key: KEY + agent, checks: [`${agent}-*`] }])),
    checks: Object.fromEntries(names.map((name) => [name, { kind: "reported", parameters: {} }])),
  });
  await Deno.writeTextFile(config, text, { mode: 0o600 });
  const address = `127.0.0.1:${freePort()}`;
  const hub = startChild([
    ...programs.best.commands.monitor,
    ...["check", "--config", config, "--state", state, "--listen", address],
  ], { stdout: "null", stderr: "null" });
  try {
    const origin = await untilListening(`http://${address}/`);
    const numbers = [hub.pid, AGENTS, RESULTS_PER_SECOND, effort.seconds(15), effort.seconds(60)];
    const measured = JSON.parse(await askModule(LOAD, [origin, ...numbers.map(String), KEY])) as AgentsLoad;
    return toRows(measured);
  } finally {
    await endChild(hub, 30_000);
    await Deno.remove(place, { recursive: true });
  }
}

function toRows(
  { received, recorded, seconds, hubCpuMs, agentsCpuMs, replyMs, waiting }: AgentsLoad,
): readonly Row[] {
  const share = (cpuMs: number): string => `${(cpuMs / seconds / 10).toFixed(0)} % of a processor`;
  return [
    {
      name: `results a second of ${AGENTS} agents that one hub records`,
      value: received / seconds,
      unit: "results/s",
      note: `of ${(recorded / seconds).toFixed(0)}; ${waiting[0]} waiting at the start, ${
        waiting[1]
      } in the end`,
    },
    {
      name: "processor time of a result at the hub",
      value: 1_000 * hubCpuMs / received,
      unit: "µs",
      note: share(hubCpuMs),
    },
    {
      name: "processor time of a result at the agent, recorded in memory",
      value: 1_000 * agentsCpuMs / received,
      unit: "µs",
      note: `${share(agentsCpuMs)} for ${AGENTS} agents`,
    },
    {
      name: "reply of the hub, median",
      value: replyMs.median,
      unit: "ms",
      note: `p99 ${replyMs.p99.toFixed(0)} ms`,
    },
  ];
}
