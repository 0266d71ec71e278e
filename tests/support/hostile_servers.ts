/** Behaviors of servers on loopback, for {@linkcode startServer}. */
import type { Visitor } from "./http_servers.ts";

export async function beSilent(visitor: Visitor): Promise<void> {
  await visitor.untilGone();
}

/** Sends a byte at a time, for ever. */
export async function drip(visitor: Visitor): Promise<void> {
  while (true) {
    await visitor.send("a");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function flood(visitor: Visitor): Promise<void> {
  while (true) await visitor.send(new Uint8Array(65_536).fill(0xff));
}

/** Ends the connection without a word. */
export async function leave(): Promise<void> {}

/** Sends an invalid TLS record, of the declared length. */
export async function speakGarbage(visitor: Visitor): Promise<void> {
  await visitor.readSome();
  await visitor.send(new Uint8Array([0x16, 0x03, 0x03, 0x00, 0x20, ...new Array(32).fill(0xff)]));
  await visitor.untilGone();
}

export async function speakPlainly(visitor: Visitor): Promise<void> {
  await visitor.send("220 mail.example.org ESMTP ready and waiting\r\n");
  await visitor.untilGone();
}
