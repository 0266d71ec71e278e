import { reportUncaught, run } from "./src/cli/run.ts";
import { createWheelClock } from "./src/scheduler/wheel_clock.ts";
import { createStores } from "./src/state/open_stores.ts";
import { createSystem, type SystemOptions } from "./src/system/deno_system.ts";
import { createRawTimer } from "./src/system/runtime.ts";
import { onUncaughtError } from "./src/system/process_events.ts";

/** Runs the program on this machine. Returns its exit code; after an uncaught error it exits. */
export async function runProgram(
  args: readonly string[],
  options: Pick<SystemOptions, "ownConfig"> = {},
): Promise<number> {
  const system = createSystem(createWheelClock(createRawTimer()), { createStores, ...options });
  onUncaughtError((error) => Deno.exit(reportUncaught(error, system, args)));
  return await run(args, system);
}
