import { unexpectedReply } from "./mail_failure.ts";

/** RFC 5321, section 4.5.3.1.5, has 512 octets; some servers tell whole stories. */
const LINE_BYTES_MAX = 4096;
/** Greeting, EHLO twice, login and all else, with room for servers that talk much. */
const LINES_MAX = 500;
const RECEIVER_LINES_MAX = 20;

/** The reply to DATA that asks for the mail (RFC 5321, section 4.3.2). */
const START_MAIL_INPUT = "354";
/** "Closing transmission channel", which a server may send at any time (RFC 5321, section 3.8). */
const CLOSING = "421";

/** What a conversation may be. */
export interface ReplyLimits {
  /** How many receivers the mail has; each gets a reply. */
  readonly receiverCount: number;
  /** Whether all of the mail was sent: what follows the reply to it does not matter. */
  isMailSent(): boolean;
  /** Called once, when the server breaks a limit; nothing that follows is read. */
  onBreach(reason: string): void;
}

/** What nodemailer keeps of a conversation, as far as it is used here. */
interface Conversation {
  /** The commands without a reply, one entry each; the end of the mail is among them from its start on. */
  readonly _responseActions: readonly unknown[];
  /** Truthy while the mail is sent. */
  readonly _currentDataStream: unknown;
  /** Takes what arrives, on a socket in clear text and on one with TLS. */
  _onSocketData: (bytes: Uint8Array) => void;
  /** Judges the reply to DATA. */
  _actionDATA: (reply: string, callback: (error: unknown, info?: unknown) => void) => void;
}

/**
 * Limits how much a server sends and when. nodemailer accepts any number of lines, also when the connection is closed,
 * and matches some of them with expressions of quadratic time, which blocks the event loop. It also uses a reply that
 * arrived before its command was sent, and accepts any 2xx for DATA: a server that ends every command with 250 would
 * seem to have accepted an email that it never read.
 */
export function limitReplies(connection: object, { receiverCount, isMailSent, onBreach }: ReplyLimits): void {
  const conversation = connection as Conversation;
  const take = conversation._onSocketData;
  let linesLeft = LINES_MAX + receiverCount * RECEIVER_LINES_MAX;
  let lineBytes = 0;
  /** The first four bytes of the line that is arriving. */
  let head = "";
  let isOver = false;
  const breachOf = (bytes: Uint8Array): string | null => {
    // All commands are known before the bytes are taken: their replies may send further ones.
    const { _responseActions: commands, _currentDataStream: mailBeingSent } = conversation;
    let repliesLeft = commands.length;
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, start)) {
      linesLeft--;
      if (linesLeft < 0 || lineBytes + end - start > LINE_BYTES_MAX) return TOO_MUCH;
      head += asciiOf(bytes.subarray(start, Math.min(end, start + 4 - head.length)));
      const isReply = head.trim() !== "" && !/^\d{3}-/.test(head);
      if (isReply && !head.startsWith(CLOSING)) {
        repliesLeft--;
        const isEarly = mailBeingSent ? head.startsWith("2") : repliesLeft < 0 && !isMailSent();
        if (isEarly) return TOO_EARLY;
      }
      head = "";
      lineBytes = 0;
      start = end + 1;
    }
    head += asciiOf(bytes.subarray(start, start + 4 - head.length));
    lineBytes += bytes.length - start;
    return lineBytes > LINE_BYTES_MAX ? TOO_MUCH : null;
  };
  conversation._onSocketData = (bytes) => {
    if (isOver) return;
    const breach = breachOf(bytes);
    isOver = breach !== null;
    if (breach === null) take(bytes);
    else onBreach(breach);
  };
}

/**
 * Makes every reply to DATA but 354 an error: nodemailer accepts any 2xx and 3xx, and then takes the next 250 for the
 * reply to the mail.
 */
export function requireStartMailInput(connection: object): void {
  const conversation = connection as Conversation;
  const judge = conversation._actionDATA;
  conversation._actionDATA = function (reply, callback) {
    judge.call(this, reply, (error, info) => {
      const isRefusal = Boolean(error) || reply.startsWith(START_MAIL_INPUT);
      callback(
        isRefusal ? error : unexpectedReply(reply, { command: "DATA", expected: START_MAIL_INPUT }),
        info,
      );
    });
  };
}

const TOO_MUCH = "server says more than a mail server has to";
const TOO_EARLY = "server replied before it was asked";

const LINE_FEED = 0x0a;

function asciiOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
