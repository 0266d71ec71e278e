import assert from "node:assert/strict";
import type { ConditionChange } from "../../../src/domain/store.ts";
import { HOUR_MS } from "../../../src/shared/time_units.ts";
import { changeOf, NOW_MS, updateOf } from "../../state/records.ts";
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

Deno.test("monitor history shows the 20 newest changes, and that there are older ones", async () => {
  const { pieces } = await history([]);
  const lines = pieces.join("").trimEnd().split("\n");
  assert.equal(lines.filter((line) => / {2}ok to critical: \d+/.test(line)).length, 20);
  assert.deepEqual(lines.filter((line) => line.length > 80), []);
  assert.equal(lines.at(-1), "  more with --format json");
});
