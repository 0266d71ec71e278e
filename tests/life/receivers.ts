/** Receivers of notifications: a webhook and an SMTP server on loopback that can fail. */
import PostalMime from "postal-mime";
import { type MailServer, startMailServer } from "../support/mail_server.ts";
import { inTime } from "./in_time.ts";

/** A notification in a webhook's request. */
export interface PostedNotification {
  readonly id: string;
  readonly check: string;
  readonly event: string;
  readonly condition: string;
  readonly previous: string;
  readonly output: string;
  readonly decided_at: string;
  readonly missed_problem: PostedNotification | null;
}

/** One message that was posted. */
export interface Post {
  readonly key: string;
  readonly notifications: readonly PostedNotification[];
}

/** A webhook. */
export interface Hook extends AsyncDisposable {
  /** The channel in a config. */
  readonly channel: Readonly<Record<string, unknown>>;
  /** The accepted posts, including duplicates. */
  readonly posts: readonly Post[];
  /** How often it was asked. */
  readonly attempts: number;
  /** The status of its responses; any other than 200 rejects the post. */
  status: number;
  /** Returns how many bytes of a connection get through, both ways together, before it breaks. */
  bytesMax(): number;
  /** Returns the delay of a response. */
  delayMs(): number;
}

/** Starts a webhook. */
export function startHook(): Hook {
  const posts: Post[] = [];
  let attempts = 0;
  const abort = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: abort.signal, onListen: () => {} },
    async (request) => {
      attempts++;
      const body = await request.text().catch(() => null);
      // The connection broke before the end.
      if (body === null) return new Response("", { status: 400 });
      const { notifications } = JSON.parse(body) as { readonly notifications: readonly PostedNotification[] };
      // The status applies to one post, whatever the next one gets.
      const { status } = hook;
      if (status === 200) posts.push({ key: request.headers.get("Idempotency-Key") ?? "", notifications });
      await new Promise((resolve) => setTimeout(resolve, hook.delayMs()));
      return new Response("", { status });
    },
  );
  const gate = startGate((client) => carry(client, server.addr.port, hook.bytesMax()));
  const hook: Hook = {
    channel: { kind: "webhook", parameters: { target: `http://127.0.0.1:${gate.port}/` } },
    posts,
    get attempts() {
      return attempts;
    },
    status: 200,
    delayMs: () => 0,
    bytesMax: () => Infinity,
    async [Symbol.asyncDispose]() {
      await inTime("the gate to close", gate.close());
      abort.abort();
      await inTime("the server to end", server.finished);
    },
  };
  return hook;
}

/** A parsed email. */
export interface ReadMail {
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  readonly dateMs: number;
  readonly references: string;
}

/** An SMTP server that can be down. */
export interface Mailbox extends AsyncDisposable {
  /** The channel in a config. */
  readonly channel: Readonly<Record<string, unknown>>;
  /** Whether it accepts emails; otherwise each connection is closed at once. */
  isUp: boolean;
  /** Returns how many bytes of a connection get through, both ways together, before it breaks. */
  bytesMax(): number;
  /** The number of connections. */
  readonly attempts: number;
  /** The emails as received. */
  readonly raw: MailServer["mails"];
  read(): Promise<readonly ReadMail[]>;
}

/** Starts an SMTP server behind a separate port, which stays the same while it is down. */
export async function startMailbox(password = "let me in"): Promise<Mailbox> {
  const server = await startMailServer({ password });
  let attempts = 0;
  const gate = startGate(async (client) => {
    attempts++;
    if (mailbox.isUp) await carry(client, server.port, mailbox.bytesMax());
    else client.close();
  });
  const mailbox: Mailbox = {
    channel: {
      kind: "email",
      parameters: {
        access: { host: "127.0.0.1", port: gate.port, username: "monitor", password },
        sender: "monitor@example.org",
        receivers: ["admin@example.org"],
        tags: ["ops"],
      },
    },
    isUp: true,
    bytesMax: () => Infinity,
    get attempts() {
      return attempts;
    },
    raw: server.mails,
    read: () =>
      Promise.all(server.mails.map(async ({ raw }) => {
        const mail = await PostalMime.parse(raw);
        return {
          messageId: mail.messageId ?? "",
          subject: mail.subject ?? "",
          text: mail.text ?? "",
          dateMs: Date.parse(mail.date ?? ""),
          references: mail.references ?? "",
        };
      })),
    async [Symbol.asyncDispose]() {
      await inTime("the gate to close", gate.close());
      await server[Symbol.asyncDispose]();
    },
  };
  return mailbox;
}

/** A port whose connections are handled elsewhere. */
export interface Gate {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts such a port; closing it ends all connections. */
export function startGate(meet: (client: Deno.Conn) => Promise<void>): Gate {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const clients = new Set<Deno.Conn>();
  const talks = new Set<Promise<void>>();
  const accept = async (): Promise<void> => {
    for await (const client of listener) {
      clients.add(client);
      const talk = meet(client).catch(() => {}).finally(() => {
        talks.delete(talk);
        clients.delete(client);
      });
      talks.add(talk);
    }
  };
  const accepting = accept();
  return {
    port: listener.addr.port,
    close: async () => {
      listener.close();
      await accepting;
      for (const client of clients) closeQuietly(client);
      await Promise.all(talks);
    },
  };
}

/** Carries bytes to a port of this machine and back, so many in all; then both connections end. */
async function carry(client: Deno.Conn, port: number, bytesMax: number): Promise<void> {
  const server = await Deno.connect({ hostname: "127.0.0.1", port });
  let bytesLeft = bytesMax;
  const end = (): void => {
    closeQuietly(client);
    closeQuietly(server);
  };
  const pipe = async (from: Deno.Conn, to: Deno.Conn): Promise<void> => {
    const chunk = new Uint8Array(4096);
    while (bytesLeft > 0) {
      const count = await from.read(chunk);
      if (count === null) return await to.closeWrite();
      let rest = chunk.subarray(0, Math.min(count, bytesLeft));
      bytesLeft -= rest.length;
      while (rest.length > 0) rest = rest.subarray(await to.write(rest));
    }
    end();
  };
  await Promise.all([pipe(client, server).catch(end), pipe(server, client).catch(end)]);
  end();
}

/** Closes a connection that may be closed. */
export function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed by the other side's end.
  }
}
