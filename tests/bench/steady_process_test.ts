import assert from "node:assert/strict";
import { ownCounter } from "../../bench/counters.ts";
import { measureSteady } from "../../bench/steady_process.ts";

const SPAN = { counter: ownCounter, warmUpSeconds: 0, seconds: 0 };

Deno.test({
  name: "measureSteady() waits for the first line, counts before and after, and terminates the process",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const count = "n=0; trap 'n=$((n + 5)); echo $n' USR1";
    const script = `${count}; echo ready; while :; do sleep 0.01; done`;
    const sample = await measureSteady({ ...SPAN, command: ["/bin/sh", "-c", script] });
    assert.strictEqual(sample.runs, 5);
    assert.ok(sample.residentBytes > 0);
    assert.ok(sample.peakBytes >= sample.residentBytes);
  },
});

Deno.test("measureSteady() rejects if a process exits by itself, with its output", async () => {
  await assert.rejects(
    measureSteady({ ...SPAN, command: ["/bin/sh", "-c", "echo out of luck >&2; exit 4"] }),
    { message: 'Cannot measure "/bin/sh": it ended with code 4: out of luck\n' },
  );
});
