import { fileURLToPath } from "node:url";
import { inTime } from "../life/in_time.ts";
import { requiresTools, startChild, tool } from "../../testing/tools.ts";

export interface ShownNotification {
  readonly application: string;
  readonly icon: string;
  readonly title: string;
  readonly body: string;
  /** 0 low, 1 normal, 2 critical. */
  readonly urgency: number;
}

/** A separate session bus, which stops when it is disposed of. */
export interface SessionBus extends AsyncDisposable {
  /** For `DBUS_SESSION_BUS_ADDRESS`. */
  readonly address: string;
  /** The next notification that the service was given; waits for it. */
  next(): Promise<ShownNotification>;
}

/**
 * The kind of service: one that shows (and prints) notifications, one that accepts them and never responds, or none.
 */
export type ServiceKind = "shows" | "mute" | "none";

const SERVICE = fileURLToPath(new URL("./notification_service.py", import.meta.url));

const COMMANDS: Readonly<Record<ServiceKind, () => readonly string[]>> = {
  shows: () => [tool("python3"), SERVICE],
  mute: () => [tool("python3"), SERVICE, "mute"],
  none: () => [tool("sh"), "-c", 'echo "\\"$DBUS_SESSION_BUS_ADDRESS\\""; read -r line'],
};

/** Returns whether a test with a session bus is ignored because a tool is missing. */
export function requiresSessionBus(): { readonly ignore: boolean } {
  return requiresTools("dbus-run-session", "notify-send", "python3", "python3-dbus", "python3-gi");
}

/**
 * Starts a session bus.
 * @throws {Error} If it does not start.
 */
export async function startSessionBus(kind: ServiceKind): Promise<SessionBus> {
  const bus = startChild(tool("dbus-run-session"), ["--", ...COMMANDS[kind]()], {
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const complaints = new Response(bus.stderr).text();
  const lines = readLines(bus.stdout);
  const next = async (): Promise<string> => {
    const { value, done } = await inTime("a line of the session bus", lines.next());
    if (done) throw new Error(`The session bus has ended: ${await complaints}`);
    return value;
  };
  const address: string = JSON.parse(await next());
  return {
    address,
    next: async () => JSON.parse(await next()),
    async [Symbol.asyncDispose]() {
      // The service ends with its input, and the bus with the service.
      await inTime("the session bus to take its end", bus.stdin.close());
      await inTime(
        "the end of the session bus",
        Promise.all([lines.return(undefined), bus.status, complaints]),
      );
    },
  };
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
