import { run } from "./src/cli/run.ts";
import { createSystem } from "./src/system/system.ts";

// What a hanging target may have left open must not keep the program alive, so it ends by itself.
Deno.exit(await run(Deno.args, createSystem()));
