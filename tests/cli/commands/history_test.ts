import assert from "node:assert/strict";
import type { ConditionChange } from "../../../src/domain/store.ts";
import { HOUR_MS } from "../../../src/shared/time_units.ts";
import { changeOf, journalOf, NOW_MS, recordOf, updateOf } from "../../state/records.ts";
import { runWithState } from "./run_with_state.ts";

const CHANGES: readonly ConditionChange[] = Array.from(
  { length: 950 },
  // Three at each time.
  (_, index) =>
    changeOf("web", NOW_MS - HOUR_MS - Math.floor(index / 3), { output: `${index} ${"x".repeat(990)}` }),
);

/** Prints to a reader that disconnects after so many pieces. */
async function history(args: readonly string[], piecesMax = Infinity) {
  const pieces: string[] = [];
  const { code } = await runWithState(["history", ...args, "web"], {
    config: { defaults: {}, checks: { web: { kind: "test", parameters: {} } } },
    fill: (store) => store.save(CHANGES.map((change) => updateOf("web", { change }))),
    change: ({ stdout }) => ({
      stdout: {
        ...stdout,
        write: (piece: string) => void pieces.push(piece),
        get closed() {
          return pieces.length >= piecesMax;
        },
      },
    }),
  });
  return { pieces, code };
}

Deno.test("monitor history --format json prints every persisted change, in pages", async () => {
  const { pieces, code } = await history(["--format", "json"]);
  assert.equal(code, 0);
  const { changes } = JSON.parse(pieces.join("")) as { changes: readonly { output: string }[] };
  const newestFirst = CHANGES.toReversed().toSorted((one, other) => other.atMs - one.atMs);
  assert.deepEqual(changes.map(({ output }) => output), newestFirst.map(({ output }) => output));
  const longest = Math.max(...pieces.map(({ length }) => length));
  assert.ok(longest < 4096, `${longest} of ${pieces.join("").length} characters at a time`);
});

Deno.test("monitor history stops reading once its reader closed it", async () => {
  const { pieces, code } = await history(["--format", "json"], 5);
  assert.equal(code, 0);
  assert.equal(pieces.length, 5);
});

const MINUTE_MS = 60_000;

/** Five minutes of ok, two failures, an hour without any run, and two more of ok. */
const RUNS = [
  ...[0, 1, 2, 3, 4].map((minute) => ({ endedAtMs: NOW_MS + minute * MINUTE_MS })),
  {
    endedAtMs: NOW_MS + 5 * MINUTE_MS,
    condition: "critical",
    output: "refused \u001b[31mby host 1",
  } as const,
  {
    endedAtMs: NOW_MS + 6 * MINUTE_MS,
    condition: "critical",
    output: "refused \u001b[31mby host 2",
  } as const,
  { endedAtMs: NOW_MS + 66 * MINUTE_MS, isAfterGap: true },
  { endedAtMs: NOW_MS + 67 * MINUTE_MS },
];

async function results(args: readonly string[], runs = RUNS) {
  return await runWithState(["history", "--results", ...args, "web"], {
    config: { defaults: {}, checks: { web: { kind: "test", parameters: {} } } },
    fill: (store) => {
      const { journal, blocks } = journalOf(runs);
      const record = recordOf("web", { journal });
      return store.save([
        updateOf("web", { record }),
        ...blocks.map((block) => updateOf("web", { record, journal: block })),
      ]);
    },
  });
}

Deno.test("monitor history --results shows alike results together, and the time without any", async () => {
  const { code, stdout } = await results([]);
  assert.equal(code, 0);
  assert.equal(
    stdout.slice(stdout.indexOf("\nresults")),
    `
results, newest first:
  2026-01-31 12:06:00 +01:00  ok, 2 times in 1 min
  no results for 1 h
  2026-01-31 11:05:00 +01:00  critical, 2 times in 1 min, the first: refused by
                              host 1
  2026-01-31 11:00:00 +01:00  ok, 5 times in 4 min
`,
  );
});

Deno.test("monitor history --results shows the 40 newest, and JSON all of them", async () => {
  const many = Array.from({ length: 300 }, (_, hour) => ({
    endedAtMs: NOW_MS - (300 - hour) * HOUR_MS,
    isInterrupted: true,
    awaits: "job",
    condition: "unknown",
    output: "never ran",
  } as const));
  const { stdout } = await results([], many);
  assert.equal(stdout.match(/unknown, does not count, once: never ran/g)?.length, 40);
  assert.match(stdout, /\n {2}more with --format json\n$/);
  const { stdout: json } = await results(["--format", "json"], many);
  const { results: all } = JSON.parse(json) as { results: readonly unknown[] };
  assert.equal(all.length, 300);
  assert.deepEqual(all[0], {
    first_at: "2026-01-31T09:00:00.000Z",
    last_at: "2026-01-31T09:00:00.000Z",
    condition: "unknown",
    counts: false,
    runs: 1,
    interval_ms: 0,
    after_gap: "none",
    interrupted: true,
    output: "never ran",
  });
});

Deno.test("monitor history shows the 20 newest changes, and that there are older ones", async () => {
  const { pieces } = await history([]);
  const lines = pieces.join("").trimEnd().split("\n");
  assert.equal(lines.filter((line) => / {2}ok to critical: \d+/.test(line)).length, 20);
  assert.deepEqual(lines.filter((line) => line.length > 80), []);
  assert.equal(lines.at(-1), "  more with --format json");
});
