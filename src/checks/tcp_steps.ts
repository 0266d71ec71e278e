/** The steps of `tcp_connect`: those of well-known protocols, and errors in those of a config. */
import type { ParameterProblem } from "../domain/check_kind.ts";
import type { TcpConnectParameters, TcpStep } from "../domain/generated/config.ts";
import { quote } from "../shared/text.ts";
import { capturedNames, metricName, stepName } from "./step_names.ts";

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

export function hasLogin(protocol: Protocol): boolean {
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
export function portOf({ port, protocol, tls }: TcpConnectParameters): number {
  if (port !== undefined || protocol === undefined) return port ?? 0;
  return PROTOCOLS[protocol][tls ? "tlsPort" : "port"];
}

/** Returns the steps of a check; `null`: it holds no dialog. */
export function stepsOf(parameters: TcpConnectParameters): readonly TcpStep[] | null {
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

export function* stepErrors(steps: readonly TcpStep[]): Generator<ParameterProblem> {
  const captured = new Set<string>();
  const names = new Map<string, number>();
  let hasTls = false;
  for (const [index, step] of steps.entries()) {
    const at = (...path: readonly (string | number)[]): ParameterProblem["path"] => ["steps", index, ...path];
    const { send = "", expect, reject, startTls } = step;
    const name = metricName(stepName(step, index));
    const earlier = names.get(name);
    if (earlier !== undefined) {
      yield { path: at("name"), message: `is too much like the name of step ${earlier + 1}` };
    }
    names.set(name, index);
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
