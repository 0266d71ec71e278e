import assert from "node:assert/strict";
import { run } from "../../../src/cli/run.ts";
import type { ConditionChange } from "../../../src/domain/store.ts";
import { HOUR_MS } from "../../../src/shared/time_units.ts";
import { changeOf, NOW_MS, updateOf } from "../../state/records.ts";
import { openState } from "../../state/state_directory.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem } from "../../../testing/memory_system.ts";
import { tempDirectory } from "../../../testing/builders.ts";

const CHANGES: readonly ConditionChange[] = Array.from(
  { length: 950 },
  // Three at each time.
  (_, index) =>
    changeOf("web", NOW_MS - HOUR_MS - Math.floor(index / 3), { output: `${index} ${"x".repeat(990)}` }),
);

interface Printed {
  readonly pieces: readonly string[];
  readonly code: number;
}

/** Prints to a reader that goes away after so many pieces. */
async function history(args: readonly string[], piecesMax = Infinity): Promise<Printed> {
  await using temporary = await tempDirectory();
  const directory = temporary.path;
  const pieces: string[] = [];
  const { store } = await openState(`${directory}/kept.sqlite`);
  await store.save(CHANGES.map((change) => updateOf("web", { change })));
  await store.close();
  await Deno.writeTextFile(
    `${directory}/monitor.json`,
    JSON.stringify({ defaults: {}, checks: { web: { kind: "test", parameters: {} } } }),
  );
  const base = createMemorySystem({ workingDirectory: directory, environment: { NO_COLOR: "1" } });
  const stdout = {
    ...base.stdout,
    write: (piece: string) => void pieces.push(piece),
    get closed() {
      return pieces.length >= piecesMax;
    },
  };
  const system = { ...base, stdout, clock: createFakeClock(NOW_MS) };
  const config = ["--config", `${directory}/monitor.json`, "--state", "kept.sqlite"];
  const code = await run(["history", ...config, ...args, "web"], system);
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
