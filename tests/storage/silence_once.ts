/** Waits for the end of its input, then opens the state it is told, adds one silence, and says how that went. */
import { silenceOf } from "./records.ts";
import { openState } from "./state_folder.ts";

const [path = "", access] = Deno.args;
say("ready");
await Deno.stdin.readable.pipeTo(new WritableStream());
try {
  const { store, setAside } = await openState(path, { access: access === "own" ? "own" : "beside" });
  await store.addSilences([silenceOf(`of process ${Deno.pid}`)]);
  await store.close();
  say(setAside === null ? "kept" : setAside.reason);
} catch (error) {
  say(String(error));
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
