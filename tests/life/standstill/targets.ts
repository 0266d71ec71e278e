/** What the checks of a monitor look at: servers on loopback that hold a visitor while the monitor stands still. */
import type { Certificate } from "../../support/certificates.ts";
import { openDoor } from "../chaos/door.ts";
import { readHead } from "../chaos/read_post.ts";

/** What becomes of a visitor that was held: it gets its answer, or the connection ends without one. */
export type Fate = "answered" | "sent away";

/** A server. */
export interface Target extends AsyncDisposable {
  readonly hostname: string;
  readonly port: number;
  /** What it answers to HTTP from now on. */
  status: number;
  /** How many visitors came. */
  readonly visits: number;
  /** Holds one more visitor until its fate is known; resolves when it is there. */
  hold(fate: Promise<Fate>): Promise<void>;
}

/** What a target speaks. */
export interface TargetOptions {
  /** A greeting is given to whoever connects. */
  readonly speaks: "http" | "greeting";
  /** With one it speaks TLS, and holds visitors before the handshake. */
  readonly certificateOf?: (address: string) => Certificate;
}

/** What a target that greets says. */
export const GREETING = "welcome";

/** Starts one that is well. */
export function startTarget({ speaks, certificateOf }: TargetOptions): Target {
  let visits = 0;
  const holds: { come(): void; readonly fate: Promise<Fate> }[] = [];
  const wait = async (): Promise<Fate> => {
    const hold = holds.shift();
    hold?.come();
    return await hold?.fate ?? "answered";
  };
  const door = openDoor(async (visitor) => {
    visits++;
    const isHeldFirst = certificateOf !== undefined || speaks === "greeting";
    if (isHeldFirst && await wait() === "sent away") return;
    if (speaks === "http") await readHead(visitor);
    if (!isHeldFirst && await wait() === "sent away") return;
    await visitor.send(speaks === "http" ? answer(target.status) : `${GREETING}\r\n`);
  }, certificateOf);
  const target: Target = {
    hostname: door.hostname,
    port: door.port,
    status: 200,
    get visits() {
      return visits;
    },
    hold: (fate) => new Promise((come) => void holds.push({ come, fate })),
    [Symbol.asyncDispose]: () => door.close(),
  };
  return target;
}

/** The answer of an HTTP server that ends the connection. */
export function answer(status: number): string {
  return `HTTP/1.1 ${status} So\r\nConnection: close\r\n${status === 204 ? "" : "Content-Length: 0\r\n"}\r\n`;
}
