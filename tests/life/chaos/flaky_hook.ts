/** A webhook that breaks, rejects or sends any response at every step of its protocol. */
import type { Arrival } from "./arrivals.ts";
import { type Door, openDoor, type Visitor } from "./door.ts";
import type { Random } from "../../../testing/random.ts";
import { itemsOf, readHead } from "./read_post.ts";

/** A webhook with its moods. */
export interface FlakyHook extends AsyncDisposable, Pick<Door, "untilLeft"> {
  /** Returns the channel in a config, at one of its addresses. */
  channelAt(address: number): Readonly<Record<string, unknown>>;
  /** Whether it accepts everything. */
  isHealed: boolean;
  /** Whether connections are refused. */
  isDown: boolean;
  /** How often each mood was met. */
  readonly met: ReadonlyMap<string, number>;
  /**
   * Messages that were accepted, and rejected in the next moment: if a connection is closed before a response, Deno
   * 2.7 sends the request a second time, and exposes only the second response. Then the arrival cannot be detected.
   */
  readonly refusedAfterTaken: ReadonlySet<string>;
}

export interface HookOptions {
  readonly name: string;
  readonly random: Random;
  /** Whether the config has a body template, so that one item comes at a time. */
  readonly hasTemplate: boolean;
  onArrival(arrival: Omit<Arrival, "round">): void;
}

type Mood = (talk: Talk) => Promise<void>;

/** One request as far as it was read. */
interface Talk {
  readonly visitor: Visitor;
  readonly random: Random;
  /** Reads the rest of the request. */
  readBody(): Promise<void>;
  readonly length: number;
  /** From now on the notification has arrived. */
  take(): void;
}

/** The reactions to a request whose head was read; without a response the connection just closes. */
const MOODS: Readonly<Record<string, Mood>> = {
  "after the request's head": async () => {},
  "in the request's body": async ({ visitor, length, random }) => {
    await visitor.readBytes(Math.floor(random.below(length)));
  },
  "before the answer, not taken": ({ readBody }) => readBody(),
  "before the answer, taken": async ({ readBody, take }) => {
    await readBody();
    take();
  },
  "in the status, not taken": async ({ readBody, visitor }) => {
    await readBody();
    await visitor.send("HTTP/1.1 50");
  },
  "in the status, taken": async ({ readBody, take, visitor }) => {
    await readBody();
    take();
    await visitor.send("HTTP/1.1 20");
  },
  "in the answer's head, not taken": async ({ readBody, visitor }) => {
    await readBody();
    await visitor.send("HTTP/1.1 500 Internal Server Error\r\nContent-Le");
  },
  "in the answer's head, taken": async ({ readBody, take, visitor }) => {
    await readBody();
    take();
    await visitor.send("HTTP/1.1 200 OK\r\nContent-Le");
  },
  "in the answer's body, taken": async ({ readBody, take, visitor }) => {
    await readBody();
    take();
    await visitor.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthank y");
  },
  "in the body of a refusal": async ({ readBody, visitor }) => {
    await readBody();
    await visitor.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100\r\n\r\nnot n");
  },
  "an answer that is not HTTP": async ({ readBody, visitor }) => {
    await readBody();
    await visitor.send("220 mail.example.org ESMTP\r\n");
  },
  "an answer before the body was read": ({ visitor }) => visitor.send(answer(413)),
  "a gateway that passed it on": async ({ readBody, take, visitor, random }) => {
    await readBody();
    take();
    await visitor.send(answer(random.pick([502, 504])));
  },
  "a refusal": async ({ readBody, visitor, random }) => {
    await readBody();
    await visitor.send(answer(random.pick([400, 401, 403, 404, 410, 422])));
  },
  "an internal error": async ({ readBody, visitor, random }) => {
    await readBody();
    await visitor.send(answer(random.pick([408, 500, 502, 503, 504])));
  },
  "too many": async ({ readBody, visitor, random }) => {
    await readBody();
    await visitor.send(answer(429, `Retry-After: ${random.pick(["0", "1", "3600", "soon"])}\r\n`));
  },
  "a redirect": async ({ readBody, visitor, random }) => {
    await readBody();
    await visitor.send(answer(random.pick([301, 302, 303, 307, 308]), "Location: /elsewhere\r\n"));
  },
  "taken": async ({ readBody, take, visitor, random }) => {
    await readBody();
    take();
    await new Promise((resolve) => setTimeout(resolve, random.below(100)));
    await visitor.send(answer(random.pick([200, 201, 202, 204])));
  },
};

const MOOD_NAMES = Object.keys(MOODS) as [string, ...string[]];

/** Starts a webhook. */
export function startFlakyHook({ name, random, hasTemplate, onArrival }: HookOptions): FlakyHook {
  const met = new Map<string, number>();
  const takenAtMs = new Map<string, number>();
  const refusedAfterTaken = new Set<string>();
  const door = openDoor(async (visitor) => {
    const isBad = !hook.isHealed && random.oneIn(2);
    const moodName = isBad ? random.pick(["at once", ...MOOD_NAMES]) : "taken";
    met.set(moodName, (met.get(moodName) ?? 0) + 1);
    if (moodName === "at once") return;
    const { key, length } = await readHead(visitor);
    let body = "";
    let isTaken = false;
    const isSecondTry = performance.now() - (takenAtMs.get(key) ?? -Infinity) < SECOND_TRY_MS;
    await MOODS[moodName]?.({
      visitor,
      random,
      length,
      readBody: async () => {
        body = new TextDecoder().decode(await visitor.readBytes(length));
      },
      take: () => {
        isTaken = true;
        takenAtMs.set(key, performance.now());
        onArrival({ channel: name, id: key, text: body, items: itemsOf(body) });
      },
    });
    if (isSecondTry && !isTaken) refusedAfterTaken.add(key);
  });
  let isDown = false;
  const hook: FlakyHook = {
    channelAt: (address) => ({
      kind: "webhook",
      parameters: {
        target: `http://${door.hostname}:${door.port}/${name}/${address}`,
        ...hasTemplate && { body: TEMPLATE },
      },
    }),
    isHealed: false,
    met,
    refusedAfterTaken,
    untilLeft: door.untilLeft,
    get isDown() {
      return isDown;
    },
    set isDown(down) {
      isDown = down;
      if (down) door.shut();
      else door.open();
    },
    [Symbol.asyncDispose]: () => door.close(),
  };
  return hook;
}

/** A second try of the runtime comes at once, one of the monitor's never does. */
const SECOND_TRY_MS = 150;

const TEMPLATE = '{"check":"{{check}}","condition":"{{condition}}","previous":"{{previous}}",' +
  '"output":"{{output}}","summary":"{{summary}}"}';

function answer(status: number, headers = ""): string {
  return `HTTP/1.1 ${status} So\r\n${headers}Connection: close\r\n${
    status === 204 ? "" : "Content-Length: 0\r\n"
  }\r\n`;
}
