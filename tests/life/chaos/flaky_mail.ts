/**
 * An SMTP server (RFC 5321) that breaks or rejects at every step of its protocol, in clear text and after STARTTLS.
 */
import type { Certificate } from "../../support/certificates.ts";
import type { Arrival } from "./arrivals.ts";
import { closeQuietly, type Door, openDoor, untilOver, type Visitor, visitorOf } from "./door.ts";
import type { Random } from "../../../testing/random.ts";
import { readMail } from "./read_mail.ts";

/** A flaky SMTP server. */
export interface FlakyMail extends AsyncDisposable, Pick<Door, "untilLeft"> {
  /** The channel in a config, with one of its receivers. */
  channelAt(address: number): Readonly<Record<string, unknown>>;
  /** Whether it accepts everything. */
  isHealed: boolean;
  /** Whether connections are refused. */
  isDown: boolean;
  /** How often each mood was met. */
  readonly met: ReadonlyMap<string, number>;
  /** Returns the received emails so far. */
  read(): Promise<readonly Arrival[]>;
}

export interface MailOptions {
  readonly random: Random;
  /** For STARTTLS, which it offers now and then. */
  readonly certificate: (address: string) => Certificate;
  /** The round that runs. */
  round(): number;
}

const STEPS = [
  "greeting",
  "EHLO",
  "STARTTLS",
  "handshake",
  "AUTH",
  "MAIL FROM",
  "RCPT TO",
  "DATA",
  "content",
  "final dot",
  "QUIT",
] as const;
type Step = typeof STEPS[number];

/** `taken` and `lost`: after the final dot only, the email is accepted or lost, and the connection closes. */
const WAYS = ["4xx", "5xx", "421", "drop", "half a reply", "nonsense"] as const;

interface Mood {
  readonly step: Step | null;
  readonly way: typeof WAYS[number];
  /** Whether an email is accepted whose final dot gets no proper reply. */
  readonly takes: boolean;
  readonly offersTls: boolean;
}

interface RawMail {
  readonly raw: string;
  readonly round: number;
}

/** The connection is over. */
class Dropped extends Error {}

/** Starts an SMTP server. */
export function startFlakyMail({ random, certificate, round }: MailOptions): FlakyMail {
  const met = new Map<string, number>();
  const mails: RawMail[] = [];
  const take = (raw: string): void => void mails.push({ raw, round: round() });
  const chooseMood = (): Mood => ({
    step: mail.isHealed || random.oneIn(2) ? null : random.pick(STEPS),
    way: random.pick(WAYS),
    takes: random.oneIn(2),
    offersTls: random.oneIn(3),
  });
  /** By the port of the client; known once the connection to it is. */
  const secured = new Map<number, PromiseWithResolvers<Mood>>();
  const securedMood = (port: number): PromiseWithResolvers<Mood> => {
    const known = secured.get(port) ?? Promise.withResolvers<Mood>();
    secured.set(port, known);
    return known;
  };
  const door = openDoor(async (visitor) => {
    const chosen = chooseMood();
    const mood = {
      ...chosen,
      offersTls: chosen.offersTls || chosen.step === "STARTTLS" || chosen.step === "handshake",
    };
    const name = nameOf(mood);
    met.set(name, (met.get(name) ?? 0) + 1);
    const ended = await converse(visitor, mood, { take, begin: "greeting" });
    if (ended !== "STARTTLS") return;
    const plain = await Deno.connect({ hostname: door.hostname, port: tls.addr.port });
    securedMood(plain.localAddr.port).resolve(mood);
    await visitor.send("220 2.0.0 go ahead\r\n");
    await join(visitor.connection, plain);
  });
  const tls = Deno.listenTls({ hostname: door.hostname, port: 0, ...certificate(door.hostname) });
  const talks = new Set<Promise<void>>();
  const meetSecured = async (connection: Deno.TlsConn): Promise<void> => {
    const { port } = connection.remoteAddr as Deno.NetAddr;
    const mood = await securedMood(port).promise;
    secured.delete(port);
    if (mood.step === "handshake") return;
    await connection.handshake();
    await converse(visitorOf(connection), { ...mood, offersTls: false }, { take, begin: "EHLO" });
  };
  const accepting = (async () => {
    try {
      for await (const connection of tls) {
        const talk = meetSecured(connection).catch(() => {}).finally(() => {
          closeQuietly(connection);
          talks.delete(talk);
        });
        talks.add(talk);
      }
    } catch {
      // It was closed.
    }
  })();
  let isDown = false;
  const mail: FlakyMail = {
    channelAt: (address) => ({
      kind: "email",
      parameters: {
        access: { host: door.hostname, port: door.port, username: "monitor", password: "let me in" },
        sender: "monitor@example.org",
        receivers: [`admin-${address}@example.org`, "other@example.org"],
        tags: ["ops"],
      },
    }),
    isHealed: false,
    met,
    get isDown() {
      return isDown;
    },
    set isDown(down) {
      isDown = down;
      if (down) door.shut();
      else door.open();
    },
    untilLeft: async () => {
      await door.untilLeft();
      await untilOver(talks);
    },
    read: () => Promise.all(mails.map(async ({ raw, round }) => ({ ...await readMail(raw), round }))),
    [Symbol.asyncDispose]: async () => {
      await door.close();
      tls.close();
      await Promise.all([accepting, ...talks]);
    },
  };
  return mail;
}

function nameOf({ step, way, takes, offersTls }: Mood): string {
  const where = offersTls ? " (TLS)" : "";
  if (step === null) return `taken${where}`;
  if (step === "handshake") return step;
  const isOpen = step === "final dot" && way !== "4xx" && way !== "5xx" && way !== "421";
  const what = isOpen ? takes ? ", taken" : ", not taken" : step === "RCPT TO" && takes ? ", one of two" : "";
  return `${step}: ${way}${what}${where}`;
}

interface Conversation {
  take(raw: string): void;
  readonly begin: "greeting" | "EHLO";
}

/** Runs one session; returns the reason why it ended. */
async function converse(
  visitor: Visitor,
  mood: Mood,
  { take, begin }: Conversation,
): Promise<"gone" | "STARTTLS"> {
  /** Returns whether the step succeeded. */
  const reply = async (step: Step, good: string): Promise<boolean> => {
    if (mood.step !== step) {
      await visitor.send(good);
      return true;
    }
    if (mood.way === "4xx") await visitor.send("451 4.3.0 not now\r\n");
    else if (mood.way === "5xx") await visitor.send("554 5.7.1 never\r\n");
    else if (mood.way === "nonsense") await visitor.send("hello there\r\n");
    else if (mood.way === "421") {
      await visitor.send("421 4.3.2 going down\r\n");
      throw new Dropped();
    } else {
      if (mood.way === "half a reply") await visitor.send(good.slice(0, 2));
      throw new Dropped();
    }
    return false;
  };
  try {
    if (begin === "greeting") await reply("greeting", "220 mail.example.org ESMTP\r\n");
    for (;;) {
      const line = await visitor.readLine();
      const verb = line.split(" ")[0]?.toUpperCase() ?? "";
      if (verb === "EHLO") {
        const offers = mood.offersTls ? "250-STARTTLS\r\n" : "";
        await reply("EHLO", `250-mail.example.org\r\n${offers}250 AUTH PLAIN\r\n`);
      } else if (verb === "HELO") await reply("EHLO", "250 mail.example.org\r\n");
      else if (verb === "STARTTLS") {
        if (mood.step !== "STARTTLS") return "STARTTLS";
        await reply("STARTTLS", "220 2.0.0 go ahead\r\n");
      } else if (verb === "AUTH") await reply("AUTH", "235 2.7.0 welcome\r\n");
      else if (verb === "MAIL") await reply("MAIL FROM", "250 2.1.0 ok\r\n");
      else if (verb === "RCPT") {
        // One receiver or both.
        if (mood.takes && line.includes("admin@")) await visitor.send("250 2.1.5 ok\r\n");
        else await reply("RCPT TO", "250 2.1.5 ok\r\n");
      } else if (verb === "DATA") {
        if (await reply("DATA", "354 go ahead\r\n")) await receive(visitor, { mood, take, reply });
      } else if (verb === "QUIT") {
        await reply("QUIT", "221 2.0.0 bye\r\n");
        return "gone";
      } else await visitor.send("250 2.0.0 ok\r\n");
    }
  } catch (error) {
    if (error instanceof Dropped) return "gone";
    throw error;
  }
}

interface Receiving {
  readonly mood: Mood;
  take(raw: string): void;
  reply(step: Step, good: string): Promise<boolean>;
}

async function receive(visitor: Visitor, { mood, take, reply }: Receiving): Promise<void> {
  const lines: string[] = [];
  for (let line = await visitor.readLine(); line !== "."; line = await visitor.readLine()) {
    lines.push(line.startsWith(".") ? line.slice(1) : line);
    if (mood.step === "content" && lines.length === 5) throw new Dropped();
  }
  const isRefused = mood.step === "final dot" &&
    (mood.way === "4xx" || mood.way === "5xx" || mood.way === "421");
  const isTaken = mood.step === "final dot" ? !isRefused && mood.takes : true;
  if (isTaken) take(lines.join("\r\n"));
  await reply("final dot", "250 2.0.0 taken\r\n");
}

/** Carries bytes both ways until either side ends. */
async function join(one: Deno.Conn, other: Deno.Conn): Promise<void> {
  const carry = async (from: Deno.Conn, to: Deno.Conn): Promise<void> => {
    try {
      const buffer = new Uint8Array(65_536);
      for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
        for (let rest = buffer.subarray(0, count); rest.length > 0;) {
          rest = rest.subarray(await to.write(rest));
        }
      }
    } catch {
      // One side has left, so the other one is sent away.
    }
    closeQuietly(one);
    closeQuietly(other);
  };
  await Promise.all([carry(one, other), carry(other, one)]);
}
