/**
 * Email over SMTP (RFC 5321): nodemailer composes it, and a small client submits it over connections like those of the
 * checks.
 *
 * Invariant: when `send` is done, whatever came of it, its connection is gone.
 */
import { startDeadline } from "../../shared/deadline.ts";
import { isIP } from "node:net";
import type { Clock } from "../../domain/clock.ts";
import type { HandshakeTarget } from "../../domain/connections.ts";
import type { Mail, MailEnd, OutgoingMail } from "../../domain/mail.ts";
import { connectTcp } from "../tcp/connect_tcp.ts";
import { lookUpName } from "../tcp/look_up_name.ts";
import { withoutBrackets } from "../tcp/tcp_stream.ts";
import { failsForGood, isLastingTlsError } from "../tls/tls_problem.ts";
import { compose } from "./compose.ts";
import { mailFailure, type MailProgress, SmtpError } from "./mail_failure.ts";
import { type Protection, type ProtectionFacts, protectionOf } from "./mail_protection.ts";
import { converse } from "./mail_session.ts";
import { SmtpConnection } from "./smtp_connection.ts";

export function createMail(
  clock: Clock,
  protect: (facts: ProtectionFacts) => Protection = protectionOf,
): Mail {
  return {
    async send(mail, { onStep, signal }): Promise<MailEnd> {
      signal.throwIfAborted();
      const composed = await compose(mail);
      let tcp: Deno.TcpConn;
      try {
        tcp = await connectToServer(mail, { clock, onStep, signal });
      } catch (error) {
        signal.throwIfAborted();
        return mailFailure(error, { phase: "connecting", wasHandedOver: false }, mail);
      }
      const protection = protect({
        port: mail.port,
        address: tcp.remoteAddr.hostname,
        hasLogin: mail.username !== "",
      });
      const ownName = addressLiteral(tcp.localAddr.hostname);
      const progress: MailProgress = { phase: "greeting", wasHandedOver: false };
      const connection = new SmtpConnection(tcp, { clock, signal });
      try {
        return await converse(connection, mail, { composed, protection, ownName, progress, onStep });
      } catch (error) {
        signal.throwIfAborted();
        const failure = mailFailure(error, progress, mail);
        if (progress.phase !== "TLS" || !isLastingTlsError(error)) return failure;
        // The bytes of one handshake may have been garbled on the way.
        const isLasting = await failsForGood(handshakeWith(mail, protection), { clock, signal });
        signal.throwIfAborted();
        return { ...failure, retryable: !isLasting };
      } finally {
        connection.close();
      }
    },
  };
}

/** Without it, a network without a response would keep an attempt for minutes. */
const CONNECT_MS = 30_000;

interface ConnectOptions {
  readonly clock: Clock;
  onStep(step: string): void;
  readonly signal: AbortSignal;
}

/**
 * Connects to an SMTP server, in clear text on every port. Rejects with the signal's reason, or with the system's
 * error.
 */
export async function connectToServer(
  { host, port }: Pick<OutgoingMail, "host" | "port">,
  { clock, onStep, signal }: ConnectOptions,
): Promise<Deno.TcpConn> {
  signal.throwIfAborted();
  const lateReason = new SmtpError("no response to the connection attempt");
  using deadline = startDeadline(clock, CONNECT_MS, signal, lateReason);
  const target = { host: withoutBrackets(host), port };
  if (isIP(target.host) === 0) {
    await lookUpName(target, deadline.signal);
    onStep("resolved");
  }
  const connection = await connectTcp(target, { clock, signal: deadline.signal });
  onStep("connected");
  return connection;
}

/** RFC 5321, section 4.1.3: it is always correct, and reading it requires no permission. */
function addressLiteral(address: string): string {
  return address.includes(":") ? `[IPv6:${address}]` : `[${address}]`;
}

function handshakeWith({ host, port }: OutgoingMail, protection: Protection): HandshakeTarget {
  const target = { host, port, tls: { serverName: host, authorities: [] } };
  return protection === "from_start" ? target : { ...target, startTls: "smtp" };
}
