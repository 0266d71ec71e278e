import { reportUncaught, run } from "./src/cli/run.ts";
import { createWheelClock } from "./src/scheduler/wheel_clock.ts";
import { createSystem } from "./src/system/deno_system.ts";
import { createRawTimer } from "./src/system/raw_timer.ts";
import { onUncaughtError } from "./src/system/uncaught.ts";

const system = createSystem(createWheelClock(createRawTimer()));
onUncaughtError((error) => Deno.exit(reportUncaught(error, system)));
// What a hanging target may have left open must not keep the program alive, so it ends by itself.
Deno.exit(await run(Deno.args, system));
