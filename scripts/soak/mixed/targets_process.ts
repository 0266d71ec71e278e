/**
 * What a soak watches over the network, in a process of its own: servers that are well, and one for each way of being
 * bad. Prints the port of each by its name, as one line of JSON, and ends when its standard input does.
 *
 *     deno run --allow-all scripts/soak/mixed/targets_process.ts AUTHORITY_FILE
 */
import { type Certificate, createAuthority, createCertificate } from "../../../tests/support/certificates.ts";
import * as hostile from "../../../tests/support/hostile_servers.ts";
import { startServer, type Visitor } from "../../../tests/support/http_servers.ts";

/** A connection that nobody answers ends after so long, also where its client has kept it by mistake. */
export const HELD_MS = 6_000;

/** What listens. */
export type TargetName =
  | "plain"
  | "secure"
  | "expired"
  | "echo"
  | "silent"
  | "drip"
  | "dripBody"
  | "flood"
  | "floodBody"
  | "floodHead"
  | "reset"
  | "leave"
  | "garbage"
  | "speakPlainly"
  | "lieShort"
  | "lieGzip"
  | "lieVersion"
  | "lieStatus";

/** The port of each. */
export type Ports = Readonly<Record<TargetName, number>>;

/** The words on the page that is well. */
export const GREETING = "all systems normal";

const MEETINGS = {
  silent: holdOn,
  drip: hostile.drip,
  dripBody: async (visitor: Visitor) => {
    await visitor.readHead();
    await visitor.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    await hostile.drip(visitor);
  },
  flood: hostile.flood,
  floodBody: async (visitor: Visitor) => {
    await visitor.readHead();
    await visitor.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    await hostile.flood(visitor);
  },
  floodHead: async (visitor: Visitor) => {
    await visitor.readHead();
    await visitor.send("HTTP/1.1 200 OK\r\n");
    for (let number = 0;; number++) await visitor.send(`X-${number}: ${"x".repeat(8_000)}\r\n`);
  },
  reset: hostile.reset,
  leave: hostile.leave,
  garbage: async (visitor: Visitor) => {
    await visitor.readSome();
    await visitor.send("\0\xff\x16 not a protocol\r\n\r\n");
  },
  speakPlainly: hostile.speakPlainly,
  lieShort: answering("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfar less than that"),
  lieGzip: answering("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nno gzip!!"),
  lieVersion: answering("HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"),
  lieStatus: answering("HTTP/1.1 999999 OK\r\nContent-Length: 0\r\n\r\n"),
} satisfies Readonly<Record<string, (visitor: Visitor) => Promise<void>>>;

async function holdOn(visitor: Visitor): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeIsUp = new Promise<void>((resolve) => timer = setTimeout(resolve, HELD_MS));
  await Promise.race([visitor.untilGone(), timeIsUp]);
  clearTimeout(timer);
}

function answering(text: string): (visitor: Visitor) => Promise<void> {
  return async (visitor) => {
    await visitor.readHead();
    await visitor.send(text);
  };
}

/** Answers each line. */
async function echo(visitor: Visitor): Promise<void> {
  await visitor.readSome();
  await visitor.send("+PONG\r\n");
  await holdOn(visitor);
}

/** `/ok`, `/json`, `/slow`, `/status/CODE`, and `/flap/SECONDS/SHIFT`, which is well for so long and then is not. */
function answer(request: Request): Response | Promise<Response> {
  const { pathname } = new URL(request.url);
  const [, page = "", one = "", other = ""] = pathname.split("/");
  const well = (): Response => new Response(`<p>${GREETING}</p>`, { headers: { "X-Served-By": "soak" } });
  if (page === "json") return Response.json({ status: "up", queue: { length: 3 }, errors: [] });
  if (page === "status") return new Response("trouble", { status: Number(one) });
  if (page === "slow") return new Promise((resolve) => setTimeout(() => resolve(well()), 300));
  if (page === "flap" && Math.floor(Date.now() / 1000 / Number(one) + Number(other) / 7) % 2 === 1) {
    return new Response("trouble", { status: 500 });
  }
  return well();
}

function serve(certificate?: Certificate): number {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = certificate === undefined
    ? Deno.serve(options, answer)
    : Deno.serve({ ...options, ...certificate }, answer);
  return server.addr.port;
}

async function main(authorityFile: string): Promise<void> {
  const authority = createAuthority();
  const expired = createCertificate({ authority, fromDay: -9, toDay: -2 });
  await Deno.writeTextFile(authorityFile, authority.cert);
  const meeting = (name: keyof typeof MEETINGS): number => startServer(MEETINGS[name]).port;
  const ports: Ports = {
    plain: serve(),
    secure: serve(createCertificate({ authority, toDay: 9, fromDay: -9 })),
    expired: startServer(holdOn, { certificate: expired }).port,
    echo: startServer(echo).port,
    silent: meeting("silent"),
    drip: meeting("drip"),
    dripBody: meeting("dripBody"),
    flood: meeting("flood"),
    floodBody: meeting("floodBody"),
    floodHead: meeting("floodHead"),
    reset: meeting("reset"),
    leave: meeting("leave"),
    garbage: meeting("garbage"),
    speakPlainly: meeting("speakPlainly"),
    lieShort: meeting("lieShort"),
    lieGzip: meeting("lieGzip"),
    lieVersion: meeting("lieVersion"),
    lieStatus: meeting("lieStatus"),
  };
  console.log(JSON.stringify(ports));
  for await (const _ of Deno.stdin.readable) { /* nothing is ever said, it only ends */ }
}

if (import.meta.main) {
  // What a client breaks off in the middle is its own affair.
  addEventListener("unhandledrejection", (event) => event.preventDefault());
  await main(Deno.args[0] ?? "");
  Deno.exit(0);
}
