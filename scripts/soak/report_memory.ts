/** Loaded before the program (`--preload`): writes its memory to the file that `SOAK_MEMORY` names, again and again. */
import { measure } from "./samples.ts";

// Opened now: the program drops unused permissions.
const file = Deno.openSync(Deno.env.get("SOAK_MEMORY") ?? "", { create: true, append: true });
const everyMs = Number(Deno.env.get("SOAK_MEMORY_MS"));
Deno.unrefTimer(setInterval(() => {
  file.writeSync(new TextEncoder().encode(`${JSON.stringify(measure())}\n`));
}, everyMs));
