/**
 * Runs the example config against this very machine: starts the small server that it asks, then the monitor
 * with the arguments given here, and ends with the monitor's exit code.
 *
 *     deno task example
 *     deno task example --format json
 */
const PROJECT = new URL("..", import.meta.url);

const directory = await Deno.makeTempDir({ prefix: "monitor_example_" });
const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
  const isHealth = new URL(request.url).pathname === "/health";
  return new Response(isHealth ? "all is well\n" : "not here\n", {
    status: isHealth ? 200 : 404,
    headers: { "Content-Type": "text/plain; charset=utf-8" },
  });
});
try {
  await Deno.writeTextFile(`${directory}/heartbeat`, "");
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
      "--allow-sys=uid",
      `--allow-net=127.0.0.1:${server.addr.port}`,
      "main.ts",
      "check",
      "--once",
      "--state",
      "none",
      "--config",
      "examples/this_machine/monitor.jsonc",
      ...Deno.args,
    ],
    cwd: PROJECT,
    env: { EXAMPLE_DIRECTORY: directory, EXAMPLE_PORT: String(server.addr.port) },
    stdin: "null",
  }).spawn().status;
  Deno.exitCode = code;
} finally {
  await server.shutdown();
  await Deno.remove(directory, { recursive: true });
}
