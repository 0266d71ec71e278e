/** Measures the live page of many checks with a long past: for its first reader, in a browser, and what readers cost. */
import { DatabaseSync } from "node:sqlite";
import { DAY_MS, HOUR_MS } from "../src/shared/time_units.ts";
import { askModule } from "./children.ts";
import { checkNames, makeConfig } from "./configs.ts";
import { stateCounter } from "./counters.ts";
import { keepChecks, readRecords } from "./kept_state.ts";
import { median, quantile } from "./measure.ts";
import type { Row } from "./row.ts";
import { measureSteady, type SteadySample } from "./steady_process.ts";
import type { Workplace } from "./workplace.ts";

/** Browsers belong to the tests. */
const FILTER_TIMES = new URL("../tests/page/filter_times.ts", import.meta.url).pathname;
const CHECKS = 10_000;
const INTERVAL_SECONDS = 60;
const CLIENTS = 20;
const UPDATE_MS = 10_000;
const FIRST_BYTE_AIM_MS = 1_000;
const FILTER_AIM_MS = 100;
const LATENESS_AIM_MS = 10;
/** For the checks that are due at the start. */
const WARM_UP_SECONDS = 30;

export async function benchPage({ directory, programs, effort }: Workplace): Promise<readonly Row[]> {
  const past = `${directory}/past.sqlite`;
  await keepPast(past);
  const seconds = effort.seconds(INTERVAL_SECONDS + 10);
  const measure = async (
    readers: (origin: string, signal: AbortSignal) => Promise<void>,
  ): Promise<Served> => {
    const place = await Deno.makeTempDir({ dir: directory });
    const [config, state] = [`${place}/monitor.json`, `${place}/state.sqlite`];
    await Deno.copyFile(past, state);
    const check = { kind: "test", parameters: { condition: "ok" } };
    await Deno.writeTextFile(config, makeConfig({ check, count: CHECKS, intervalSeconds: INTERVAL_SECONDS }));
    const address = `127.0.0.1:${freePort()}`;
    const end = new AbortController();
    const reading = readers(`http://${address}/`, end.signal);
    // It is awaited once the service has ended.
    reading.catch(() => {});
    try {
      const sample = await measureSteady({
        command: [
          ...programs.best.commands.monitor,
          ...["check", "--config", config, "--state", state, "--listen", address],
        ],
        counter: stateCounter(state),
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
      });
      return { ...sample, lagMs: (await readRecords(state)).map(({ last }) => last?.lateMs ?? NaN) };
    } finally {
      end.abort();
      await reading;
      await Deno.remove(place, { recursive: true });
    }
  };
  const alone = await measure(() => Promise.resolve());
  const firstByteMs: number[] = [];
  const updates: Update[] = [];
  const filterMs: number[] = [];
  const read = await measure(async (origin, signal) => {
    firstByteMs.push((await readPage(await untilListening(origin), signal))?.firstByteMs ?? NaN);
    const clients = Array.from(
      { length: CLIENTS },
      (_, place) => keepReading(origin, { place, updates, signal }),
    );
    await Promise.all(clients);
  });
  await measure(async (origin) => {
    filterMs.push(...JSON.parse(await askModule(FILTER_TIMES, [await untilListening(origin)])));
  });
  const share = ({ cpuMs, seconds }: SteadySample): string => `${(cpuMs / seconds / 10).toFixed(1)} %`;
  return [
    {
      name: `first byte of the first page of ${CHECKS} checks`,
      value: firstByteMs[0] ?? null,
      unit: "ms",
      aim: FIRST_BYTE_AIM_MS,
    },
    {
      name: `first byte of an update, ${CLIENTS} clients`,
      value: median(updates.map(({ firstByteMs }) => firstByteMs)),
      unit: "ms",
      note: `${updates.length} updates of ${
        (median(updates.map(({ bytes }) => bytes)) / 1e6).toFixed(2)
      } MB each`,
    },
    {
      name: "a filter, until it is drawn in a browser",
      value: filterMs.length === 0 ? null : Math.max(...filterMs),
      unit: "ms",
      aim: FILTER_AIM_MS,
      note: filterMs.length === 0
        ? "needs chromium and chromedriver"
        : `the slowest of ${filterMs.length}; median ${median(filterMs).toFixed(0)} ms`,
    },
    ...[0.5, 0.99].map((part): Row => {
      const [before = NaN, during = NaN] = [alone, read].map(({ lagMs }) => quantile(lagMs, part));
      return {
        name: `lateness that ${CLIENTS} clients add, ${part === 0.5 ? "median" : "p99"}`,
        value: during - before,
        unit: "ms",
        aim: LATENESS_AIM_MS,
        note: `${during.toFixed(0)} ms to ${before.toFixed(0)} ms; ${share(read)} to ${
          share(alone)
        } of a processor`,
      };
    }),
  ];
}

interface Served extends SteadySample {
  /** How late the last run of each check began. */
  readonly lagMs: readonly number[];
}

/** Makes a state of checks that have been ok for 90 days. */
async function keepPast(path: string): Promise<void> {
  await keepChecks(path, { names: checkNames(CHECKS), intervalMs: INTERVAL_SECONDS * 1000 });
  const database = new DatabaseSync(path);
  const add = (untilMs: number, spanMs: number, count: number): void =>
    database.exec(`
      WITH RECURSIVE spans(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM spans WHERE n < ${count})
      INSERT OR IGNORE INTO rollups (check_id, start_ms, span_ms, observed_ok, observed_unknown, observed_warning,
        observed_critical, lasted_ok_ms, lasted_unknown_ms, lasted_warning_ms, lasted_critical_ms,
        duration_total_ms, duration_max_ms, failed_streak_max)
      SELECT id, ${untilMs} - n * ${spanMs}, ${spanMs}, ${spanMs / 60_000}, 0, 0, 0, ${spanMs}, 0, 0, 0,
        ${spanMs / 60_000} * (10 + n % 7), 20, 0
      FROM checks CROSS JOIN spans ORDER BY id, n`);
  const nowMs = Date.now();
  const dayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  add(Math.floor(nowMs / HOUR_MS) * HOUR_MS, HOUR_MS, 8 * 24);
  add(dayMs - 8 * DAY_MS, DAY_MS, 82);
  database.close();
}

export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

export async function untilListening(origin: string): Promise<string> {
  for (;;) {
    try {
      await (await fetch(`${origin}healthz`)).text();
      return origin;
    } catch {
      await sleep(100);
    }
  }
}

interface Update {
  readonly firstByteMs: number;
  readonly bytes: number;
}

/** Reads a page as its script does; `null` if the signal aborts. */
async function readPage(
  url: string,
  signal: AbortSignal,
): Promise<Update & { readonly version: string } | null> {
  const beganMs = performance.now();
  let firstByteMs: number | null = null;
  let text = "";
  try {
    const response = await fetch(url, { signal });
    for await (const part of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      firstByteMs ??= performance.now() - beganMs;
      text += part;
    }
  } catch {
    // The service ends a moment before the signal.
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return null;
  }
  const [, version = ""] = /data-version="([^"]*)"/.exec(text) ?? [];
  return { firstByteMs: firstByteMs ?? NaN, bytes: text.length, version };
}

/** Updates a page like an open tab. */
async function keepReading(
  origin: string,
  { place, updates, signal }: {
    readonly place: number;
    readonly updates: Update[];
    readonly signal: AbortSignal;
  },
): Promise<void> {
  await sleep(place * UPDATE_MS / CLIENTS);
  let version = "";
  while (!signal.aborted) {
    const page = await readPage(`${origin}?since=${version}`, signal);
    if (page === null) return;
    if (version !== "") updates.push(page);
    version = page.version;
    await sleep(UPDATE_MS);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
