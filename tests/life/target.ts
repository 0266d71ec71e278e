import { inTime } from "./in_time.ts";

/** A request without a response so far. */
export interface Held {
  answer(status: number): void;
}

/** An HTTP server of the test: a request shows that a check runs, and its response completes it. */
export interface Target {
  /** The parameters of an `http_request` check that asks it. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** How many requests came. */
  readonly requests: number;
  /** The status of immediate responses; `null`: requests wait until the test responds. */
  status: number | null;
  /** Resolves to the next waiting request. */
  held(): Promise<Held>;
}

/** Runs a test with a target. */
export async function withTarget(use: (target: Target) => Promise<void>): Promise<void> {
  let requests = 0;
  const waiting: Held[] = [];
  const takers: ((held: Held) => void)[] = [];
  const abort = new AbortController();
  const options = { hostname: "127.0.0.1", port: 0, signal: abort.signal, onListen: () => {} };
  const server = Deno.serve(options, () => {
    requests++;
    if (target.status !== null) return new Response("", { status: target.status });
    const { promise, resolve } = Promise.withResolvers<Response>();
    const held = { answer: (status: number) => resolve(new Response("", { status })) };
    const taker = takers.shift();
    if (taker === undefined) waiting.push(held);
    else taker(held);
    return promise;
  });
  const target: Target = {
    parameters: { request: { target: `http://127.0.0.1:${server.addr.port}/` } },
    get requests() {
      return requests;
    },
    status: 200,
    held: () => {
      const first = waiting.shift();
      if (first !== undefined) return Promise.resolve(first);
      return inTime("request", new Promise((resolve) => takers.push(resolve)));
    },
  };
  try {
    await use(target);
  } finally {
    abort.abort();
    await inTime("the server to end", server.finished);
  }
}
