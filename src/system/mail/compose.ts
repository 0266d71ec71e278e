import type { OutgoingMail } from "../../domain/mail.ts";

/** An email in the form of the internet (RFC 5322), and its envelope. */
export interface Composed {
  readonly content: Uint8Array;
  readonly sender: string;
  readonly receivers: readonly string[];
}

/** Quoted-printable keeps lines as they are, and carries any character (RFC 2045). */
export async function compose(mail: OutgoingMail): Promise<Composed> {
  // nodemailer composes the email and nothing else.
  const { default: Composer } = await import("nodemailer/lib/mail-composer");
  const { references } = mail;
  const newest = references.at(-1);
  const root = new Composer({
    from: { name: "", address: mail.sender },
    to: mail.receivers.map((address) => ({ name: "", address })),
    subject: mail.subject,
    // Empty content is none to the composer.
    text: { content: mail.text === "" ? "\n" : mail.text, contentTransferEncoding: "quoted-printable" },
    ...mail.html !== undefined &&
      { html: { content: mail.html, contentTransferEncoding: "quoted-printable" } },
    messageId: mail.messageId,
    date: new Date(mail.dateMs),
    headers: { ...mail.headers },
    ...newest === undefined ? {} : { references: [...references], inReplyTo: newest },
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const content = await root.build();
  const { from, to } = root.getEnvelope();
  return { content, sender: from || "", receivers: to };
}
