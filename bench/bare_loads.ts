/**
 * The least code that gets the same answers, with as many at a time as the monitor has: no time limit, no output
 * limit, nobody to end what hangs. Where a name says "with" or "in", one thing is added that a monitor cannot do
 * without, so that the cost of the thing and the cost of our code are told apart.
 */
import { DEFAULT_LIMITS } from "../src/monitor.ts";
import { type Load, type LoadOptions, repeat } from "./load.ts";

const TIME_LIMIT_MS = 10_000;

/** Asks for the status, each time over a fresh connection. */
export function bareRequests(options: LoadOptions): Promise<void> {
  return request(options, (client) => askForStatus(options.target, { client }));
}

/** Asks for the status, each time with a time limit of its own. */
export function bareRequestsWithTimeLimit(options: LoadOptions): Promise<void> {
  return request(options, async (client) => {
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), TIME_LIMIT_MS);
    try {
      return await askForStatus(options.target, { client, signal: end.signal });
    } finally {
      clearTimeout(timer);
    }
  });
}

/** Asks for the status and a text in the body. */
export function bareRequestsForBody(bodyPart: string): Load {
  return (options) =>
    request(options, async (client) => {
      const response = await fetch(options.target, { client });
      const body = await response.text();
      return response.status === 200 && body.includes(bodyPart);
    });
}

/** Runs a program and asks for its exit code. */
export function bareScripts({ count, target }: LoadOptions): Promise<void> {
  return repeat(async () => {
    const { code } = await new Deno.Command(target).output();
    requireZero(code, target);
  }, { count, concurrency: DEFAULT_LIMITS.process });
}

/** Runs a program in a process group of its own, without which what it leaves behind could not be ended. */
export function bareScriptsInGroups({ count, target }: LoadOptions): Promise<void> {
  return repeat(async () => {
    const child = new Deno.Command(target, { detached: true, stdout: "piped", stderr: "piped" }).spawn();
    const [{ code }] = await Promise.all([child.status, drain(child.stdout), drain(child.stderr)]);
    requireZero(code, target);
  }, { count, concurrency: DEFAULT_LIMITS.process });
}

async function request(
  { count, target }: LoadOptions,
  ask: (client: Deno.HttpClient) => Promise<boolean>,
): Promise<void> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  await repeat(async () => {
    if (!await ask(client)) throw new Error(`Cannot measure: "${target}" gave another answer than expected`);
  }, { count, concurrency: DEFAULT_LIMITS.network });
}

async function askForStatus(
  target: string,
  options: RequestInit & { client: Deno.HttpClient },
): Promise<boolean> {
  const response = await fetch(target, options);
  await response.body?.cancel();
  return response.status === 200;
}

function requireZero(code: number, target: string): void {
  if (code !== 0) throw new Error(`Cannot measure: "${target}" ended with code ${code}, expected 0`);
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
  const reader = stream.getReader();
  while (!(await reader.read()).done);
}
