/**
 * Simulates members that share a state, with their code that decides which one runs which check, and which one is
 * dead. Prints a table for docs/concepts/scale.md. Nothing is started, and no time passes.
 *
 *     deno run scripts/simulate_members.ts
 */
import type { MemberHeartbeat } from "../src/domain/membership.ts";
import {
  HEARTBEAT_EVERY_MS,
  liveOthers,
  observe,
  type Observed,
  UNOBSERVED,
} from "../src/members/observer.ts";
import { createPlacement } from "../src/members/rendezvous.ts";

/** An installation. */
export interface Installation {
  readonly members: number;
  readonly checks: number;
  readonly intervalSeconds: number;
}

/** The expected behavior. */
export interface Expectation {
  /** The largest share of a member, relative to the mean. */
  readonly shareMax: number;
  /** From the death of a member until the first and the last of the others considers it dead. */
  readonly detectionMs: readonly [first: number, last: number];
  /** How many checks move when it dies, and how many of these were not its own. */
  readonly moved: number;
  readonly movedNeedlessly: number;
  readonly resultsPerSecond: number;
  /** Transactions: saves and heartbeats. */
  readonly commitsPerSecond: number;
  /** Rows that the heartbeats read: each those of all members. */
  readonly heartbeatRowsPerSecond: number;
  readonly walBytesPerSecond: number;
  /** Of one core. */
  readonly serverShare: number;
}

/** Measured with `deno task bench shared`; that of a heartbeat is rounded up. */
const WAL_BYTES_OF_RESULT = 1_000;
const WAL_BYTES_OF_HEARTBEAT = 250;
const SERVER_MS_OF_RESULT = 0.02;
const SERVER_MS_OF_HEARTBEAT = 0.3;

/** Members write their pending updates about once a second. */
const SAVES_PER_SECOND = 1;

/** More checks would not change the shares. */
const PLACED_MAX = 200_000;

/** Computes the behavior of an installation. */
export function expect({ members, checks, intervalSeconds }: Installation): Expectation {
  const hosts = Array.from({ length: members }, (_, index) => `member-${index}`);
  const placed = Math.min(checks, PLACED_MAX);
  const dead = hosts[0] ?? "";
  const others = hosts.slice(1);
  const shares = new Map(hosts.map((host) => [host, 0]));
  const [hostOf, nextOf] = [createPlacement(hosts), createPlacement(others)];
  let moved = 0;
  let movedNeedlessly = 0;
  for (let index = 0; index < placed; index++) {
    const name = `check ${index}`;
    const before = hostOf(name) ?? "";
    shares.set(before, (shares.get(before) ?? 0) + 1);
    if (others.length === 0 || nextOf(name) === before) continue;
    moved++;
    if (before !== dead) movedNeedlessly++;
  }
  const resultsPerSecond = checks / intervalSeconds;
  return {
    shareMax: Math.max(...shares.values()) / (placed / members),
    detectionMs: detect(hosts),
    moved: Math.round(moved * checks / placed),
    movedNeedlessly,
    resultsPerSecond,
    commitsPerSecond: Math.min(resultsPerSecond, members * SAVES_PER_SECOND) + members,
    heartbeatRowsPerSecond: members * members,
    walBytesPerSecond: resultsPerSecond * WAL_BYTES_OF_RESULT + members * WAL_BYTES_OF_HEARTBEAT,
    serverShare: (resultsPerSecond * SERVER_MS_OF_RESULT + members * SERVER_MS_OF_HEARTBEAT) / 1_000,
  };
}

const DEATH_MS = 60_000;
const STEP_MS = 50;

/** Simulates the heartbeats of all, each at its own offset, and the death of one of them just after its heartbeat. */
function detect(hosts: readonly string[]): Expectation["detectionMs"] {
  const [dead = ""] = hosts;
  const phaseOf = new Map(
    hosts.map((
      host,
      index,
    ) => [host, Math.floor(index * HEARTBEAT_EVERY_MS / hosts.length / STEP_MS) * STEP_MS]),
  );
  const counts = new Map<string, number>();
  const views = new Map<string, Observed>(hosts.map((host) => [host, UNOBSERVED]));
  const detectedMs = new Map<string, number>();
  for (let nowMs = 0; detectedMs.size < hosts.length - 1; nowMs += STEP_MS) {
    for (const host of hosts) {
      if (nowMs % HEARTBEAT_EVERY_MS !== phaseOf.get(host) || host === dead && nowMs > DEATH_MS) continue;
      const members = hosts.flatMap((other) => heartbeatOf(other, counts.get(other)));
      counts.set(host, (counts.get(host) ?? 0) + 1);
      const view = observe(views.get(host) ?? UNOBSERVED, { sentAtMs: nowMs, members }, host);
      views.set(host, view);
      if (nowMs <= DEATH_MS || detectedMs.has(host)) continue;
      if (!liveOthers(view).some((other) => other.host === dead)) detectedMs.set(host, nowMs - DEATH_MS);
    }
  }
  const all = [...detectedMs.values()];
  return all.length === 0 ? [0, 0] : [Math.min(...all), Math.max(...all)];
}

function heartbeatOf(host: string, count: number | undefined): readonly MemberHeartbeat[] {
  return count === undefined
    ? []
    : [{ host, id: host, count, config: "c", active: "c", location: null, looks: [] }];
}

const INSTALLATIONS: readonly Installation[] = [
  { members: 3, checks: 1_000, intervalSeconds: 60 },
  { members: 3, checks: 10_000, intervalSeconds: 60 },
  { members: 5, checks: 100_000, intervalSeconds: 60 },
  { members: 10, checks: 300_000, intervalSeconds: 60 },
  { members: 20, checks: 1_000_000, intervalSeconds: 60 },
  { members: 50, checks: 1_000_000, intervalSeconds: 60 },
];

/** Renders the table of the page. */
export function renderTable(): string {
  const rows = INSTALLATIONS.map((installation) => {
    const { members, checks } = installation;
    const found = expect(installation);
    const [first, last] = found.detectionMs;
    return [
      number(members),
      number(checks),
      found.shareMax.toFixed(2),
      `${(first / 1_000).toFixed(1)}–${(last / 1_000).toFixed(1)} s`,
      number(found.moved),
      number(found.resultsPerSecond),
      number(found.commitsPerSecond),
      `${(found.walBytesPerSecond / 1e6).toFixed(found.walBytesPerSecond < 1e6 ? 2 : 0)} MB`,
      `${Math.max(1, Math.round(100 * found.serverShare))} %`,
    ];
  });
  const head = ["Members", "Checks", "Share", "Death seen", "Move", "Results", "Commits", "WAL", "Core"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

function number(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

if (import.meta.main) console.log(renderTable());
