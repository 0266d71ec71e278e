import assert from "node:assert/strict";
import type { IncomingRequest } from "../../../src/domain/http_servers.ts";
import type { ReportBatch } from "../../../src/domain/reports.ts";
import { handleReport } from "../../../src/outputs/http_endpoint/report_requests.ts";
import { AttemptLimits } from "../../../src/outputs/http_endpoint/sessions.ts";
import { readBatch, writeBatch, writeResult } from "../../../src/outputs/report_format.ts";
import { testRows } from "../../support/rows.ts";

const KEY = "0123456789abcdef";
const RESULT = {
  sequence: 7,
  check: "web",
  condition: "critical",
  output: "no space",
  detail: "",
  performanceData: "",
  metrics: { percent: 99.5 },
  durationMs: 1.5,
  lateMs: null,
  ageMs: 12,
  nextRunInMs: 60_000,
  overdueInMs: 180_000,
} as const;
const FACTS = { version: 1, stream: "stream-1", process: "p", waiting: 3, dropped: 1 } as const;
const BODY = writeBatch(FACTS, [
  writeResult(RESULT),
  writeResult({ ...RESULT, sequence: 8, isInterrupted: true }),
]);

async function post(
  body: string,
  { key = KEY, limits = new AttemptLimits({ monotonicMs: () => 0 }), headers = {}, method = "POST" }: {
    readonly key?: string;
    readonly limits?: AttemptLimits;
    readonly headers?: Readonly<Record<string, string>>;
    readonly method?: string;
  } = {},
) {
  const received: [string, ReportBatch][] = [];
  const warnings: string[] = [];
  const bytes = new TextEncoder().encode(body);
  const all: Readonly<Record<string, string>> = {
    authorization: `Bearer ${key}`,
    "content-length": String(bytes.length),
    ...headers,
  };
  const request: IncomingRequest = {
    method,
    target: "/report",
    address: "192.0.2.1",
    header: (name) => all[name] ?? null,
    readTail: (bytesMax) => Promise.resolve(bytes.slice(-bytesMax)),
  };
  const { status, body: text } = await handleReport(request, {
    agents: {
      nas: { key: KEY, checks: ["web"], silentAfterMs: 300_000 },
      lacking: { key: "", checks: ["web"], silentAfterMs: 300_000 },
    },
    listen: { address: "127.0.0.1:9797", actions: false, intervalMs: 10_000 },
    limits,
    log: { warning: (warning) => void warnings.push(warning) },
    reports: {
      receive: (agent, batch) => {
        received.push([agent, batch]);
        return Promise.resolve({ received: 8, rejected: ["db"] });
      },
      rejected: () => '"nas"',
    },
  });
  return { status, text: String(text), received, warnings };
}

Deno.test("a report of an agent arrives as it was sent", async () => {
  const { status, text, received } = await post(BODY);
  assert.equal(status, 200);
  assert.deepEqual(JSON.parse(text), { received: 8, rejected: ["db"] });
  const results = [RESULT, { ...RESULT, sequence: 8, isInterrupted: true }];
  assert.deepEqual(received, [["nas", { ...FACTS, results }]]);
});

Deno.test("a result with too long texts or times is cut, since one that is rejected would hold up all others", async () => {
  const long = "x".repeat(100_000);
  const { status, received } = await post(writeBatch(FACTS, [writeResult({
    ...{ ...RESULT, output: long, detail: long, performanceData: long },
    ...{ durationMs: 1e300, lateMs: 1e300, nextRunInMs: 1e300, overdueInMs: 1e300 },
  })]));
  assert.equal(status, 200);
  const [result] = received[0]?.[1].results ?? [];
  const { output = "", detail = "", performanceData = "" } = result ?? {};
  const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
  assert.deepEqual([output, detail, performanceData].map(bytesOf), [8_192, 32_768, 8_192]);
  const { durationMs, lateMs, nextRunInMs, overdueInMs } = result ?? {};
  for (const ms of [durationMs, lateMs, nextRunInMs, overdueInMs]) {
    assert.equal(new Date(Number(ms)).getUTCFullYear(), 1990);
  }
});

Deno.test("a request that is no report of an agent is rejected", async (t) => {
  const changed = (change: object): string => JSON.stringify({ ...JSON.parse(BODY), ...change });
  const results = JSON.parse(BODY).results as object[];
  const rows: Readonly<
    Record<string, readonly [body: string, options: object, status: number, text: RegExp]>
  > = {
    "another method": [BODY, { method: "GET" }, 405, /expected POST/],
    "a wrong key": [BODY, { key: `${KEY}x` }, 401, /no agent of the config has this key/],
    "no key, as of an agent whose key is missing": [
      BODY,
      { headers: { authorization: "" } },
      401,
      /no agent/,
    ],
    "no length": [BODY, { headers: { "content-length": "x" } }, 413, /at most 1048576 bytes/],
    "too long": [BODY, { headers: { "content-length": "1048577" } }, 413, /at most 1048576 bytes/],
    "no JSON": [BODY.slice(1), {}, 400, /no JSON/],
    "another version": [changed({ version: 2 }), {}, 400, /\/version fails "enum"/],
    "an unknown key": [changed({ more: 1 }), {}, 400, /fails "additionalProperties"/],
    "a wrong condition": [
      changed({ results: [{ ...results[0], condition: "down" }] }),
      {},
      400,
      /\/results\/0\/condition fails "enum"/,
    ],
    "a negative age": [
      changed({ results: [{ ...results[0], age_ms: -1 }] }),
      {},
      400,
      /age_ms fails "minimum"/,
    ],
    "another order": [changed({ results: results.toReversed() }), {}, 400, /not in the order/],
  };
  await testRows(t, rows, async ([body, options, status, text]) => {
    const response = await post(body, options);
    assert.equal(response.status, status, response.text);
    assert.match(response.text, text);
    assert.equal(response.received.length, status === 200 ? 1 : 0);
  });
});

Deno.test("wrong keys are limited and logged once, and the right one is accepted all the same", async () => {
  const limits = new AttemptLimits({ monotonicMs: () => 0 });
  const logged: string[] = [];
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 12; attempt++) {
    const { status, warnings } = await post(BODY, { key: "guessed", limits });
    statuses.push(status);
    logged.push(...warnings);
  }
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429, 429]);
  assert.deepEqual(logged, [
    'report from 192.0.2.1 rejected: no agent has its key; agents that do not report: "nas"',
  ]);
  assert.equal((await post(BODY, { limits })).status, 200);
});

Deno.test("readBatch() returns what writeBatch() wrote", async () => {
  assert.deepEqual(await readBatch(writeBatch(FACTS, [])), { ...FACTS, results: [] });
});
