import assert from "node:assert/strict";
import type { Machine } from "../../bench/machine.ts";
import { addResults, type BenchmarkResult, compareRows, readResults } from "../../bench/results.ts";
import type { Row } from "../../bench/row.ts";

const MACHINE: Machine = {
  processor: "Example 9000",
  cores: 2,
  memoryGigabytes: 8,
  target: "x86_64-unknown-linux-gnu",
  kernel: "6.1.0",
  runtime: "Deno 2.7.11",
  programs: "executable",
};

const ROWS: readonly Row[] = [
  { name: "start, wall time", value: 1.5, unit: "×", note: "15 ms to 10 ms" },
  { name: "start", value: 15, unit: "ms" },
];

function resultOf(rows: readonly Row[], machine: Partial<Machine> = {}): BenchmarkResult {
  return {
    measuredAt: "2026-01-31T10:00:00.000Z",
    machine: { ...MACHINE, ...machine },
    loadAverage: 0.1,
    rows,
  };
}

Deno.test("readResults() finds none where there is no file", async () => {
  await withFolder(async (folder) => {
    assert.deepStrictEqual(await readResults(`${folder}/results.json`), {});
  });
});

Deno.test("readResults() refuses what is not JSON, and says what to do", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/results.json`;
    await Deno.writeTextFile(path, "{");
    await assert.rejects(readResults(path), {
      message: `Cannot read results "${path}": it is not JSON; remove it to go on without`,
    });
  });
});

Deno.test("addResults() replaces what was run again, and leaves the rest", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/results.json`;
    await addResults(path, { startup: resultOf(ROWS), store: resultOf([]) });
    const again = resultOf([{ name: "start", value: 12.345678, unit: "ms" }], { kernel: "6.2.0" });
    await addResults(path, { startup: again });
    assert.deepStrictEqual(await readResults(path), {
      startup: { ...again, rows: [{ name: "start", value: 12.35, unit: "ms" }] },
      store: resultOf([]),
    });
    assert.deepStrictEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["results.json"]);
  });
});

Deno.test("addResults() keeps a number that was not measured as null", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/results.json`;
    await addResults(path, { startup: resultOf([{ name: "start", value: NaN, unit: "ms" }]) });
    const { startup } = await readResults(path);
    assert.strictEqual(startup?.rows[0]?.value, null);
  });
});

Deno.test("compareRows() sets rows beside the earlier ones", async (t) => {
  const cases: Readonly<
    Record<
      string,
      { readonly earlier: BenchmarkResult | null; readonly expected: readonly (number | null)[] }
    >
  > = {
    "nothing earlier": { earlier: null, expected: [null, null] },
    "the same machine": { earlier: resultOf(ROWS), expected: [1.5, 15] },
    "the same machine with another kernel and runtime": {
      earlier: resultOf(ROWS, { kernel: "6.2.0", runtime: "Deno 2.9.6" }),
      expected: [1.5, 15],
    },
    "another machine: ratios alone": { earlier: resultOf(ROWS, { cores: 64 }), expected: [1.5, null] },
    "another form of program: ratios alone": {
      earlier: resultOf(ROWS, { programs: "bundle run by Deno" }),
      expected: [1.5, null],
    },
    "a row that is new": { earlier: resultOf(ROWS.slice(1)), expected: [null, 15] },
    "a row of the same name in another unit": {
      earlier: resultOf([{ name: "start", value: 0.015, unit: "s" }]),
      expected: [null, null],
    },
  };
  for (const [name, { earlier, expected }] of Object.entries(cases)) {
    await t.step(name, () => {
      assert.deepStrictEqual(compareRows(ROWS, earlier, MACHINE).map((row) => row.earlier), expected);
    });
  }
});

async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
