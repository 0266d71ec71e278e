import { dirname } from "node:path";
import type { Clock } from "../domain/clock.ts";
import { ControlSocketError, type ControlSockets } from "../domain/http_servers.ts";
import { closeQuietly, writeAll } from "./tcp/tcp_stream.ts";

/** The limit of a response, which may contain the largest config as JSON. */
const TEXT_LENGTH_MAX = 256 * 1024 * 1024;
const LINE_MS_MAX = 10_000;
const OTHERS_ENTER = 0o077;
/** Comes at once, before the response: the process is not frozen. */
const TAKEN = "\n";

/** Unix sockets. Without a known user, directories are accepted by their permissions alone. */
export function createControlSockets(clock: Clock, userId: number | null): ControlSockets {
  return {
    listen: async (path, handle) => {
      await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await requirePrivate(dirname(path), userId);
      await removeSocket(path);
      const listener = Deno.listen({ transport: "unix", path });
      await Deno.chmod(path, 0o600);
      const open = new Set<Deno.Conn>();
      const accepting = accept(listener, (connection) => {
        open.add(connection);
        void serve(connection, { clock, handle }).finally(() => {
          open.delete(connection);
          closeQuietly(connection);
        });
      });
      return async () => {
        listener.close();
        for (const connection of open) closeQuietly(connection);
        await accepting;
        await removeSocket(path);
      };
    },
    send: async (path, line, { timeoutMs = LINE_MS_MAX } = {}) => {
      let connection: Deno.Conn;
      try {
        connection = await Deno.connect({ transport: "unix", path });
      } catch (error) {
        if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.ConnectionRefused) {
          return null;
        }
        throw error;
      }
      const cancel = clock.after(timeoutMs, () => closeQuietly(connection));
      const silence = new ControlSocketError(`no response for ${timeoutMs / 1000} s`);
      try {
        await writeAll(connection, new TextEncoder().encode(`${line}\n`));
        const first = await readText(connection, (text) => text !== "").catch(() => Promise.reject(silence));
        cancel();
        return (first + await readText(connection, () => false)).replace(TAKEN, "");
      } finally {
        cancel();
        closeQuietly(connection);
      }
    },
  };
}

async function requirePrivate(directory: string, userId: number | null): Promise<void> {
  const { mode, uid } = await Deno.stat(directory);
  if (((mode ?? 0) & OTHERS_ENTER) === 0 && (userId === null || uid === userId)) return;
  throw new ControlSocketError(`other users may enter "${directory}", use one of mode 700 of this user`);
}

/** Removes the leftover of a service that died. The lock of the state ensures that no other one runs. */
async function removeSocket(path: string): Promise<void> {
  try {
    if ((await Deno.lstat(path)).isSocket) await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function accept(listener: Deno.Listener, use: (connection: Deno.Conn) => void): Promise<void> {
  try {
    for await (const connection of listener) use(connection);
  } catch {
    // Only the socket of the same user ends so.
  }
}

async function serve(
  connection: Deno.Conn,
  { clock, handle }: { readonly clock: Clock; handle(line: string): Promise<string> },
): Promise<void> {
  try {
    const cancel = clock.after(LINE_MS_MAX, () => closeQuietly(connection));
    const text = await readText(connection, (text) => text.includes("\n")).finally(cancel);
    // It fails if the client has ended: its request is not carried out late.
    await writeAll(connection, new TextEncoder().encode(TAKEN));
    const response = await handle(text.split("\n")[0] ?? "");
    await writeAll(connection, new TextEncoder().encode(response));
  } catch {
    // The command was ended.
  }
}

async function readText(connection: Deno.Conn, isWhole: (text: string) => boolean): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(16_384);
  let text = "";
  while (!isWhole(text)) {
    const count = await connection.read(buffer);
    if (count === null) break;
    text += decoder.decode(buffer.subarray(0, count), { stream: true });
    if (text.length > TEXT_LENGTH_MAX) throw new Error("The text is too long");
  }
  return text;
}
