import { oneLine, quote } from "../../shared/text.ts";
import type { StartTlsProtocol } from "../../domain/connections.ts";

export interface ClearText {
  /** Returns the next bytes; `null` at its end. */
  read(): Promise<Uint8Array | null>;
  write(text: string): Promise<void>;
}

/** The server does not start TLS; the message has its reply, on one line. */
export class StartTlsRefusal extends Error {
  override readonly name = "StartTlsRefusal";
}

/** Runs the protocol up to TLS (RFC 3207, RFC 9051, RFC 2595). Throws a {@linkcode StartTlsRefusal} if that fails. */
export async function askForTls(clearText: ClearText, protocol: StartTlsProtocol): Promise<void> {
  for (const { says, good, complete } of CONVERSATIONS[protocol]) {
    if (says !== null) await clearText.write(`${says}\r\n`);
    await expectReply(clearText, good, complete);
  }
}

/** One turn: the text to send, the pattern of a complete good reply, and that of a complete one. */
interface Turn {
  /** `null`: the server sends first. */
  readonly says: string | null;
  readonly good: RegExp;
  readonly complete: RegExp;
}

/** The last line of a reply of SMTP has a space after the code. */
const SMTP_LINE = /^\d{3}(?: .*)?\r?\n/m;
const POP3_LINE = /^.*\r?\n/;

/** An address literal (RFC 5321, section 4.1.3): it is always correct, and reading it requires no permission. */
const CONVERSATIONS: Readonly<Record<StartTlsProtocol, readonly Turn[]>> = {
  smtp: [
    { says: null, good: /^220/, complete: SMTP_LINE },
    { says: "EHLO [127.0.0.1]", good: /^250/, complete: SMTP_LINE },
    { says: "STARTTLS", good: /^220/, complete: SMTP_LINE },
  ],
  imap: [
    { says: null, good: /^\* (?:OK|PREAUTH)\b/i, complete: /^.*\r?\n/ },
    { says: "a STARTTLS", good: /^a OK\b/im, complete: /^a .*\r?\n/m },
  ],
  pop3: [
    { says: null, good: /^\+OK/, complete: POP3_LINE },
    { says: "STLS", good: /^\+OK/, complete: POP3_LINE },
  ],
};

const REPLY_LENGTH_MAX = 65_536;

async function expectReply(clearText: ClearText, good: RegExp, complete: RegExp): Promise<void> {
  const decoder = new TextDecoder();
  let reply = "";
  while (!complete.test(reply)) {
    const bytes = await clearText.read();
    if (bytes === null) throw new StartTlsRefusal(`connection closed by the server${after(reply)}`);
    reply += decoder.decode(bytes, { stream: true });
    if (reply.length > REPLY_LENGTH_MAX) throw new StartTlsRefusal(`reply does not end${after(reply)}`);
  }
  if (!good.test(reply)) throw new StartTlsRefusal(`server replied ${quote(oneLine(reply))}`);
}

function after(reply: string): string {
  return reply === "" ? "" : ` after ${quote(oneLine(reply))}`;
}
