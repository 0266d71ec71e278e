/**
 * Local servers in place of the targets of imported configs: HTTP, TLS, TCP, DNS, a socket and `ping`. Each injects a
 * fault, by its name in `monitor prove`.
 */
import { DAY_MS } from "../../src/shared/time_units.ts";
import { createAuthority, createCertificate } from "./certificates.ts";
import { dnsAddress, dnsReply, startDnsServer } from "./dns_server.ts";
import { bridge, response, startRefusing, startServer, type Visitor } from "./http_servers.ts";
import { resetConnection } from "./reset_connection.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface StandIns extends AsyncDisposable {
  /** Injects a fault, in one of its forms, such as the path of a field; empty: none. */
  plant(fault: string, form?: string): void;
  /** Returns an imported config with these servers as targets; `isRefusing`: with ports without a listener. */
  configOf(config: Json, options?: { readonly isRefusing?: boolean }): Json;
}

/** The responses of a healthy target, by the beginning of the path. */
const ANSWERS: readonly (readonly [path: string, status: number, body: unknown])[] = [
  ["/health?lang=en", 200, {
    status: "UP",
    queue: [{ "odd-name": 7 }],
    load: 1.5,
    items: ["chair"],
    version: "v2.4.1",
    ready: true,
  }],
  ["/health", 200, { up: true, since: "2026-03-01T10:00:00Z" }],
  ["/graphql", 200, { data: { user: { name: "Ada" } } }],
  ["/items/7", 204, ""],
  ["/items", 201, { id: 7, price: 19.99 }],
  ["/queue", 200, { queue: { size: 3, oldest: null } }],
  ["/odd", 200, { items: ["a", "b", "c"] }],
  ["/containers/web/json", 200, {
    Name: "/web",
    State: { Status: "running", Running: true, StartedAt: "2026-03-01T10:00:00Z" },
  }],
  ["/log", 200, "2026-03-01 10:00 started\n2026-03-01 10:01 all is well\n"],
  ["/", 200, "<!doctype html><title>Shop</title><h1>Chairs and tables</h1>"],
];

const ERROR_PAGE = "<title>Error</title><h1>Internal error</h1>";
const LOGIN_PAGE = '<title>Log in</title><form><input name="login"><input type="password"></form>';

/** The responses of a faulty server. */
const FAULTY: Readonly<Record<string, (status: number, body: string, form: string) => string>> = {
  "status 500": (_, body) => response(500, {}, body),
  "status 404": (_, body) => response(404, {}, body),
  "empty body": (status) => response(status),
  "half of the body": (status, body) => response(status, {}, body.slice(0, body.length >> 1)),
  "error page with the same status": (status) =>
    response(status, { "content-type": "text/html" }, ERROR_PAGE),
  "login page with the same status": (status) =>
    response(status, { "content-type": "text/html" }, LOGIN_PAGE),
  "JSON field null": (status, body, form) => response(status, {}, changed(body, form, () => null)),
  "JSON time a day old": (status, body, form) =>
    response(
      status,
      {},
      changed(body, form, (time) => new Date(Date.parse(String(time)) - DAY_MS).toISOString()),
    ),
};

/** Changes the value at a path such as `$.queue[0]["odd-name"]`. */
function changed(body: string, path: string, change: (value: unknown) => unknown): string {
  const keys = [...path.matchAll(/\.(\w+)|\[(\d+|"[^"]*")\]/g)].map(([, name, quoted = ""]) =>
    name ?? JSON.parse(quoted) as string
  );
  const last = keys.pop() ?? "";
  const document = JSON.parse(body);
  const parent = keys.reduce((value, key) => value[key], document);
  parent[last] = change(parent[last]);
  return JSON.stringify(document);
}

/** The data that a healthy server sends, by the port of the imported check. */
const GREETINGS: Readonly<Record<number, (visitor: Visitor) => Promise<void>>> = {
  25: (visitor) => visitor.send("220 mail.example.org ESMTP\r\n"),
  2222: (visitor) => visitor.send("SSH-2.0-OpenSSH_9.6\r\n"),
  5432: () => Promise.resolve(),
  6379: async (visitor) => {
    await visitor.readLine();
    await visitor.send("+PONG\r\n");
  },
};

/** The reactions of a faulty server to a connection. */
const FAULTY_CONNECTIONS: Readonly<Record<string, (visitor: Visitor) => Promise<void> | void>> = {
  "connection reset": ({ connection }) => resetConnection(connection as Deno.TcpConn),
  "connection that is reset": ({ connection }) => resetConnection(connection as Deno.TcpConn),
  "no response": (visitor) => visitor.untilGone(),
  "connection that sends nothing": (visitor) => visitor.untilGone(),
  "connection that ends at once": () => {},
  "another answer": async (visitor) => {
    await visitor.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    await visitor.untilGone();
  },
};

const CERTIFICATES = {
  "": { toDay: 90 },
  "certificate that expired": { toDay: -1, fromDay: -9 },
  "certificate for another name": { toDay: 90, hosts: ["other.test"], addresses: [] },
  "certificate that expires tomorrow": { toDay: 1 },
};

/** Kinds whose tests have servers of their own. */
const WITHOUT_STAND_IN: readonly string[] = [
  "websocket",
  "ntp",
  "grpc_health",
  "postgres_query",
  "mysql_query",
  "redis_command",
];

/** A command with the output of `ping` for five requests. */
function pings(received: number, averageMs: number): string {
  return `echo "PING 192.0.2.1 (192.0.2.1): 56 data bytes"
echo "5 packets transmitted, ${received} packets received, ${100 - 20 * received}% packet loss"
${received === 0 ? "exit 1" : `echo "round-trip min/avg/max = ${averageMs}/${averageMs}/${averageMs} ms"`}`;
}

const FAULTY_PINGS: Readonly<Record<string, string | null>> = {
  "host that does not reply": pings(0, 0),
  "pings of which half get lost": pings(2, 0.3),
  "replies after a second": pings(5, 1000),
  "exit code 0 without output": "exit 0",
  "output that ends after its first line": pings(5, 0.3).split("\n")[0] ?? "",
  "command that is killed": "kill -9 $$",
  "command that hangs": "exec tail -f /dev/null",
  "command that is missing": null,
};

export interface StandInOptions {
  /** The directory for certificates, the command and the socket. */
  readonly directory: string;
  /** Called by a slow target in place of a wait. */
  onSlow(): void;
}

export async function startStandIns({ directory, onSlow }: StandInOptions): Promise<StandIns> {
  let [fault, form] = ["", ""];
  const stack = new AsyncDisposableStack();
  const authority = createAuthority();
  const certificateFile = `${directory}/authority.pem`;
  const ping = `${directory}/ping`;
  const socket = `${directory}/target.sock`;
  Deno.writeTextFileSync(certificateFile, authority.cert);

  const serveHttp = async (visitor: Visitor): Promise<void> => {
    const head = await visitor.readHead();
    const [, method = "", path = ""] = /^(\S+) (\S+)/.exec(head) ?? [];
    const sent = head.length - head.indexOf("\r\n\r\n") - 4;
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    if (length > sent) await visitor.readBytes(length - sent);
    if (fault.startsWith("ten times slower")) onSlow();
    const [, status = 500, value = ""] = ANSWERS.find(([start]) => path.startsWith(start)) ?? [];
    const body = typeof value === "string" ? value : JSON.stringify(value);
    // With several steps, the last one is faulty.
    const isFirstStep = method === "POST" && path === "/items";
    await visitor.send(
      (isFirstStep ? undefined : FAULTY[fault])?.(status, body, form) ?? response(status, {}, body),
    );
  };
  const plain = stack.use(startServer(serveHttp));
  const secured = new Map(
    Object.entries(CERTIFICATES).map(([name, facts]) => {
      const certificate = createCertificate({ authority, ...facts });
      return [name, stack.use(startServer(serveHttp, { certificate })).port];
    }),
  );
  /** A connection to a server, unless it has a fault itself. */
  const passOn = async (visitor: Visitor, port: number): Promise<void> => {
    const faulty = FAULTY_CONNECTIONS[fault];
    if (faulty !== undefined) return await faulty(visitor);
    await visitor.exchange(await Deno.connect({ hostname: "127.0.0.1", port }));
  };
  const securedPort = (): number => secured.get(fault) ?? secured.get("") ?? 0;
  const http = stack.use(startServer((visitor) => passOn(visitor, plain.port)));
  const https = stack.use(startServer((visitor) => passOn(visitor, securedPort())));
  const startTls = stack.use(startServer(async (visitor) => {
    await visitor.send("220 mail.example.org ESMTP\r\n");
    await visitor.readLine();
    await visitor.send("250-mail.example.org\r\n250 STARTTLS\r\n");
    await visitor.readLine();
    await visitor.send("220 go ahead\r\n");
    await passOn(visitor, securedPort());
  }));
  const greeters = new Map(
    Object.entries(GREETINGS).map(([port, greet]) => [
      Number(port),
      stack.use(startServer(async (visitor) => {
        await (FAULTY_CONNECTIONS[fault] ?? greet)(visitor);
        if (FAULTY_CONNECTIONS[fault] === undefined) await visitor.untilGone();
      })).port,
    ]),
  );
  const dns = stack.use(startDnsServer((query) => {
    if (fault === "name server that is silent") return [];
    if (fault === "name that does not exist") return [dnsReply(query, [], { code: 3 })];
    if (fault === "name server that fails") return [dnsReply(query, [], { code: 2 })];
    const mail = { type: "MX", data: Uint8Array.of(0, 10, 2, 0x6d, 0x78, 0xc0, 12) };
    const isOther = fault === "another record";
    if (query.type === "MX") {
      return [dnsReply(query, [isOther ? { ...mail, data: Uint8Array.of(0, 20, 0) } : mail])];
    }
    return [dnsReply(query, [dnsAddress(isOther ? "198.51.100.1" : "192.0.2.1")])];
  }));
  stack.use(bridge(socket, http.port));
  const refusing = stack.use(await startRefusing());

  /** By kind: replaces the targets in parameters with these servers. */
  const targets = (at: (port: number) => number): Readonly<Record<string, (given: Json) => Json>> => {
    const messageOf = (request: Json): Json => {
      const target = String(request["target"]);
      if ("socket" in request) return { ...request, socket: at(1) === 1 ? socket : `${socket}.none` };
      const isSecured = target.startsWith("https:");
      const place = `127.0.0.1:${at(isSecured ? https.port : http.port)}`;
      return {
        ...request,
        target: target.replace(/^(https?:\/\/(?:[^@/]*@)?)[^/]+/, (_, start) => `${start}${place}`),
        ...isSecured && { tls: { ca_file: certificateFile } },
      };
    };
    const withMessage = (given: Json): Json => ({ ...given, request: messageOf(given["request"] as Json) });
    return {
      http_request: (given) =>
        "steps" in given
          ? { ...given, steps: (given["steps"] as readonly Json[]).map(withMessage) }
          : withMessage(given),
      tcp_connect: (given) => ({
        ...given,
        host: "127.0.0.1",
        port: at(greeters.get(Number(given["port"])) ?? 0),
      }),
      tls_certificate: (given) => ({
        ...given,
        host: "localhost",
        port: at("starttls" in given ? startTls.port : https.port),
        ca_file: certificateFile,
      }),
      container: (given) => ({ ...given, socket: at(1) === 1 ? socket : `${socket}.none` }),
      dns_lookup: (given) => ({ ...given, server: `127.0.0.1:${dns.port}` }),
      ping: (given) => ({ ...given, command: ping }),
    };
  };
  const plant: StandIns["plant"] = (name, path = "") => {
    [fault, form] = [name, path];
    const script = Object.hasOwn(FAULTY_PINGS, name) ? FAULTY_PINGS[name] : pings(5, 0.3);
    if (script === null) Deno.removeSync(ping);
    else Deno.writeTextFileSync(ping, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  plant("");
  return {
    plant,
    configOf: (config, { isRefusing = false } = {}) => {
      const byKind = targets((port) => isRefusing ? refusing.port : port);
      const all = Object.entries(config["checks"] as Readonly<Record<string, Json>>);
      // A fault that an inverted check expects is none.
      const asked = all.filter(([, { kind, invert }]) =>
        invert !== true && !WITHOUT_STAND_IN.includes(String(kind))
      );
      const checks = asked.map(
        ([name, check]) => {
          const given = check["parameters"] as Json;
          return [name, { ...check, parameters: byKind[String(check["kind"])]?.(given) ?? given }];
        },
      );
      return { ...config, checks: Object.fromEntries(checks) };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
