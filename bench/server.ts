/** A small server on loopback, in a process of its own, so that its work is not in the numbers of those who ask it. */

/** A text in its answers. */
export const BODY_PART = "all is well";

/** A server that runs. */
export interface BenchServer extends AsyncDisposable {
  /** Where it answers, such as `http://127.0.0.1:40123/`. */
  readonly address: string;
}

/** Starts a server; it ends when the answer is disposed of. */
export async function startServer(): Promise<BenchServer> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-net=127.0.0.1", import.meta.filename ?? ""],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  return {
    address: (value ?? "").trim(),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await reader.cancel();
      await child.status;
    },
  };
}

if (import.meta.main) {
  Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: ({ hostname, port }) => console.log(`http://${hostname}:${port}/`),
  }, () => new Response(`${BODY_PART}\n`));
}
