/** RFC 5321, section 4.5.3.1.5, has 512 octets; some servers tell whole stories. */
const LINE_BYTES_MAX = 4096;
/** Greeting, EHLO twice, login and all else, with room for servers that talk much. */
const LINES_MAX = 500;
const RECEIVER_LINES_MAX = 20;

/** What a conversation may be. */
export interface ReplyLimits {
  /** How many receivers the mail has; each gets a reply. */
  readonly receiverCount: number;
  /** Told once, when the server has said more than that; nothing that follows is read. */
  onTooMuch(): void;
}

/**
 * Keeps a server from saying more than a mail server has to. nodemailer takes any number of lines, one by one and also
 * when the connection is gone, and looks at some of them with expressions whose time grows with the square of their
 * length; all that while nothing else would go on.
 */
export function limitReplies(connection: object, { receiverCount, onTooMuch }: ReplyLimits): void {
  // Its listener for what arrives, on a socket in clear text and on one with TLS.
  const take = Reflect.get(connection, "_onSocketData") as (bytes: Uint8Array) => void;
  let linesLeft = LINES_MAX + receiverCount * RECEIVER_LINES_MAX;
  let lineBytes = 0;
  let isOver = false;
  const isTooMuch = (bytes: Uint8Array): boolean => {
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, start)) {
      linesLeft--;
      if (linesLeft < 0 || lineBytes + end - start > LINE_BYTES_MAX) return true;
      lineBytes = 0;
      start = end + 1;
    }
    lineBytes += bytes.length - start;
    return lineBytes > LINE_BYTES_MAX;
  };
  Reflect.set(connection, "_onSocketData", (bytes: Uint8Array): void => {
    if (isOver) return;
    isOver = isTooMuch(bytes);
    if (isOver) onTooMuch();
    else take(bytes);
  });
}

const LINE_FEED = 0x0a;
