/**
 * Runs the example config on this machine: starts the small server that it checks, and the monitor. The server fails at
 * first, and so does its check.
 *
 *     deno task example                  # on a terminal the service with its live page, until Ctrl-C; else once
 *     deno task example --format json    # once
 */
const PROJECT = new URL("..", import.meta.url);

/** The time for which the server fails while the service runs. */
const FAILS_MS = 30_000;

const isLive = Deno.stdout.isTerminal() && Deno.args.length === 0;
const healthyFromMs = isLive ? Date.now() + FAILS_MS : Infinity;
const directory = await Deno.makeTempDir({ prefix: "monitor_example_" });
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
  const isHealthy = new URL(request.url).pathname === "/health" && Date.now() >= healthyFromMs;
  return new Response(isHealthy ? "all is well\n" : "out of order\n", {
    status: isHealthy ? 200 : 503,
    headers: { "Content-Type": "text/plain; charset=utf-8" },
  });
});
const address = `127.0.0.1:${server.addr.port}`;
// The monitor gets the signal, too, and exits.
Deno.addSignalListener("SIGINT", () => {});
const heart = setInterval(() => Deno.writeTextFileSync(`${directory}/heartbeat`, ""), 20_000);
try {
  await Deno.writeTextFile(`${directory}/heartbeat`, "");
  if (isLive) {
    console.log(
      `the server at ${address} fails for ${FAILS_MS / 1000} s; open the page that is named below, ` +
        "end with Ctrl-C",
    );
  }
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--lock=deno.lock",
      "--frozen",
      "--quiet",
      "--no-prompt",
      "--allow-read",
      "--allow-env",
      "--allow-run",
      "--allow-sys=uid,hostname",
      `--allow-write=${directory}`,
      `--allow-net=${address},127.0.0.1:0`,
      "main.ts",
      "check",
      ...isLive ? ["--listen", "127.0.0.1:0"] : ["--once"],
      "--state",
      `${directory}/state.sqlite`,
      "--config",
      "examples/this_machine/monitor.jsonc",
      ...Deno.args,
    ],
    cwd: PROJECT,
    env: { EXAMPLE_DIRECTORY: directory, EXAMPLE_PORT: String(server.addr.port) },
    stdin: "null",
  }).spawn().status;
  const isExpected = code === (isLive ? 0 : 2);
  if (!isLive && isExpected) {
    console.error("\nThe check of the server fails on purpose: exit code 2 was expected.");
  }
  Deno.exitCode = isExpected ? 0 : code || 1;
} finally {
  clearInterval(heart);
  await server.shutdown();
  await Deno.remove(directory, { recursive: true });
}
