import { run } from "../../../src/cli/run.ts";
import type { Store } from "../../../src/domain/store.ts";
import { tempDirectory } from "../../../testing/builders.ts";
import { createFakeClock } from "../../../testing/fake_clock.ts";
import { createMemorySystem, type MemorySystem } from "../../../testing/memory_system.ts";
import { NOW_MS } from "../../state/records.ts";
import { withState } from "../../state/state_directory.ts";

interface Options {
  readonly config: unknown;
  /** Of the terminal; `null`: no terminal. */
  readonly columns?: number | null;
  readonly hasColor?: boolean;
  fill(store: Store): Promise<unknown>;
  change?(system: MemorySystem): Partial<MemorySystem>;
}

/** Runs a command on a config and the state that a test fills, at {@linkcode NOW_MS}. */
export async function runWithState(
  [command = "", ...args]: readonly string[],
  { config, columns = null, hasColor = false, fill, change = () => ({}) }: Options,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  await using temporary = await tempDirectory({ "monitor.json": JSON.stringify(config) });
  const workingDirectory = temporary.path;
  await withState(`${workingDirectory}/kept.sqlite`, fill);
  const system = createMemorySystem({
    workingDirectory,
    ...columns !== null && { columns },
    environment: hasColor ? {} : { NO_COLOR: "1" },
  });
  const place = ["--config", `${workingDirectory}/monitor.json`, "--state", "kept.sqlite"];
  const code = await run([command, ...place, ...args], {
    ...system,
    ...change(system),
    clock: createFakeClock(NOW_MS),
  });
  return { code, stdout: system.stdout.text(), stderr: system.stderr.text() };
}
