/** Replies of an SMTP server (RFC 5321, section 4.2), parsed within limits. */
import { oneLine } from "../../shared/truncate.ts";
import { SmtpError } from "./mail_failure.ts";

export interface Reply {
  /** Three digits; of the last line. */
  readonly code: number;
  /** Without their ends; code and hyphen are part of a line. */
  readonly lines: readonly string[];
}

/** RFC 5321, section 4.5.3.1.5, has 512 octets; some servers send whole stories. */
const LINE_LENGTH_MAX = 4_096;
const LINES_MAX = 500;
const REPLY_LINE = /^([2-5]\d\d)(?:([ -])|$)/;

/** Makes replies of the bytes of a server. Empty lines are skipped. */
export class ReplyReader {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #text = "";
  #lines: string[] = [];
  #lineCount = 0;

  get isWithinReply(): boolean {
    return this.#text !== "" || this.#lines.length > 0;
  }

  /**
   * Returns the replies that are complete.
   *
   * @throws {SmtpError} If a line is no reply, or a reply exceeds its limits.
   */
  read(bytes: Uint8Array): readonly Reply[] {
    const replies: Reply[] = [];
    const parts = (this.#text + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#text = parts.pop() ?? "";
    for (const part of parts) {
      const line = part.endsWith("\r") ? part.slice(0, -1) : part;
      refuseTooMuch(line.length, ++this.#lineCount);
      if (line.trim() === "") continue;
      const [, code, separator] = REPLY_LINE.exec(line) ?? [];
      if (code === undefined) throw new SmtpError(`reply is not SMTP: ${oneLine(line)}`);
      this.#lines.push(line);
      if (separator === "-") continue;
      replies.push({ code: Number(code), lines: this.#lines });
      this.#lines = [];
      this.#lineCount = 0;
    }
    refuseTooMuch(this.#text.length, this.#lineCount);
    return replies;
  }
}

function refuseTooMuch(lineLength: number, lineCount: number): void {
  if (lineLength <= LINE_LENGTH_MAX && lineCount <= LINES_MAX) return;
  throw new SmtpError("reply is too long");
}

export function quoteReply({ lines }: Reply): string {
  return oneLine(lines.join(" "));
}
