import type { CheckOf, CheckResult } from "../domain/check.ts";
import type { TcpConnectParameters, TcpStep } from "../domain/generated/config.ts";
import { hostAndPort, permissionsOfServer } from "../domain/runtime_permissions.ts";
import type { CheckKindEntry, ObserveContext, ParameterProblem } from "../domain/check_kind.ts";
import type { Connection, ConnectionTarget } from "../domain/connections.ts";
import { trustErrors, trustWarnings, unusedKeys } from "./certificate_verdict.ts";
import {
  type ConnectionEnd,
  ConnectionReader,
  type ConnectionRun,
  hasConnected,
  observeConnection,
} from "./connection_run.ts";
import { createRedactor } from "../shared/redact.ts";
import { counted, quote } from "../shared/text.ts";
import { hostPortIn, nameForPath, portSubject } from "./targets.ts";
import { isLoopback } from "../shared/ip_address.ts";
import { capturedNames, nameErrors } from "./body_pattern.ts";

export const tcpConnectKind: CheckKindEntry<"tcp_connect"> = {
  observe: observeTcpConnect,
  limit: "network",
  hasResponded: hasConnected,
  target: {
    form: "HOST:PORT or PROTOCOL://HOST[:PORT]",
    claims: ({ text, pathKind }) =>
      hostPortIn(text) !== null || protocolIn(text) !== null || pathKind === "other",
    parametersOf: ({ text, path, pathKind }) => {
      const found = hostPortIn(text) ?? protocolIn(text);
      if (found !== null) return { ...found };
      return pathKind === "other" ? { socket: path } : null;
    },
    nameOf: ({ text, path }) => {
      const dialog = protocolIn(text);
      if (dialog !== null) return `${dialog.protocol}_${dialog.host}`;
      const { host, port } = hostPortIn(text) ?? { host: nameForPath(path), port: "" };
      return `${isLoopback(host) ? "port" : host}_${port}`;
    },
    subjectsOf: ({ parameters }) => [
      parameters.socket === undefined
        ? portSubject(parameters.host ?? "", portOf(parameters))
        : `socket ${parameters.socket}`,
    ],
    textOf: ({ parameters }) => parameters.socket ?? hostAndPort(parameters.host ?? "", portOf(parameters)),
    goesDown: true,
  },
  warnings: findWarnings,
  errors: findErrors,
  requiredPermissions: ({ parameters }) =>
    permissionsOfServer(targetOf(parameters), { tls: usesTls(parameters), caFile: parameters.caFile }),
};

/** `errors` makes sure that there is either a socket, or host and port. */
function targetOf(parameters: TcpConnectParameters): ConnectionTarget {
  const { host = "", connectTo = host, socket } = parameters;
  return { host: connectTo, port: portOf(parameters), ...socket !== undefined && { socket } };
}

function startsTls(parameters: TcpConnectParameters): boolean {
  return stepsOf(parameters)?.some(({ startTls }) => startTls) === true;
}

function usesTls(parameters: TcpConnectParameters): boolean {
  return parameters.tls || startsTls(parameters);
}

/**
 * Connects, sends the configured text, and reads until the expected text has arrived, or holds a dialog. A failed
 * connection, or another text, is a violation; the output names the phase. The timeout covers everything.
 */
async function observeTcpConnect(
  check: CheckOf<"tcp_connect">,
  context: ObserveContext,
): Promise<CheckResult> {
  const { host = "", serverName = host, tls, send, expect } = check.parameters;
  const steps = stepsOf(check.parameters);
  return await observeConnection(
    check,
    {
      target: targetOf(check.parameters),
      tls: { serverName },
      tlsFirst: tls,
      connectsBeforeTls: true,
      context,
    },
    async (connection, run): Promise<ConnectionEnd> => {
      run.enter("sending");
      if (steps !== null) return await converse(connection, steps, { ...context, check, run });
      if (send !== undefined) await connection.write(new TextEncoder().encode(send));
      run.enter("reading");
      const how = `connected${tls ? " with TLS" : ""}`;
      if (expect === undefined) return { ends: "ok", text: how };
      const reader = new ConnectionReader(connection, Infinity);
      const wanted = new TextEncoder().encode(expect);
      const shown = (mark = ""): string =>
        quote(`${new TextDecoder().decode(reader.unread.subarray(0, ANSWER_BYTES_MAX))}${mark}`);
      const soFar = (): string => reader.unread.length === 0 ? "" : `; it had sent ${shown("…")}`;
      try {
        const found = await reader.takeUntil(wanted, ANSWER_BYTES_MAX - wanted.length);
        if (found instanceof Uint8Array) {
          return { ends: "ok", text: `${how}, response contains ${quote(expect)}` };
        }
        if (!run.signal.aborted) return unmet(found, expect, reader.unread.length === 0 ? null : shown());
      } catch (error) {
        const { isObstacle, text } = run.describe(error);
        const ends = isObstacle ? "unknown" : "violated";
        if (!run.signal.aborted) return { ends, text: `${text}${soFar()}` };
      }
      const { text } = run.describe(run.signal.reason);
      return { ends: "violated", text: `${text}, expected ${quote(expect)}${soFar()}` };
    },
  );
}

/** Without the expected text: it may be behind what was read, or the connection ended. `received`: `null` if nothing was. */
function unmet(found: "too_long" | null, expect: string, received: string | null): ConnectionEnd {
  if (found === "too_long") {
    const part = `only its first ${ANSWER_BYTES_MAX / 1024} KiB: ${received}`;
    return { ends: "unknown", text: `cannot search all of the response for ${quote(expect)}, ${part}` };
  }
  const text = received === null
    ? `connection closed by the server without a response, expected ${quote(expect)}`
    : `response does not contain ${quote(expect)}: ${received}`;
  return { ends: "violated", text };
}

async function converse(
  connection: Connection,
  steps: readonly TcpStep[],
  { check: { parameters: { tls, protocol } }, run, hide, system: { clock } }: ObserveContext & {
    readonly check: CheckOf<"tcp_connect">;
    readonly run: ConnectionRun;
  },
): Promise<ConnectionEnd> {
  const { holdDialog } = await import("./tcp_dialog.ts");
  const end = await holdDialog(connection, steps, { ...run, clock, acceptsPrompts: protocol === undefined });
  const { failure, metrics, secrets } = end;
  hide?.(secrets);
  if (failure === null) {
    const names = steps.flatMap(({ expect, name }) => expect === undefined ? [] : name ?? []);
    const done = protocol === undefined ? counted(steps.length, "step") : `${protocol} ${names.join(", ")}`;
    return { ends: "ok", text: `connected${tls ? " with TLS" : ""}, ${done} passed`, metrics };
  }
  const { isObstacle = false, text } = "error" in failure ? run.describe(failure.error) : failure;
  const received = "error" in failure && run.phase() === "reading" ? failure.received : "";
  return {
    ends: isObstacle ? "unknown" : "violated",
    text: createRedactor(secrets)(`${failure.step}: ${text}${received}`),
    metrics,
  };
}

function* findWarnings({ parameters }: CheckOf<"tcp_connect">): Generator<ParameterProblem> {
  const { send, expect, tls, port, login, startTls } = parameters;
  yield* trustWarnings(parameters);
  if (expect !== undefined && new TextEncoder().encode(expect).length > ANSWER_BYTES_MAX) {
    const message = `is longer than the ${ANSWER_BYTES_MAX / 1024} KiB that are read of a response`;
    yield { path: ["expect"], message };
  }
  if (send === "") yield { path: ["send"], message: "is empty, so nothing is sent" };
  if (!tls && port !== undefined && TLS_PORTS.has(port)) {
    yield { path: ["port"], message: `${port} is usually a TLS port, but "tls" is not set` };
  }
  if (startTls === false && login !== undefined && !tls) {
    yield { path: ["start_tls"], message: "is false, so the login is sent in clear text" };
  }
}

/** What is sent and expected: one of them, or `send` with `expect`. */
const TALKS = ["protocol", "steps", "send", "expect"] as const;

function* findErrors({ parameters }: CheckOf<"tcp_connect">): Generator<ParameterProblem> {
  const { host, port, connectTo, serverName, fingerprint, verify, caFile, socket } = parameters;
  const { protocol, login, startTls, steps } = parameters;
  const ofTls = { server_name: serverName, fingerprint, verify, ca_file: caFile };
  const [tls, everyAddress, isStarted] = [parameters.tls, parameters.everyAddress, startsTls(parameters)]
    .map((isSet) => isSet || undefined);
  if (socket !== undefined) {
    const ofTcp = { host, port, connect_to: connectTo, ...ofTls, tls, every_address: everyAddress };
    yield* unusedKeys({ ...ofTcp, start_tls: isStarted }, 'cannot be used with "socket": remove one of them');
  } else if (host === undefined || portOf(parameters) === 0) {
    yield { path: [], message: `expected "host" and "port", or "socket"` };
  }
  const [first = "", ...others] = TALKS.filter((key) => parameters[key] !== undefined);
  for (const key of others) {
    if (first === "send") continue;
    yield { path: [key], message: `"${key}" cannot be used with "${first}": remove one of them` };
  }
  if (protocol === undefined || !hasLogin(protocol)) {
    const reason = protocol === undefined ? 'requires "protocol"' : `cannot be used with "${protocol}"`;
    yield* unusedKeys({ login, start_tls: startTls }, reason);
  }
  for (const key of ["username", "password"] as const) {
    if (!/[\r\n\0]/.test(login?.[key] ?? "")) continue;
    yield { path: ["login", key], message: "contains a line break, which would end the command" };
  }
  if (tls && isStarted) {
    yield { path: ["tls"], message: `"tls" cannot be used with "start_tls": remove one of them` };
  }
  yield* stepErrors(steps ?? []);
  yield* trustErrors(parameters);
  const sends = first === "steps" ? steps?.some(({ send }) => send !== undefined) : first !== "expect";
  if (fingerprint !== undefined && first !== "" && sends === true) {
    const reason = "a server with a copy of the certificate could read it";
    yield { path: [first], message: `"${first}" cannot be used with "fingerprint": ${reason}` };
  }
  if (socket === undefined && !usesTls(parameters)) yield* unusedKeys(ofTls, 'requires "tls": true');
}

/** HTTPS, SMTP, LDAP, IMAP and POP3 with TLS from the start (IANA's list of service names). */
const TLS_PORTS: ReadonlySet<number> = new Set([443, 465, 636, 993, 995]);

const ANSWER_BYTES_MAX = 64 * 1024;

type Protocol = NonNullable<TcpConnectParameters["protocol"]>;
type Login = NonNullable<TcpConnectParameters["login"]>;

interface ProtocolRules {
  readonly port: number;
  /** With TLS from the first byte. */
  readonly tlsPort: number;
  readonly greeting: Step;
  /** Steps in front of the login, also again after TLS has started. */
  readonly hello?: Step;
  /** Absent: there is no TLS within the protocol, and no login. */
  readonly startTls?: Step;
  login?(login: Login): readonly Step[];
  /** The last text, which ends the session properly. */
  readonly farewell?: string;
}

/** A text to send (`null`: the server is first), the pattern of a good line, and that of a bad one. */
type Step = readonly [send: string | null, expect: string, reject: string];

const NUMBERED_ERROR = "^[45]\\d\\d ";
const IMAP_ERROR = "^(?:\\w+ (?:NO|BAD)|\\* BYE)\\b";
const POP3_ERROR = "^-ERR";

const PROTOCOLS: Readonly<Record<Protocol, ProtocolRules>> = {
  smtp: {
    port: 25,
    tlsPort: 465,
    greeting: [null, "^220 ", NUMBERED_ERROR],
    // An address literal is always correct (RFC 5321, section 4.1.3).
    hello: ["EHLO [127.0.0.1]", "^250 ", NUMBERED_ERROR],
    startTls: ["STARTTLS", "^220 ", NUMBERED_ERROR],
    login: (login) => [[`AUTH PLAIN ${plainLogin(login)}`, "^235 ", NUMBERED_ERROR]],
    farewell: "QUIT",
  },
  imap: {
    port: 143,
    tlsPort: 993,
    greeting: [null, "^\\* (?:OK|PREAUTH)\\b", IMAP_ERROR],
    startTls: ["a1 STARTTLS", "^a1 OK\\b", IMAP_ERROR],
    login: (login) => [
      ["a2 AUTHENTICATE PLAIN", "^\\+", IMAP_ERROR],
      [plainLogin(login), "^a2 OK\\b", IMAP_ERROR],
    ],
    farewell: "a3 LOGOUT",
  },
  pop3: {
    port: 110,
    tlsPort: 995,
    greeting: [null, "^\\+OK", POP3_ERROR],
    startTls: ["STLS", "^\\+OK", POP3_ERROR],
    login: ({ username, password }) => [
      [`USER ${username}`, "^\\+OK", POP3_ERROR],
      [`PASS ${password}`, "^\\+OK", POP3_ERROR],
    ],
    farewell: "QUIT",
  },
  ftp: {
    port: 21,
    tlsPort: 990,
    greeting: [null, "^220 ", NUMBERED_ERROR],
    startTls: ["AUTH TLS", "^234 ", NUMBERED_ERROR],
    login: ({ username, password }) => [
      [`USER ${username}`, "^331 ", NUMBERED_ERROR],
      [`PASS ${password}`, "^230 ", NUMBERED_ERROR],
    ],
    farewell: "QUIT",
  },
  ssh: {
    port: 22,
    tlsPort: 22,
    greeting: [null, "^SSH-(?:2\\.0|1\\.99)-", "^SSH-"],
    // Without it, the server would log an attack.
    farewell: "SSH-2.0-monitor",
  },
};

const PROTOCOL_NAMES = Object.keys(PROTOCOLS) as readonly Protocol[];

/** As SASL sends it (RFC 4616). */
function plainLogin({ username, password }: Login): string {
  return new TextEncoder().encode(`\0${username}\0${password}`).toBase64();
}

function hasLogin(protocol: Protocol): boolean {
  return PROTOCOLS[protocol].login !== undefined;
}

/** Reads `smtp://mail.example.org:587`, `imaps://…` and the like; `null`: it has another form. */
export function protocolIn(
  text: string,
):
  | { readonly host: string; readonly protocol: Protocol; readonly port?: number; readonly tls?: true }
  | null {
  const [, scheme = "", host = "", port] =
    /^([a-z\d]+):\/\/(\[[\da-f:.]+\]|[^\s:/[\]@]+)(?::(\d{1,5}))?\/?$/i.exec(text) ?? [];
  const [, name = "", isTls] = /^(.*?)(s?)$/.exec(scheme.toLowerCase()) ?? [];
  const protocol = PROTOCOL_NAMES.find((one) => one === name);
  if (protocol === undefined || isTls !== "" && !hasLogin(protocol)) return null;
  return {
    host: host.replace(/^\[(.*)\]$/, "$1"),
    protocol,
    ...port !== undefined && { port: Number(port) },
    ...isTls !== "" && { tls: true },
  };
}

/** Returns the port of a check; 0 without any. */
function portOf({ port, protocol, tls }: TcpConnectParameters): number {
  if (port !== undefined || protocol === undefined) return port ?? 0;
  return PROTOCOLS[protocol][tls ? "tlsPort" : "port"];
}

/** Returns the steps of a check; `null`: it holds no dialog. */
function stepsOf(parameters: TcpConnectParameters): readonly TcpStep[] | null {
  const { protocol, login, tls, steps } = parameters;
  if (protocol === undefined) return steps ?? null;
  const { startTls, ...rules } = PROTOCOLS[protocol];
  const usesTls = startTls !== undefined && (parameters.startTls ?? (login !== undefined && !tls));
  const hello = rules.hello === undefined ? [] : [stepOf("hello", rules.hello)];
  const logins = login === undefined ? [] : rules.login?.(login) ?? [];
  return [
    stepOf("greeting", rules.greeting),
    ...hello,
    ...usesTls
      ? [
        { ...stepOf("STARTTLS", startTls), startTls: true },
        ...hello.map((step) => ({ ...step, name: "hello with TLS" })),
      ]
      : [],
    ...logins.map((step, index) => stepOf(index === logins.length - 1 ? "login" : "user", step)),
    ...rules.farewell === undefined ? [] : [{ name: "end", send: `${rules.farewell}\r\n`, startTls: false }],
  ];
}

function stepOf(name: string, [send, expect, reject]: Step): TcpStep {
  return { name, ...send !== null && { send: `${send}\r\n` }, expect, reject, startTls: false };
}

function* stepErrors(steps: readonly TcpStep[]): Generator<ParameterProblem> {
  yield* nameErrors(steps);
  const captured = new Set<string>();
  let hasTls = false;
  for (const [index, step] of steps.entries()) {
    const at = (...path: readonly (string | number)[]): ParameterProblem["path"] => ["steps", index, ...path];
    const { send = "", expect, reject, startTls } = step;
    if (step.send === undefined && expect === undefined && !startTls) {
      yield { path: at(), message: 'expected "send", "expect" or "start_tls"' };
    }
    if (reject !== undefined && expect === undefined) {
      yield { path: at("reject"), message: '"reject" requires "expect"' };
    }
    if (startTls && hasTls) yield { path: at("start_tls"), message: "TLS is on already: remove it" };
    hasTls ||= startTls;
    for (const [key, text] of Object.entries({ send, expect: expect ?? "", reject: reject ?? "" })) {
      const unknown = capturedNames(text).find((one) => !captured.has(one));
      if (unknown === undefined) continue;
      yield { path: at(key), message: `no earlier step captures ${quote(unknown)}` };
    }
    const groups = (expect ?? "").matchAll(/\(\?P?<([A-Za-z_]\w*)>/g);
    for (const [, one = ""] of groups) captured.add(one);
    for (const one of Object.keys(step.captured ?? {})) {
      if (captured.has(one)) continue;
      const message = `no "expect" up to this step captures ${quote(one)}: write (?<${one}>\u2026) in it`;
      yield { path: at("captured", one), message };
    }
  }
}
