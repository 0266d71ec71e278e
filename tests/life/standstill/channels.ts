/** Where the notifications of a monitor arrive: a real mail server and a webhook, in the middle of which it is stopped. */
import type { Certificate } from "../../support/certificates.ts";
import { startMailServer } from "../../support/mail_server.ts";
import type { Arrival } from "../chaos/arrivals.ts";
import { openDoor } from "../chaos/door.ts";
import { readMail } from "../chaos/read_mail.ts";
import { itemsOf, readHead } from "../chaos/read_post.ts";
import { answer, type Fate } from "./targets.ts";

/** Names of the channels, as arrivals have them. */
export const CHANNELS = ["hook", "mail"] as const;

/** In the middle of the next message somebody is called, and says what becomes of it. */
export type Interruption =
  /** A mail, when it has asked to send its content, or when all of it has come; it is taken in any case. */
  | { readonly at: "DATA"; now(): void }
  | { readonly at: "final dot"; now(): Promise<Fate> }
  /** A post that has come whole, and is taken or not. */
  | { readonly at: "post"; readonly isTaken: boolean; now(): Promise<Fate> };

/** Where notifications arrive. */
export interface Channels extends AsyncDisposable {
  /** The channels in a config. */
  readonly entries: readonly unknown[];
  /** What was taken, twins too, in order. */
  readonly arrivals: readonly Arrival[];
  /** The next one, or `null`; it happens once. */
  interruption: Interruption | null;
  /** The mail server's patience is at its end: it closes all connections. */
  endPatience(): void;
}

/** How they are reached. */
export interface ChannelsOptions {
  /** With one, both speak TLS: the webhook from the start, the mail server after STARTTLS. */
  readonly certificateOf: ((address: string) => Certificate) | undefined;
}

/** Starts both. */
export async function startChannels({ certificateOf }: ChannelsOptions): Promise<Channels> {
  const arrivals: Arrival[] = [];
  const arrive = (arrival: Omit<Arrival, "round">): void => void arrivals.push({ ...arrival, round: 0 });
  /** Answers the interruption that is meant for this moment, once. */
  const take = <At extends Interruption["at"]>(at: At): Extract<Interruption, { at: At }> | null => {
    const { interruption } = channels;
    if (interruption?.at !== at) return null;
    channels.interruption = null;
    return interruption as Extract<Interruption, { at: At }>;
  };
  const mail = await startMailServer({
    password: PASSWORD,
    ...certificateOf !== undefined &&
      { tls: { certificate: certificateOf(MAIL_ADDRESS), begin: "STARTTLS" as const } },
    onContent: () => take("DATA")?.now(),
    onMail: async ({ raw }) => {
      const stopping = take("final dot")?.now();
      arrive(await readMail(raw));
      return await stopping !== "sent away";
    },
  });
  const hook = openDoor(async (visitor) => {
    const { key, length } = await readHead(visitor);
    const text = new TextDecoder().decode(await visitor.readBytes(length));
    const interruption = take("post");
    const stopping = interruption?.now();
    if (interruption?.isTaken !== false) arrive({ channel: "hook", id: key, text, items: itemsOf(text) });
    if (await stopping !== "sent away") await visitor.send(answer(200));
  }, certificateOf);
  const scheme = certificateOf === undefined ? "http" : "https";
  const channels: Channels = {
    entries: [
      { kind: "webhook", parameters: { target: `${scheme}://${hook.hostname}:${hook.port}/` } },
      {
        kind: "email",
        parameters: {
          access: { host: MAIL_ADDRESS, port: mail.port, username: "monitor", password: PASSWORD },
          sender: "monitor@example.org",
          receivers: ["admin@example.org"],
          tags: ["ops"],
        },
      },
    ],
    arrivals,
    interruption: null,
    endPatience: mail.sendAway,
    [Symbol.asyncDispose]: async () => {
      await hook.close();
      await mail[Symbol.asyncDispose]();
    },
  };
  return channels;
}

const MAIL_ADDRESS = "127.0.0.1";
const PASSWORD = "let me in";
