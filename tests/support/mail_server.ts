/** SMTP servers on loopback: a real one, one behind TLS, and scripted ones. */
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { inTime } from "../life/in_time.ts";
import type { Certificate } from "./certificates.ts";

/** An accepted email. */
export interface ReceivedMail {
  readonly raw: string;
  readonly sender: string;
  readonly receivers: readonly string[];
}

/** A server that runs until it is disposed of. */
export interface MailServer extends AsyncDisposable {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
  /** The names that logged in, in order. */
  readonly logins: readonly string[];
  /** Sends all clients a timeout, and closes their connections. */
  sendAway(): void;
}

export interface MailServerOptions {
  /** Uses TLS with this certificate, from the start or after STARTTLS. */
  readonly tls?: { readonly certificate: Certificate; readonly begin: "from_start" | "STARTTLS" };
  /** The only right password; without one no login is offered. */
  readonly password?: string;
  /** Replies to rejected receivers, such as `{ "a@example.org": "550 no such user" }`. */
  readonly refusals?: Readonly<Record<string, string>>;
  /** Called when an email's content follows, before the client is requested to send it. */
  readonly onContent?: () => void;
  /** Called with an email before the reply; `false`: the connection is closed instead. */
  readonly onMail?: (mail: ReceivedMail) => Promise<boolean>;
}

/** Starts npm `smtp-server`. */
export async function startMailServer(
  { tls, password, refusals = {}, onContent, onMail }: MailServerOptions = {},
): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const logins: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    disabledCommands: password === undefined ? ["STARTTLS", "AUTH"] : ["STARTTLS"],
    allowInsecureAuth: true,
    onAuth(login, _session, done) {
      if (login.password !== password) return done(replyError("535 5.7.8 Authentication failed"));
      logins.push(login.username ?? "");
      done(null, { user: login.username });
    },
    onRcptTo({ address }, _session, done) {
      const refusal = refusals[address];
      if (refusal === undefined) done();
      else done(replyError(refusal));
    },
    onData(stream, session, done) {
      onContent?.();
      const decoder = new TextDecoder();
      let raw = "";
      stream.on("data", (chunk: Uint8Array) => raw += decoder.decode(chunk, { stream: true }));
      stream.on("end", async () => {
        const { mailFrom, rcptTo } = session.envelope;
        const sender = mailFrom === false ? "" : mailFrom.address;
        const mail = { raw, sender, receivers: rcptTo.map(({ address }) => address) };
        mails.push(mail);
        if (onMail === undefined || await onMail(mail)) done();
        else for (const visit of server.connections) if (visit.session === session) visit.close();
      });
    },
  });
  // A client that resets its connection is no news here.
  server.on("error", () => {});
  const { promise: isListening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", () => resolve());
  await inTime("the mail server to listen", isListening);
  const { port: plainPort } = server.server.address() as AddressInfo;
  const front = tls === undefined ? null : startFront(plainPort, tls);
  return {
    port: front?.port ?? plainPort,
    mails,
    logins,
    sendAway: () => {
      for (const visit of server.connections) visit.send(421, "Timeout - closing connection");
    },
    async [Symbol.asyncDispose]() {
      await inTime("the front of the mail server to end", front?.close() ?? Promise.resolve());
      await inTime("the mail server to end", new Promise<void>((done) => server.close(() => done())));
    },
  };
}

/** The error that makes `smtp-server` give a reply such as `550 no such user`. */
function replyError(reply: string): Error {
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
}

/** A client's connection, as read by the server. */
export interface MailVisitor {
  /** Reads one line, without its end; fails when the client has left. */
  readLine(): Promise<string>;
  /** Reads so many bytes or more; fails when the client leaves before. */
  readBytes(count: number): Promise<void>;
  /** Fails when the client has left. */
  send(text: string): Promise<void>;
  /** Carries bytes between the client and another connection until that one ends. */
  exchange(other: Deno.Conn): Promise<void>;
  /** Ends when the client has left. */
  untilGone(): Promise<void>;
}

/** A server that follows a script. */
export interface ScriptedServer extends AsyncDisposable {
  readonly port: number;
  /** Everything that clients sent, in order. */
  readonly received: string;
}

/** Starts a server that passes every connection to `meet`, and closes the connection when that is done. */
export function startScriptedServer(meet: (visitor: MailVisitor) => Promise<void>): ScriptedServer {
  let received = "";
  const listening = listen(Deno.listen({ hostname: "127.0.0.1", port: 0 }), async (connection) => {
    const visitor = visitorOf(connection, (text) => received += text);
    await meet(visitor);
  });
  return {
    port: listening.port,
    get received() {
      return received;
    },
    [Symbol.asyncDispose]: () => inTime("the scripted server to end", listening.close()),
  };
}

/**
 * Runs the session up to a command, accepting everything; the command's line is read without a reply. `extensions`
 * are the lines of EHLO, `answerLogin` replies to a login.
 */
export async function talkUpTo(
  command: RegExp,
  visitor: MailVisitor,
  extensions: readonly string[] = ["AUTH PLAIN"],
  answerLogin: (line: string) => string = () => "235 welcome",
): Promise<void> {
  await visitor.send("220 mail.example.org ESMTP\r\n");
  while (true) {
    const line = await visitor.readLine();
    if (command.test(line)) return;
    if (/^EHLO/i.test(line)) {
      const lines = ["mail.example.org", ...extensions];
      await visitor.send(
        lines.map((text, index) => `250${index === lines.length - 1 ? " " : "-"}${text}\r\n`).join(""),
      );
    } else {
      await visitor.send(`${/^AUTH/i.test(line) ? answerLogin(line) : "250 ok"}\r\n`);
    }
  }
}

interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

function listen<C extends Deno.Conn>(
  listener: { readonly addr: Deno.Addr; accept(): Promise<C>; close(): void },
  serve: (connection: C) => Promise<void>,
): Listening {
  const open = new Set<C>();
  const talks = new Set<Promise<void>>();
  const accepting = (async () => {
    while (true) {
      let connection: C;
      try {
        connection = await listener.accept();
      } catch (error) {
        if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) return;
        continue;
      }
      open.add(connection);
      // Errors of a script because the client has disconnected are ignored.
      const talk = serve(connection).catch(() => {}).finally(() => {
        closeQuietly(connection);
        open.delete(connection);
        talks.delete(talk);
      });
      talks.add(talk);
    }
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    async close() {
      listener.close();
      for (const connection of open) closeQuietly(connection);
      await Promise.all([accepting, ...talks]);
    },
  };
}

function visitorOf(connection: Deno.Conn, onText: (text: string) => void): MailVisitor {
  const buffer = new Uint8Array(65_536);
  let waiting = "";
  let count = 0;
  const readMore = async (): Promise<void> => {
    const length = await connection.read(buffer);
    if (length === null) throw new Error("The client has left");
    const text = new TextDecoder("latin1").decode(buffer.subarray(0, length));
    count += length;
    waiting += text;
    onText(text);
  };
  return {
    async readLine() {
      while (!waiting.includes("\n")) await readMore();
      const end = waiting.indexOf("\n");
      const line = waiting.slice(0, end).replace(/\r$/, "");
      waiting = waiting.slice(end + 1);
      return line;
    },
    async readBytes(wanted) {
      for (const before = count; count < before + wanted;) await readMore();
    },
    async send(text) {
      let rest = new TextEncoder().encode(text);
      while (rest.length > 0) rest = rest.subarray(await connection.write(rest));
    },
    async exchange(other) {
      const carry = async (from: Deno.Conn, to: Deno.Conn): Promise<void> => {
        const chunk = new Uint8Array(16_384);
        for (let length = await from.read(chunk); length !== null; length = await from.read(chunk)) {
          for (let rest = chunk.subarray(0, length); rest.length > 0;) {
            rest = rest.subarray(await to.write(rest));
          }
        }
      };
      // The client's side goes on until it leaves.
      carry(connection, other).then(() => other.closeWrite()).catch(() => {});
      await carry(other, connection);
    },
    async untilGone() {
      try {
        while (await connection.read(buffer) !== null);
      } catch {
        // Gone with a reset.
      }
    },
  };
}

/**
 * Starts TLS before a server without it: `smtp-server` does not support it on Deno 2.7, whose server-side `node:tls`
 * lacks functions that it calls.
 */
function startFront(
  plainPort: number,
  { certificate, begin }: { readonly certificate: Certificate; readonly begin: "from_start" | "STARTTLS" },
): Listening {
  const address = { hostname: "127.0.0.1", port: 0 };
  const isFirst = begin === "from_start";
  const secured = listen(Deno.listenTls({ ...address, ...certificate }), async (connection) => {
    // A client that rejects the certificate never reaches the server.
    await connection.handshake();
    const plain = await Deno.connect({ hostname: "127.0.0.1", port: plainPort });
    // The greeting was given before TLS began.
    if (!isFirst) await visitorOf(plain, () => {}).readLine();
    await join(connection, plain);
  });
  if (isFirst) return secured;
  const clear = listen(Deno.listen(address), async (connection) => {
    const visitor = visitorOf(connection, () => {});
    await talkUpTo(/^STARTTLS$/i, visitor, ["STARTTLS", "AUTH PLAIN"]);
    const inner = await Deno.connect({ hostname: "127.0.0.1", port: secured.port });
    await visitor.send("220 go ahead\r\n");
    await join(connection, inner);
  });
  return {
    port: clear.port,
    async close() {
      await clear.close();
      await secured.close();
    },
  };
}

/** Carries bytes both ways until either side ends. */
async function join(one: Deno.Conn, other: Deno.Conn): Promise<void> {
  const carry = async (from: Deno.Conn, to: Deno.Conn): Promise<void> => {
    try {
      await from.readable.pipeTo(to.writable);
    } catch {
      // One side has left, so the other one is sent away.
    }
    closeQuietly(one);
    closeQuietly(other);
  };
  await Promise.all([carry(one, other), carry(other, one)]);
}

function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // Closed before.
  }
}
