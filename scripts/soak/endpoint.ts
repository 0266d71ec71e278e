import { fileURLToPath } from "node:url";
import { runArguments, sourceEnvironment } from "../../testing/source.ts";
import { startChild } from "../../testing/tools.ts";

const CHECKS = 1000;
const SETTLE_MS = 5_000;
/** A p99 up to this is always accepted. */
const P99_MS = 10;
const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));
const CLIENTS = fileURLToPath(new URL("endpoint_clients.ts", import.meta.url));

/** The behaviors of clients of the endpoint; see `endpoint_clients.ts`. */
const SCENARIOS: readonly string[] = [
  "reload",
  "slow_readers",
  "idle",
  "connections",
  "heads",
  "paths",
  "bodies",
];

/**
 * Runs 1,000 checks a second apart, and measures the scheduling lag without clients and in each scenario. The clients have
 * the lowest priority, as they would run on other machines.
 *
 * @throws {Error} If the 99th percentile is more than twice that without clients, and more than 10 ms.
 */
export async function soakEndpoint({ seconds }: { readonly seconds: number }): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "monitor_soak_" });
  const checks = Object.fromEntries(
    Array.from(
      { length: CHECKS },
      (_, index) => [`check ${index}`, { kind: "test", parameters: { condition: "ok" } }],
    ),
  );
  await Deno.writeTextFile(
    `${directory}/monitor.json`,
    JSON.stringify({
      defaults: { schedule: { regular_interval: 1 } },
      state: "state.sqlite",
      listen: { address: "127.0.0.1:0" },
      checks,
    }),
  );
  const program = Deno.env.get("MONITOR_PROGRAM");
  const [path = "", ...args] = program === undefined
    ? [Deno.execPath(), ...runArguments(["--allow-all"]), MAIN]
    : [program];
  const service = startChild(path, [...args, "check", "--format", "ndjson"], {
    cwd: directory,
    env: sourceEnvironment(),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    limitMs: 60_000 * 60,
  });
  const latenesses: number[] = [];
  void eachLine(service.stdout, (line) => {
    const lateMs = /"late_ms":([\d.]+)/.exec(line)?.[1];
    if (lateMs !== undefined) latenesses.push(Number(lateMs));
  });
  const address = Promise.withResolvers<string>();
  void eachLine(service.stderr, (line) => {
    const found = /listening on (http:\S+)/.exec(line)?.[1];
    if (found !== undefined) address.resolve(found);
  });
  const measure = async (): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    latenesses.length = 0;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const sorted = latenesses.toSorted((one, other) => one - other);
    if (sorted.length < 0.9 * CHECKS * seconds) throw new Error(`only ${sorted.length} runs in ${seconds} s`);
    return sorted[Math.floor(sorted.length * 0.99)] ?? NaN;
  };
  try {
    const url = await address.promise;
    const failed: string[] = [];
    for (const scenario of SCENARIOS) {
      // Just before, since the machine may have other work later.
      const alone = await measure();
      const clients = startChild(
        "/usr/bin/nice",
        ["-n", "19", Deno.execPath(), ...runArguments(["--allow-net"]), CLIENTS, scenario, url],
        {
          env: sourceEnvironment(),
          stdin: "null",
          stdout: "null",
          limitMs: 60_000 * 60,
        },
      );
      const p99 = await measure();
      clients.kill("SIGKILL");
      await clients.status;
      console.log(`  ${scenario}: p99 ${p99.toFixed(1)} ms, without clients ${alone.toFixed(1)} ms`);
      if (p99 > Math.max(P99_MS, 2 * alone)) failed.push(`${scenario} (${p99.toFixed(1)} ms)`);
    }
    if (failed.length > 0) throw new Error(`clients delay checks: ${failed.join(", ")}`);
  } finally {
    service.kill("SIGTERM");
    await service.status;
    await Deno.remove(directory, { recursive: true });
  }
}

async function eachLine(pipe: ReadableStream<Uint8Array>, use: (line: string) => void): Promise<void> {
  let rest = "";
  for await (const text of pipe.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(use);
  }
}
