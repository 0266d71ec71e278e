/**
 * Runs the program in `program.bin` of the working directory, and at the exit writes to `code.json` there what the engine
 * has made of each script by then, in base64. The clock is frozen, so that the code does not depend on the machine's speed.
 */
import type { Script } from "node:vm";
import { loadProgram } from "./load_program.ts";

Date.now = () => Date.UTC(2026, 0, 1);
performance.now = () => 0;
Object.assign(globalThis, { setTimeout: () => 0 });

// Opened at once: a command drops the permissions that it does not need.
const output = Deno.openSync("code.json", { write: true, create: true, truncate: true });
const scripts = new Map<string, Script>();
addEventListener("unload", () => {
  const code = [...scripts].map(([name, script]) => [name, script.createCachedData().toString("base64")]);
  const text = new TextEncoder().encode(JSON.stringify(Object.fromEntries(code)));
  for (let written = 0; written < text.length;) written += output.writeSync(text.subarray(written));
});
await loadProgram(Deno.openSync("program.bin"), (name, script) => {
  if (script.cachedDataRejected) {
    throw new Error(`Cannot use the cached code of "${name}": the engine rejects it`);
  }
  scripts.set(name, script);
});
