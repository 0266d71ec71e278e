/**
 * The least code that does the same work at the same rate as a watching monitor: a timer that starts the next piece
 * of work when it is due, evenly spread. It keeps nothing and ends nothing that hangs.
 */

/** The repeated operation, on a URL or a command. */
export type RateWork = (target: string) => Promise<void>;

/** The pieces of work by name. */
export const RATE_WORK = {
  requests: bareRequest((response) => response.body?.cancel()),
  requests_for_body: bareRequest((response) => response.text()),
  redis_commands: bareDialog([["PING\r\n", "\n"]]),
  smtp_dialogs: bareDialog([["", "\n"], ["EHLO bench.invalid\r\n", "250 SIZE"], ["QUIT\r\n", null]]),
  websockets: bareWebSocket,
  files: bareFile,
  ends_of_files: bareEndOfFile,
  scripts: bareScript,
  scripts_in_groups: bareScriptInGroup,
} satisfies Record<string, RateWork>;

/** How often a piece of work is done. */
export interface Rate {
  /** How often in a second. */
  readonly perSecond: number;
  /** Maximum number of operations in progress; further ones wait. */
  readonly atATime: number;
}

/** Works until the process is ended. At SIGUSR1 it prints how many pieces are done. */
export function workAtRate(work: RateWork, target: string, { perSecond, atATime }: Rate): void {
  const beganMs = performance.now();
  let started = 0;
  let done = 0;
  let isFull = false;
  const finish = (): void => {
    done++;
    // No timer goes while nothing more may be started.
    if (isFull) next();
  };
  console.log("working");
  const next = (): void => {
    // The runtime's timers are whole milliseconds apart, so several pieces may be due.
    const due = 1 + Math.floor((performance.now() - beganMs) * perSecond / 1000);
    for (; started < due && started - done < atATime; started++) work(target).then(finish, fail);
    isFull = started < due;
    if (!isFull) setTimeout(next, Math.max(0, beganMs + started * 1000 / perSecond - performance.now()));
  };
  Deno.addSignalListener("SIGUSR1", () => console.log(done));
  next();
}

function fail(error: unknown): void {
  console.error(`bare: error: ${error instanceof Error ? error.message : String(error)}`);
  Deno.exit(1);
}

/** Sends a request over a new connection, and reads the requested part of the response. */
function bareRequest(read: (response: Response) => Promise<unknown> | undefined): RateWork {
  let client: Deno.HttpClient | null = null;
  return async (target) => {
    client ??= Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const response = await fetch(target, { client });
    await read(response);
    if (response.status !== 200) throw new Error(`${target} answered ${response.status}`);
  };
}

/** What is sent, and a text that ends the response; `null`: none is awaited. */
type Exchange = readonly [sent: string, end: string | null];

/** Connects to `HOST:PORT`, exchanges some texts and closes the connection. */
function bareDialog(exchanges: readonly Exchange[]): RateWork {
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  return async (target) => {
    const [hostname = "", port] = target.split(":");
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const buffer = new Uint8Array(1024);
    for (const [sent, end] of exchanges) {
      if (sent !== "") await connection.write(encoder.encode(sent));
      let received = "";
      while (end !== null && !received.includes(end)) {
        const count = await connection.read(buffer);
        if (count === null) throw new Error(`${target} closed the connection`);
        received += decoder.decode(buffer.subarray(0, count));
      }
    }
  };
}

/** Opens a WebSocket, sends a message and waits for one. */
function bareWebSocket(target: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = new WebSocket(target);
  socket.onopen = () => socket.send("hello");
  socket.onmessage = () => socket.close();
  socket.onclose = () => resolve();
  socket.onerror = () => reject(new Error(`${target} failed`));
  return promise;
}

/** Reads a file and finds a text in it. */
async function bareFile(target: string): Promise<void> {
  if (!(await Deno.readTextFile(target)).includes("of a log")) throw new Error(`${target} has another text`);
}

/** Opens a file and reads its last bytes. */
async function bareEndOfFile(target: string): Promise<void> {
  using file = await Deno.open(target);
  const { size } = await file.stat();
  await file.seek(size - 256, Deno.SeekMode.Start);
  await file.read(new Uint8Array(256));
}

/** Runs a command and reads its exit code. */
async function bareScript(target: string): Promise<void> {
  const { code } = await new Deno.Command(target).output();
  if (code !== 0) throw new Error(`${target} ended with code ${code}`);
}

/** Runs a command in its own process group, without which its leftover processes could not be terminated. */
async function bareScriptInGroup(target: string): Promise<void> {
  // `output()` keeps more memory, and a process with more memory takes longer to fork.
  const child = new Deno.Command(target, { detached: true, stdin: "null", stdout: "piped", stderr: "piped" })
    .spawn();
  const [{ code }] = await Promise.all([child.status, drain(child.stdout), drain(child.stderr)]);
  if (code !== 0) throw new Error(`${target} ended with code ${code}`);
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
  const reader = stream.getReader();
  while (!(await reader.read()).done);
}
