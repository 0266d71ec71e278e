/**
 * Makes a history for checks: 90 days and more of results, recorded by the real repository and stored by a real
 * store, as fast as the machine allows. The same seed and end make the same history.
 *
 *     deno run --allow-all scripts/make_history.ts DIRECTORY [COUNT]
 *
 * writes DIRECTORY/monitor.json with so many checks (3 by default) and DIRECTORY/state.sqlite with their history, for
 * `monitor status`, `monitor history` and `monitor report`.
 */
import { createRealClock } from "../testing/real_clock.ts";
import type { Check, CheckOf } from "../src/domain/check.ts";
import type { Condition } from "../src/domain/condition.ts";
import type { Notification, QueuedNotification } from "../src/domain/outbox.ts";
import type { Store } from "../src/domain/store.ts";
import { openStateRepository } from "../src/state/state_repository.ts";
import { DAY_MS, HOUR_MS } from "../src/shared/time_units.ts";
import { decide } from "../src/engine/decide.ts";
import { WITHOUT_CHANNELS } from "../src/engine/engine.ts";

/** As long as roll-ups are hourly, checks run more often than before. */
const FINE_DAYS = 9;
const COARSE_STEP_MS = 12 * HOUR_MS;

export interface HistoryOptions {
  /** The store for the history; it contains nothing of its checks yet. */
  readonly store: Store;
  /** Whose past it is. */
  readonly checks: readonly Check[];
  /** The last result; wall time, milliseconds since 1970. */
  readonly endMs: number;
  /** How far back it goes. @default 92 */
  readonly days?: number;
  /** Another past for another seed. @default 1 */
  readonly seed?: number;
  /** The interval of results in the last days. @default an hour */
  readonly fineStepMs?: number;
}

/** Makes the past. */
export async function makeHistory(options: HistoryOptions): Promise<void> {
  const { store, checks, endMs, days = 92, seed = 1, fineStepMs = HOUR_MS } = options;
  const repository = await openStateRepository({
    store,
    onFailure: (error) => {
      if (error !== null) throw error;
    },
    reopen: (error) => Promise.reject(error),
  });
  const newId = createIds(seed);
  const pasts = checks.map((check, index) => ({
    check,
    past: createPast(seed + index * 7919, endMs, days, index),
  }));
  for (let nowMs = endMs - days * DAY_MS; nowMs <= endMs;) {
    const stepMs = nowMs < endMs - FINE_DAYS * DAY_MS ? COARSE_STEP_MS : fineStepMs;
    for (const { check, past } of pasts) {
      const seen = past(nowMs);
      const result = {
        check,
        ...seen,
        detail: "",
        performanceData: "",
        metrics: {},
        startedAtMs: nowMs - seen.durationMs,
      };
      const { update, notification } = decide(
        repository.recordOf(check.name, nowMs),
        check,
        { ...WITHOUT_CHANNELS, nowMs, newId, hostName: "demo" },
        { result, plan: () => ({ atMs: nowMs + stepMs, overdueAtMs: nowMs + 3 * stepMs, missed: 0 }) },
      );
      const isPending = notification !== null && nowMs >= endMs - DAY_MS;
      repository.keep(isPending ? { ...update, queued: [pendingRow(notification, nowMs)] } : update);
    }
    await repository.flush();
    nowMs += stepMs;
  }
  for (let progress = await repository.prune({ checks }, endMs); !progress.finished;) {
    progress = await store.prune(endMs);
  }
}

interface Seen {
  readonly condition: Condition;
  readonly output: string;
  readonly durationMs: number;
}

interface Incident {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly condition: Condition;
  readonly output: string;
}

interface Findings {
  readonly ok: string;
  readonly troubles: readonly (readonly [condition: Condition, output: string])[];
}

const REQUEST: Findings = {
  ok: "status is 200",
  troubles: [
    ["critical", "status is 503, expected 200"],
    ["critical", "connecting to example.org:443 failed: connection refused"],
    ["warning", "took 2.4 s, warning above 2 s"],
  ],
};

const BACKUP: Findings = {
  ok: "BACKUP OK - 7 hours old",
  troubles: [
    ["warning", "BACKUP WARNING - 31 hours old, more than 26"],
    ["critical", "BACKUP CRITICAL - 55 hours old, more than 48"],
  ],
};

const DISK: Findings = {
  ok: "DISK OK - free space: / 58 GiB (62%)",
  troubles: [
    ["warning", "DISK WARNING - free space: / 8 GiB (9%)"],
    ["unknown", "timeout after 30 s, terminated"],
  ],
};

const DATABASE: Findings = {
  ok: "connected",
  troubles: [["critical", "connecting to db.example.org:5432 failed: connection refused"]],
};

/**
 * Returns the results of a check at any time. Every tenth check fails often, and every fourteenth has a problem at
 * the end.
 */
function createPast(seed: number, endMs: number, days: number, index: number): (nowMs: number) => Seen {
  const { ok, troubles } = checkAt(index).findings;
  const random = createRandom(seed);
  const isMoody = index % 10 === 1;
  const incidents: Incident[] = [];
  const count = isMoody ? 9 + Math.floor(random() * 8) : Math.floor(random() * 3);
  for (let number = 0; number < count; number++) {
    const fromMs = endMs - random() * days * DAY_MS;
    incidents.push(incidentOf(troubles, random, fromMs, fromMs + (0.2 + random() ** 3 * 3) * DAY_MS));
  }
  if (index % 14 === 1) {
    incidents.push(incidentOf(troubles, random, endMs - (0.5 + random() * 9) * HOUR_MS, Infinity));
  }
  const usualMs = 5 + random() ** 3 * 800;
  const slowSinceMs = endMs - random() * days * DAY_MS;
  return (nowMs) => {
    const noise = 0.85 + random() * 0.3 + (random() < 0.01 ? 2 : 0);
    const durationMs = usualMs * noise * (nowMs > slowSinceMs ? 1.4 : 1);
    const incident = incidents.findLast(({ fromMs, untilMs }) => fromMs <= nowMs && nowMs < untilMs);
    if (incident === undefined) return { condition: "ok", output: ok, durationMs };
    const { condition, output } = incident;
    return { condition, output, durationMs: condition === "unknown" ? 30_000 : durationMs * 2.5 };
  };
}

function incidentOf(
  troubles: Findings["troubles"],
  random: () => number,
  fromMs: number,
  untilMs: number,
): Incident {
  const [condition, output] = troubles[Math.floor(random() * troubles.length)] ?? ["critical", ""];
  return { fromMs, untilMs, condition, output };
}

/** Returns a pending notification whose SMTP server is down. */
function pendingRow(report: Notification, nowMs: number): QueuedNotification {
  return {
    id: `${report.id} email`,
    notification: report,
    missedProblem: null,
    summarized: 0,
    channelKey: "email",
    channelName: "admins",
    sequence: nowMs,
    state: "pending",
    attempts: 3,
    nextAttemptAtMs: nowMs + 15 * 60_000,
    lastFailure: "connecting to mail.example.org:587 failed: connection refused",
    firstFailedAtMs: nowMs,
    messageId: null,
  };
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32, by Tommy Ettinger, in the public domain). */
function createRandom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function createIds(seed: number): () => string {
  let count = 0;
  return () =>
    `00000000-0000-4000-8000-${seed.toString(16).padStart(4, "0")}${(count++).toString(16).padStart(8, "0")}`;
}

/** A check of the demonstration. */
interface DemoCheck {
  readonly name: string;
  readonly title: string;
  readonly tag: string;
  readonly findings: Findings;
}

const FIRST_CHECKS: readonly DemoCheck[] = [
  { name: "web", title: "Website", tag: "website", findings: REQUEST },
  { name: "backup", title: "Nightly backup", tag: "machines", findings: BACKUP },
  { name: "disk", title: "Root disk", tag: "machines", findings: DISK },
  { name: "database", title: "Database", tag: "machines", findings: DATABASE },
  { name: "api", title: "Payments API", tag: "website", findings: REQUEST },
];

function checkAt(index: number): DemoCheck {
  return FIRST_CHECKS[index] ?? {
    name: `shop-${String(index).padStart(4, "0")}`,
    title: `Shop ${index}, order page`,
    tag: "website",
    findings: REQUEST,
  };
}

/** The checks of a config for demonstrations, all of them of the kind `test`. */
export function demoConfig(count: number): {
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly checks: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
} {
  const checks = Array.from({ length: count }, (_, index) => {
    const { name, title, tag, findings } = checkAt(index);
    return [name, {
      title,
      tags: [tag],
      kind: "test",
      parameters: { condition: "ok", output: findings.ok },
    }] as const;
  });
  return {
    defaults: { threshold: 1, schedule: { regular_interval: "1 hour" } },
    checks: Object.fromEntries(checks),
  };
}

/** The checks of {@linkcode demoConfig} as they are resolved. */
export function demoChecks(count: number): readonly CheckOf<"test">[] {
  return Object.entries(demoConfig(count).checks).map(([name, { title, tags }]) => ({
    name,
    title: String(title),
    active: true,
    threshold: 1,
    recoveryThreshold: 1,
    reminders: false,
    schedule: { regularIntervalMs: HOUR_MS, attentiveIntervalMs: HOUR_MS },
    notifications: [],
    tags: [tags].flat().map(String),
    maintenanceWindows: [],
    dependsOn: [],
    timeoutMs: 10_000,
    kind: "test",
    parameters: { condition: "ok", output: "" },
  }));
}

if (import.meta.main) {
  const [directory = ".", count = "3"] = Deno.args;
  const { openSqliteStore } = await import("../src/state/sqlite/sqlite_store.ts");
  const { createStoreFiles } = await import("../src/system/files.ts");
  await Deno.mkdir(directory, { recursive: true });
  const config = { state: "state.sqlite", ...demoConfig(Number(count)) };
  await Deno.writeTextFile(`${directory}/monitor.json`, `${JSON.stringify(config, null, 2)}\n`);
  const endMs = Date.now();
  const { store } = await openSqliteStore(`${await Deno.realPath(directory)}/state.sqlite`, {
    files: createStoreFiles(createRealClock()),
    userId: Deno.uid(),
    nowMs: endMs,
    access: "own",
  });
  await makeHistory({ store, checks: demoChecks(Number(count)), endMs });
  await store.close();
}
