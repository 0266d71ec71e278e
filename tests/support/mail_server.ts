/** SMTP servers on loopback: a real one, one behind TLS, and scripted ones. */
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { inTime } from "../life/in_time.ts";
import type { Certificate } from "./certificates.ts";
import { startServer, type Visitor } from "./http_servers.ts";

export {
  startServer as startScriptedServer,
  type TestServer as ScriptedServer,
  type Visitor as MailVisitor,
} from "./http_servers.ts";

export interface ReceivedMail {
  readonly raw: string;
  readonly sender: string;
  readonly receivers: readonly string[];
}

export interface MailServer extends AsyncDisposable {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
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
      await front?.[Symbol.asyncDispose]();
      await inTime("the mail server to end", new Promise<void>((done) => server.close(() => done())));
    },
  };
}

/** The error that makes `smtp-server` give a reply such as `550 no such user`. */
function replyError(reply: string): Error {
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
}

/**
 * Runs the session up to a command, accepting everything; the command's line is read without a reply. `extensions`
 * are the lines of EHLO, `answerLogin` replies to a login.
 */
export async function talkUpTo(
  command: RegExp,
  visitor: Visitor,
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

/**
 * Starts TLS before a server without it: `smtp-server` does not support it on Deno 2.7, whose server-side `node:tls`
 * lacks functions that it calls.
 */
function startFront(
  plainPort: number,
  { certificate, begin }: { readonly certificate: Certificate; readonly begin: "from_start" | "STARTTLS" },
): AsyncDisposable & { readonly port: number } {
  const isFirst = begin === "from_start";
  const secured = startServer(async (visitor) => {
    // A client that rejects the certificate never reaches the server.
    await (visitor.connection as Deno.TlsConn).handshake();
    const plain = await Deno.connect({ hostname: "127.0.0.1", port: plainPort });
    // The greeting was given before TLS began.
    if (!isFirst) await plain.read(new Uint8Array(512));
    await visitor.exchange(plain);
  }, { certificate });
  if (isFirst) return secured;
  const clear = startServer(async (visitor) => {
    await talkUpTo(/^STARTTLS$/i, visitor, ["STARTTLS", "AUTH PLAIN"]);
    const inner = await Deno.connect({ hostname: "127.0.0.1", port: secured.port });
    await visitor.send("220 go ahead\r\n");
    await visitor.exchange(inner);
  });
  return {
    port: clear.port,
    async [Symbol.asyncDispose]() {
      await clear[Symbol.asyncDispose]();
      await secured[Symbol.asyncDispose]();
    },
  };
}
