import assert from "node:assert/strict";
import { measureAtOnce, measureInTurn, median, quantile } from "../../bench/measure.ts";
import { measureRun } from "../../bench/measure_run.ts";
import { compareSteady, type SteadySide } from "../../bench/steady_rows.ts";

Deno.test("median() and quantile() return the middle, and the value below which a share lies", () => {
  assert.strictEqual(median([5, 1, 3]), 3);
  assert.strictEqual(median([4, 1, 2, 3]), 2.5);
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  assert.strictEqual(quantile(hundred, 0.99), 100);
  assert.strictEqual(quantile(hundred, 0.5), 51);
  assert.strictEqual(quantile([7], 1), 7);
});

Deno.test("measureInTurn() begins each round with another subject, and drops the first unless they are warm", async () => {
  const calls: string[] = [];
  const subject = (name: string) => () => Promise.resolve(calls.push(name));
  const samples = await measureInTurn(2, { a: subject("a"), b: subject("b") });
  assert.deepStrictEqual(calls, ["a", "b", "b", "a", "a", "b"]);
  assert.deepStrictEqual(samples, { a: [4, 5], b: [3, 6] });
  calls.length = 0;
  await measureInTurn(1, { a: subject("a"), b: subject("b") }, { isWarm: true });
  assert.deepStrictEqual(calls, ["b", "a"]);
});

Deno.test("measureAtOnce() starts every subject of a round before any of them completes", async () => {
  const calls: string[] = [];
  const subject = (name: string) => async () => {
    calls.push(`${name} begins`);
    await Promise.resolve();
    return calls.push(`${name} ends`);
  };
  const samples = await measureAtOnce(2, { a: subject("a"), b: subject("b") });
  const round = ["a begins", "b begins", "a ends", "b ends"];
  assert.deepStrictEqual(calls, [...round, ...round]);
  assert.deepStrictEqual(samples, { a: [3, 7], b: [4, 8] });
});

Deno.test("measureRun() returns the output of a process and its resource usage", async () => {
  const { wallMs, output } = await measureRun(["/bin/sh", "-c", "echo well"]);
  assert.strictEqual(output, "well\n");
  assert.ok(wallMs > 0);
});

Deno.test("measureRun() rejects if a process fails, with its output", async () => {
  await assert.rejects(measureRun(["/bin/sh", "-c", "echo no >&2; exit 3"]), {
    message: 'Cannot measure "/bin/sh": it ended with code 3: no',
  });
});

Deno.test("compareSteady() compares the cost of operations, and notes a side that did too few", async (t) => {
  const side = (name: string, cpuMs: number, runs: number): SteadySide => ({
    name,
    perSecond: 100,
    samples: [{ seconds: 10, runs, cpuMs, residentBytes: 60e6, peakBytes: 80e6 }],
  });
  await t.step("both kept the rate", () => {
    const [cpu, memory] = compareSteady("asking", side("watching", 1500, 1000), side("a loop", 1000, 1000), {
      aim: 1.25,
    });
    assert.deepStrictEqual(cpu, {
      name: "asking to a loop, processor time",
      value: 1.5,
      unit: "×",
      aim: 1.25,
      note: "1500 µs to 1000 µs each; 15.0 % to 10.0 % of a processor; 100.0 and 100.0 done a second",
    });
    assert.strictEqual(memory?.note, "60.0 MB to 60.0 MB; peak 80.0 MB to 80.0 MB");
  });
  await t.step("one did half", () => {
    const [cpu] = compareSteady("asking", side("watching", 1500, 500), side("a loop", 1000, 1000));
    assert.match(cpu?.note ?? "", /NOT THE RATE: 50\.0 and 100\.0 done a second/);
    assert.strictEqual(cpu?.value, 3);
  });
});
