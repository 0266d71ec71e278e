/** Compares the cost of `monitor` with that of its peers for the same checks. */
import { endChild, startChild } from "./children.ts";
import { isThere } from "./measure_run.ts";
import { megabytesText, quantile } from "./measure.ts";
import { listPeers, type Peer, type PeerLoad } from "./peers.ts";
import { readTreeUsage, type TreeUsage } from "./process_usage.ts";
import type { Row } from "./row.ts";
import { startServer } from "./server.ts";
import type { Workplace } from "./workplace.ts";

const REQUESTS = [200, 1_000];
const SCRIPTS = 50;
/** Until every program has spread its checks. */
const WARM_UP_SECONDS = 20;
const SECONDS = 30;
/** For the first check of a program. */
const START_TIMEOUT_MS = 60_000;
const END_GRACE_MS = 20_000;
/**
 * The usual limit of open files, which Deno has raised for its children. Monit closes as many in each script that it
 * starts.
 */
const LIMIT_FILES = ["/bin/sh", "-c", 'ulimit -Sn 1024; exec "$@"', "sh"];

/** Runs the programs one after the other, with each load. */
export async function benchPeers(workplace: Workplace): Promise<readonly Row[]> {
  const peers = listPeers(workplace);
  const rows: Row[] = [];
  for (const count of REQUESTS) {
    for (const peer of peers) {
      await using server = await startServer();
      const targets = Array.from({ length: count }, (_, index) => `${server.address}${index}`);
      const load: PeerLoad = { kind: "requests", targets };
      rows.push(await benchPeer(workplace, peer, { ...load, takeArrivals: server.takeArrivals }));
    }
  }
  for (const peer of peers) {
    const script = await makeScript(workplace.directory);
    const targets = Array.from({ length: SCRIPTS }, () => script.path);
    rows.push(await benchPeer(workplace, peer, { kind: "scripts", targets, ...script }));
  }
  return rows;
}

interface CountedLoad extends PeerLoad {
  /** Returns when the checks of each target arrived, since the last call. */
  takeArrivals(): Promise<readonly (readonly number[])[]>;
}

/** Makes a script that leaves a byte. There are no times of scripts. */
async function makeScript(
  parent: string,
): Promise<{ readonly path: string; readonly takeArrivals: CountedLoad["takeArrivals"] }> {
  const directory = await Deno.makeTempDir({ dir: parent });
  const [path, runs] = [`${directory}/script`, `${directory}/runs`];
  await Deno.writeTextFile(path, `#!/bin/sh\necho >>${runs}\n`, { mode: 0o700 });
  await Deno.writeTextFile(runs, "");
  let taken = 0;
  const takeArrivals = async (): Promise<readonly (readonly number[])[]> => {
    const { size } = await Deno.stat(runs);
    const arrivals = Array.from({ length: size - taken }, () => [NaN]);
    taken = size;
    return arrivals;
  };
  return { path, takeArrivals };
}

async function benchPeer(workplace: Workplace, peer: Peer, load: CountedLoad): Promise<Row> {
  const count = load.targets.length;
  const row = { name: `${count.toLocaleString("en")} ${load.kind} a second, ${peer.name}`, unit: "µs" };
  if (!peer.kinds.includes(load.kind)) return { ...row, value: null, note: `it runs no ${load.kind}` };
  const missing = Object.entries(peer.packages).filter(([path]) => !isThere(path)).map(([, name]) => name);
  if (missing.length > 0) {
    return { ...row, value: null, note: `not installed: apt-get install ${missing.join(" ")}` };
  }
  const sample = await measurePeer(workplace, peer, load).catch((error: Error) => error.message);
  if (typeof sample === "string") return { ...row, value: null, note: sample };
  const { parts, arrivals, seconds } = sample;
  const runs = arrivals.flat().length;
  const costUs = (usage: TreeUsage): number => usage.cpuMs * 1000 / runs;
  const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0);
  const lateMs = arrivals.flatMap(deviationsOf);
  const usages = Object.values(parts);
  const notes = [
    `${megabytesText(sum(usages.map(({ pssBytes }) => pssBytes)))} PSS`,
    lateMs.length > 0 ? `late by ${quantile(lateMs, 0.99).toFixed(1)} ms (p99)` : "",
    `${(runs / seconds).toFixed(1)} done a second, each every ${(count * seconds / runs).toFixed(2)} s`,
    `${sum(usages.map(({ cpuMs }) => cpuMs / seconds / 10)).toFixed(0)} % of a processor`,
    ...usages.length === 1
      ? []
      : Object.entries(parts).map(([name, usage]) =>
        `${name} alone ${costUs(usage).toFixed(0)} µs, ${megabytesText(usage.pssBytes)}`
      ),
  ];
  return { ...row, value: sum(usages.map(costUs)), note: notes.filter((note) => note !== "").join("; ") };
}

/** Returns by how much the intervals between the arrivals of one target deviate from their mean. */
function deviationsOf(arrivals: readonly number[]): readonly number[] {
  const intervals = arrivals.slice(1).map((atMs, index) => atMs - (arrivals[index] ?? NaN));
  const mean = intervals.reduce((one, other) => one + other, 0) / intervals.length;
  return intervals.map((interval) => Math.abs(interval - mean));
}

interface PeerSample {
  /** The processor time in the measured time and the memory at its end, by process. */
  readonly parts: Readonly<Record<string, TreeUsage>>;
  readonly arrivals: readonly (readonly number[])[];
  readonly seconds: number;
}

async function measurePeer(
  { directory, effort }: Workplace,
  peer: Peer,
  { takeArrivals, ...load }: CountedLoad,
): Promise<PeerSample> {
  const place = await Deno.makeTempDir({ dir: directory });
  const commands = Object.entries(await peer.prepare(place, load));
  const started = commands.map(([name, command]) => {
    const child = startChild([...LIMIT_FILES, ...command], { stdout: "piped", stderr: "piped", cwd: place });
    return { name, child, output: child.output() };
  });
  const read = (): Readonly<Record<string, TreeUsage>> =>
    Object.fromEntries(started.map(({ name, child }) => [name, readTreeUsage(child.pid)]));
  const measure = async (): Promise<PeerSample> => {
    const deadlineMs = performance.now() + START_TIMEOUT_MS;
    while ((await takeArrivals()).length === 0) {
      if (performance.now() > deadlineMs) throw new Error("it checks nothing");
      await sleep(0.1);
    }
    await sleep(effort.seconds(WARM_UP_SECONDS));
    await takeArrivals();
    const [before, startMs] = [read(), performance.now()];
    await sleep(effort.seconds(SECONDS));
    const [after, endMs] = [read(), performance.now()];
    const parts = Object.entries(after).map(([name, usage]) =>
      [name, { ...usage, cpuMs: usage.cpuMs - (before[name]?.cpuMs ?? NaN) }] as const
    );
    return {
      parts: Object.fromEntries(parts),
      arrivals: await takeArrivals(),
      seconds: (endMs - startMs) / 1000,
    };
  };
  const failures = started.map(async ({ name, output }): Promise<never> => {
    const { code, stdout, stderr } = await output;
    const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("").trim();
    throw new Error(`${name} ended with code ${code}: ${text.split("\n").at(-1)}`);
  });
  try {
    return await Promise.race([measure(), ...failures]);
  } finally {
    for (const { child } of started) await endChild(child, END_GRACE_MS);
    await Promise.allSettled(failures);
  }
}

function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
