import { reportUncaught, run } from "./src/cli/run.ts";
import { createWheelClock } from "./src/scheduler/wheel_clock.ts";
import { createStores } from "./src/state/open_stores.ts";
import { createSystem } from "./src/system/deno_system.ts";
import { createRawTimer } from "./src/system/raw_timer.ts";
import { onUncaughtError } from "./src/system/uncaught.ts";

const system = createSystem(createWheelClock(createRawTimer()), { createStores });
onUncaughtError((error) => Deno.exit(reportUncaught(error, system)));
// A hanging target may have left resources open that would keep the process alive, so it exits explicitly.
Deno.exit(await run(Deno.args, system));
