/** Small servers on loopback that speak in lines or in WebSocket messages, in a separate process. */
import { runArguments } from "../testing/source.ts";
import { endChild, startChild } from "./children.ts";

/** The ports of the servers, each on 127.0.0.1. */
export interface DialogPorts {
  /** Responds to each command as Redis does to `PING`. */
  readonly redis: number;
  /** Greets, and responds to `EHLO` and `QUIT`, as a mail server does. */
  readonly smtp: number;
  /** Accepts WebSockets and returns each message. */
  readonly websocket: number;
}

/** Starts the servers; they stop when the returned object is disposed of. */
export async function startDialogServers(): Promise<DialogPorts & AsyncDisposable> {
  const args = [...runArguments(["--allow-net=127.0.0.1"]), import.meta.filename ?? ""];
  const child = startChild([Deno.execPath(), ...args], { stdout: "piped" });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  return {
    ...JSON.parse(value) as DialogPorts,
    [Symbol.asyncDispose]: async () => {
      await endChild(child, 1_000);
      await reader.cancel();
    },
  };
}

/** Serves lines: an optional greeting, and the response to each line that arrives; `null` ends the connection. */
function serveLines(greeting: string, respond: (line: string) => string | null): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const encoder = new TextEncoder();
  const converse = async (connection: Deno.Conn): Promise<void> => {
    if (greeting !== "") await connection.write(encoder.encode(greeting));
    let rest = "";
    for await (const part of connection.readable.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\r\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const response = respond(line);
        if (response === null) return;
        if (response !== "") await connection.write(encoder.encode(response));
      }
    }
  };
  const accept = async (): Promise<void> => {
    for await (const connection of listener) {
      converse(connection).catch(() => {}).finally(() => {
        try {
          connection.close();
        } catch {
          // The other side has closed it.
        }
      });
    }
  };
  accept();
  return listener.addr.port;
}

if (import.meta.main) {
  const redis = serveLines("", (line) => line === "PING" ? "+PONG\r\n" : "");
  const smtp = serveLines(
    "220 mail.example.org ESMTP\r\n",
    (line) => line === "QUIT" ? null : "250-mail.example.org\r\n250 SIZE 1000000\r\n",
  );
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) => socket.send(data);
    return response;
  });
  console.log(JSON.stringify({ redis, smtp, websocket: server.addr.port }));
}
