/** For each state that a line of its input names: opens it, adds one silence, closes it, and prints the outcome. */
import { createInterface } from "node:readline";
import process from "node:process";
import { silenceOf } from "./records.ts";
import { openState } from "./state_directory.ts";

const [access] = Deno.args;
say("ready");
for await (const path of createInterface({ input: process.stdin })) say(await silenceIn(path));

async function silenceIn(path: string): Promise<string> {
  try {
    const { store, quarantined } = await openState(path, { access: access === "own" ? "own" : "alongside" });
    await store.addSilences([silenceOf(`of process ${Deno.pid}`)]);
    await store.close();
    return quarantined === null ? "kept" : quarantined.reason;
  } catch (error) {
    return String(error);
  }
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
