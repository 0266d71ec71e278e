/** A small server on loopback, in a separate process, so that its load is not part of the clients' numbers. */
import { runArguments } from "../testing/source.ts";
import { endChild, startChild } from "./children.ts";

/** A text in its responses. */
export const BODY_PART = "all is well";

/** A server that runs. */
export interface BenchServer extends AsyncDisposable {
  /** Its URL, such as `http://127.0.0.1:40123/`. */
  readonly address: string;
  /** Returns the number of its responses. */
  count(): Promise<number>;
  /** Returns when requests of each path arrived since the last call, in milliseconds; those of `/` are not kept. */
  readonly takeArrivals: () => Promise<readonly (readonly number[])[]>;
}

const COUNT_PATH = "/count";
const ARRIVALS_PATH = "/arrivals";

/** Starts a server; it stops when the returned object is disposed of. */
export async function startServer(): Promise<BenchServer> {
  const args = [...runArguments(["--allow-net=127.0.0.1"]), import.meta.filename ?? ""];
  const child = startChild([Deno.execPath(), ...args], { stdout: "piped" });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  const address = (value ?? "").trim();
  return {
    address,
    count: async () => Number(await (await fetch(new URL(COUNT_PATH, address))).text()),
    takeArrivals: async () => await (await fetch(new URL(ARRIVALS_PATH, address))).json(),
    [Symbol.asyncDispose]: async () => {
      await endChild(child, 1_000);
      await reader.cancel();
    },
  };
}

if (import.meta.main) {
  let answered = 0;
  const arrivals = new Map<string, number[]>();
  Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: ({ hostname, port }) => console.log(`http://${hostname}:${port}/`),
  }, async (request) => {
    const atMs = performance.now();
    const { pathname } = new URL(request.url);
    if (pathname === COUNT_PATH) return new Response(String(answered));
    if (pathname === ARRIVALS_PATH) {
      const taken = [...arrivals.values()];
      arrivals.clear();
      return Response.json(taken);
    }
    if (pathname !== "/") arrivals.getOrInsertComputed(pathname, () => []).push(atMs);
    if (request.body !== null) await request.arrayBuffer();
    answered++;
    return new Response(`${BODY_PART}\n`);
  });
}
