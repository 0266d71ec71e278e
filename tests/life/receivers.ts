/** Receivers of notifications: a webhook and an SMTP server on loopback that can fail. */
import PostalMime from "postal-mime";
import { type MailServer, startMailServer } from "../support/mail_server.ts";
import { startServer } from "../support/http_servers.ts";
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
      return new Response("", { status });
    },
  );
  const hook: Hook = {
    channel: { kind: "webhook", parameters: { target: `http://127.0.0.1:${server.addr.port}/` } },
    posts,
    get attempts() {
      return attempts;
    },
    status: 200,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await inTime("the server to end", server.finished);
    },
  };
  return hook;
}

/** A webhook, or target, that rejects everything with an echo of the request. */
export interface EchoServer extends AsyncDisposable {
  readonly port: number;
  /** The head of each request, in JSON. */
  readonly heads: readonly string[];
  readonly bodies: readonly string[];
}

/** Starts a server that has the head of the request as JSON in a header and in the body of each response. */
export function startEchoServer(): EchoServer {
  const heads: string[] = [];
  const bodies: string[] = [];
  const abort = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: abort.signal, onListen: () => {} },
    async (request) => {
      bodies.push(await request.text());
      const head = JSON.stringify([...request.headers, decodeURIComponent(request.url), request.url]);
      heads.push(head);
      const headers = { "X-Asked": head, "Content-Type": "application/json" };
      return new Response(head, { status: 500, headers });
    },
  );
  return {
    port: server.addr.port,
    heads,
    bodies,
    async [Symbol.asyncDispose]() {
      abort.abort();
      await inTime("the server to end", server.finished);
    },
  };
}

/** An SMTP server that can be down. */
export interface Mailbox extends AsyncDisposable {
  /** The channel in a config. */
  readonly channel: Readonly<Record<string, unknown>>;
  /** Whether it accepts emails; otherwise each connection is closed at once. */
  isUp: boolean;
  /** The number of connections. */
  readonly attempts: number;
  /** The emails as received. */
  readonly raw: MailServer["mails"];
  read(): Promise<readonly { readonly subject: string; readonly text: string }[]>;
}

/** Starts an SMTP server behind a separate port, which stays the same while it is down. */
export async function startMailbox(password = "let me in"): Promise<Mailbox> {
  const server = await startMailServer({ password });
  const gate = startServer(async (visitor) => {
    if (!mailbox.isUp) return;
    await visitor.exchange(await Deno.connect({ hostname: "127.0.0.1", port: server.port }));
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
    get attempts() {
      return gate.visits;
    },
    raw: server.mails,
    read: () =>
      Promise.all(server.mails.map(async ({ raw }) => {
        const { subject = "", text = "" } = await PostalMime.parse(raw);
        return { subject, text };
      })),
    async [Symbol.asyncDispose]() {
      await gate[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
  return mailbox;
}
