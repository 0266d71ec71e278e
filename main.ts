import { reportUncaught, run } from "./src/cli/run.ts";
import { createSystem } from "./src/system/deno_system.ts";
import { onUncaughtError } from "./src/system/uncaught.ts";

const system = createSystem();
onUncaughtError((error) => Deno.exit(reportUncaught(error, system)));
// What a hanging target may have left open must not keep the program alive, so it ends by itself.
Deno.exit(await run(Deno.args, system));
