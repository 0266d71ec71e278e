/** Where reports arrive: a webhook and a mail server on loopback, which a test lets fail. */
import PostalMime from "postal-mime";
import { type MailServer, startMailServer } from "../support/mail_server.ts";

/** A report as a webhook tells it. */
export interface PostedReport {
  readonly id: string;
  readonly check: string;
  readonly event: string;
  readonly condition: string;
  readonly previous: string;
  readonly decided_at: string;
  readonly missed_problem: PostedReport | null;
}

/** One message that was posted. */
export interface Post {
  readonly key: string;
  readonly reports: readonly PostedReport[];
}

/** A webhook. */
export interface Hook extends AsyncDisposable {
  /** The channel in a document. */
  readonly channel: Readonly<Record<string, unknown>>;
  /** What came and was taken, twins too. */
  readonly posts: readonly Post[];
  /** How often it was asked. */
  readonly attempts: number;
  /** What it answers; what is not 200 was not taken. */
  status: number;
  /** How long an answer takes. */
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
      const { reports } = await request.json() as { readonly reports: readonly PostedReport[] };
      if (hook.status === 200) posts.push({ key: request.headers.get("Idempotency-Key") ?? "", reports });
      await new Promise((resolve) => setTimeout(resolve, hook.delayMs()));
      return new Response("", { status: hook.status });
    },
  );
  const hook: Hook = {
    channel: { kind: "webhook", parameters: { target: `http://127.0.0.1:${server.addr.port}/` } },
    posts,
    get attempts() {
      return attempts;
    },
    status: 200,
    delayMs: () => 0,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await server.finished;
    },
  };
  return hook;
}

/** A mail as a reader sees it. */
export interface ReadMail {
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  readonly dateMs: number;
  readonly references: string;
}

/** A mail server that can be down. */
export interface Mailbox extends AsyncDisposable {
  /** The channel in a document. */
  readonly channel: Readonly<Record<string, unknown>>;
  /** Whether it takes mail; otherwise each connection is closed at once. */
  isUp: boolean;
  /** How often somebody connected. */
  readonly attempts: number;
  /** The mails as they came. */
  readonly raw: MailServer["mails"];
  read(): Promise<readonly ReadMail[]>;
}

/** Starts a mail server, with a port of its own before it that stays the same while it is down. */
export async function startMailbox(password = "let me in"): Promise<Mailbox> {
  const server = await startMailServer({ password });
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let attempts = 0;
  const talks = new Set<Promise<void>>();
  const accept = async (): Promise<void> => {
    for await (const client of listener) {
      attempts++;
      if (!mailbox.isUp) {
        client.close();
        continue;
      }
      const talk = carry(client, server.port).finally(() => talks.delete(talk));
      talks.add(talk);
    }
  };
  const accepting = accept();
  const mailbox: Mailbox = {
    channel: {
      kind: "email",
      parameters: {
        access: { host: "127.0.0.1", port: listener.addr.port, username: "monitor", password },
        sender: "monitor@example.org",
        receivers: ["admin@example.org"],
        tags: ["ops"],
      },
    },
    isUp: true,
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
      listener.close();
      await accepting;
      await server[Symbol.asyncDispose]();
      await Promise.all(talks);
    },
  };
  return mailbox;
}

async function carry(client: Deno.Conn, port: number): Promise<void> {
  const server = await Deno.connect({ hostname: "127.0.0.1", port });
  const pipe = (from: Deno.Conn, to: Deno.Conn): Promise<void> =>
    from.readable.pipeTo(to.writable).catch(() => {});
  await Promise.all([pipe(client, server), pipe(server, client)]);
}
