/**
 * Mail over SMTP (RFC 5321): nodemailer composes the mail and speaks the protocol, over a socket that is connected
 * here, since nodemailer resolves names itself and may not where only a host and a port are granted.
 *
 * Invariant: when `send` is done, whatever came of it, its socket is gone.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Mail, MailEnd, OutgoingMail } from "../../domain/mail.ts";
import { connectFailure, refusal } from "./mail_failure.ts";
import { converse, prepareMail } from "./mail_session.ts";
import { type Protection, type ProtectionFacts, protectionOf } from "./mail_protection.ts";
import { connectSocket, type MailSocket } from "./mail_socket.ts";
import { explainHandshake } from "../tls/tls_problem.ts";
import { explainTrustError, requireTrust } from "../tls/trust.ts";
import type { HandshakeTarget } from "../tls/try_handshake.ts";

/** Mail as the machine sends it; `protect` decides what is encrypted. */
export function createMail(
  clock: Clock,
  protect: (facts: ProtectionFacts) => Protection = protectionOf,
): Mail {
  return {
    async send(mail, { onStep, signal }): Promise<MailEnd> {
      signal.throwIfAborted();
      const prepared = await prepareMail(mail);
      signal.throwIfAborted();
      let socket: MailSocket;
      try {
        socket = await connectSocket(mail, { clock, onStep, signal });
      } catch (error) {
        signal.throwIfAborted();
        return connectFailure(error, mail);
      }
      const protection = protect({
        port: mail.port,
        address: socket.remoteAddress,
        hasLogin: mail.username !== "",
      });
      try {
        // nodemailer begins TLS by itself, and would wait.
        if (protection !== "none") requireTrust();
      } catch (error) {
        socket.destroy();
        const reason = explainTrustError(error);
        return reason === null ? connectFailure(error, mail) : refusal("TLS", reason);
      }
      const explain = () => explainHandshake(handshakeWith(mail, protection), { clock, signal });
      try {
        return await converse(socket, mail, { prepared, protection, clock, explain, onStep, signal });
      } finally {
        socket.destroy();
      }
    },
  };
}

function handshakeWith({ host, port }: OutgoingMail, protection: Protection): HandshakeTarget {
  const target = { host, port, tls: { serverName: host, authorities: [] } };
  return protection === "from_start" ? target : { ...target, startTls: "smtp" };
}
