/** Records the files that a result passes from a timer to the channel. */
import assert from "node:assert/strict";
import { Session } from "node:inspector";
import { World } from "../../testing/simulation/mod.ts";
import { loadedWith } from "../support/imports.ts";

const PROJECT = new URL("../../", import.meta.url);
/** The layers of the path. Files of `outputs` and `cli` receive events; `shared` and `domain` have helpers and types. */
const LAYERS = /^src\/(?:scheduler|checks|condition|engine|state|members|channels)\//;
/** Lookup tables of the kinds of checks and channels. */
const TABLES = ["src/checks/registry.ts", "src/channels/registry.ts"];

Deno.test("from a timer to the channel, a result passes the files that ARCHITECTURE.md lists", async () => {
  const text = await Deno.readTextFile(new URL("ARCHITECTURE.md", PROJECT));
  const section = /^## From a timer to a channel$(.*?)^## /ms.exec(text)?.[1] ?? "";
  const walk = [...section.matchAll(/^\d+\. `(src\/\S+\.ts)`/gm)].map(([, path = ""]) => path);
  assert.ok(walk.length > 0 && walk.length <= 20, `${walk.length} files`);
  const ran = (await filesUntilSent()).filter((path) => LAYERS.test(path) && !TABLES.includes(path));
  assert.deepEqual(walk.filter((path) => !ran.includes(path)), [], "no function of them ran");
  // Helpers import none of the later files.
  const leading = ran.filter((path) => !walk.includes(path))
    .filter((path) => loadedWith(path).some((target) => walk.includes(target)));
  assert.deepEqual(leading, [], "files outside of the walk that lead on to it");
});

/** Returns the files of which a function ran from before a failure until its message is sent. */
async function filesUntilSent(): Promise<readonly string[]> {
  const world = await World.create({ start: "2026-03-02T21:55" });
  const profiler = new Session();
  const ask = (method: string, options = {}): Promise<Coverage> =>
    new Promise((resolve, reject) =>
      profiler.post(
        method,
        options,
        (error: unknown, answer: unknown) => error === null ? resolve(answer as Coverage) : reject(error),
      )
    );
  const sent: Promise<Coverage>[] = [];
  world.network.add("chat.example", {
    respond: () => {
      sent.push(ask("Profiler.takePreciseCoverage"));
      return { status: 200 };
    },
  });
  const machine = world.machine();
  machine.files.put("/etc/monitor/monitor.jsonc", JSON.stringify(CONFIG));
  machine.start("check", "--format", "ndjson");
  await world.advance(600_000);
  world.outcomes.set("web", { condition: "critical", output: "no space", durationMs: null });
  profiler.connect();
  await ask("Profiler.enable");
  await ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await world.until(() => sent.length > 0, "the message");
  const [coverage] = await Promise.all(sent);
  await ask("Profiler.stopPreciseCoverage");
  await ask("Profiler.disable");
  profiler.disconnect();
  world.end();
  return (coverage?.result ?? []).filter(({ functions }) => functions.some(isRun)).flatMap(({ url }) =>
    url.startsWith(PROJECT.href) ? [url.slice(PROJECT.href.length)] : []
  );
}

/** The top-level code of a module has no name, and ran before. */
function isRun({ functionName, ranges }: Coverage["result"][number]["functions"][number]): boolean {
  return functionName !== "" && ranges.some(({ count }) => count > 0);
}

const CONFIG = {
  defaults: { threshold: 1, notifications: ["chat"] },
  channels: { chat: { kind: "webhook", parameters: { target: "http://chat.example/" } } },
  checks: { web: { kind: "script", parameters: { path: "/bin/probe" } } },
};

/** A part of the response of the engine's profiler. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}
