/** The checks of a soak, family by family: two thirds are well, one third misbehaves in every way that we know. */
import { fixture } from "../../../tests/support/processes.ts";
import { GREETING, type Ports } from "./targets_process.ts";

/** Checks that differ in their names and intervals alone. */
export interface Family {
  /** The checks are called `NAME 0`, `NAME 1` and so on. */
  readonly name: string;
  /** How many there are. */
  readonly count: number;
  /** Their kind. */
  readonly kind: string;
  /** The parameters of one of them. */
  readonly parameters: (index: number) => Readonly<Record<string, unknown>>;
  /** Seconds; the checks take them in turn. */
  readonly intervals: readonly number[];
  /** Seconds; what the kind has unless it is given. */
  readonly timeout?: number;
  /** Its notifications are held back by silences now and then. */
  readonly isSilenced?: boolean;
  /** It is told of again while it lasts. */
  readonly annoy?: number;
}

const OFTEN = [5, 10, 15, 20, 30, 60];
const SELDOM = [10, 15, 20, 30, 60];
const RARELY = [30, 60];
/** Nobody listens there (tcpmux). */
const CLOSED_PORT = 1;

/** As many checks as are there in all at a time, unless told otherwise; the families below add up to it and some more. */
export const CHECKS = 2000;

/** All families, about so many checks at a time; in `folder` are the files and programs that the soak has made. */
export function familiesOf(ports: Ports, { folder, checks }: FamilyOptions): readonly Family[] {
  const families = [
    ...wellWebFamilies(ports),
    ...badWebFamilies(ports),
    ...programFamilies(folder),
    ...fileFamilies(),
    ...portFamilies(ports),
  ];
  return families.map((family) => ({
    ...family,
    count: Math.max(1, Math.round(family.count * checks / CHECKS)),
  }));
}

/** What families are made of. */
export interface FamilyOptions {
  /** The folder of the soak, absolute. */
  readonly folder: string;
  /** About how many checks there are to be in all. */
  readonly checks: number;
}

/** Files that come and go, relative to the soak's folder. */
export const FLAPPING_FILES: readonly string[] = [
  ...Array.from({ length: 68 }, (_, index) => `files/vanishing_${index}`),
  ...Array.from({ length: 50 }, (_, index) => `files/program_${index}`),
];

function web(
  name: string,
  count: number,
  target: string | ((index: number) => string),
  { request = {}, response = {}, asWarning = false, ...others }: Partial<Omit<Family, "name" | "count">> & {
    readonly request?: Readonly<Record<string, unknown>>;
    readonly response?: Readonly<Record<string, unknown>>;
    readonly asWarning?: boolean;
  } = {},
): Family {
  return {
    name: `web ${name}`,
    count,
    kind: "http_request",
    intervals: OFTEN,
    parameters: (index) => ({
      request: { target: typeof target === "string" ? target : target(index), ...request },
      response,
      as_warning: asWarning,
    }),
    ...others,
  };
}

function wellWebFamilies(ports: Ports): readonly Family[] {
  const plain = `http://127.0.0.1:${ports.plain}`;
  const secure = `https://127.0.0.1:${ports.secure}`;
  const tls = { tls: { ca_file: "authority.pem" } };
  return [
    web("plain", 140, `${plain}/ok`, { response: { body_part: GREETING } }),
    web("slow", 40, `${plain}/slow`, { response: { body_pattern: "systems +normal", critical_duration: 9 } }),
    web("json", 120, `${plain}/json`, {
      request: { method: "POST", body: '{"probe": true}' },
      response: { json: { "$.status": "up", "$.queue.length": { less_than: 100 }, "$.errors": [] } },
    }),
    web("headers", 60, `${plain}/ok`, { response: { headers: { "X-Served-By": "soak" } } }),
    web("secure", 100, `${secure}/ok`, { request: tls, response: { body_part: GREETING } }),
    web("certificate", 20, `${secure}/ok`, {
      request: tls,
      response: { certificate: { warning_before_expiry: "2 days", critical_before_expiry: "1 day" } },
      intervals: SELDOM,
    }),
    { name: "test", count: 110, kind: "test", intervals: OFTEN, parameters: () => ({ condition: "ok" }) },
  ];
}

function badWebFamilies(ports: Ports): readonly Family[] {
  const at = (name: keyof Ports): string => `http://127.0.0.1:${ports[name]}/`;
  const reading = { response: { body_part: GREETING }, intervals: SELDOM };
  const hanging = { ...reading, timeout: 2 };
  return [
    web("silent", 25, at("silent"), hanging),
    web("drips", 8, at("dripBody"), { ...hanging, timeout: 1 }),
    web("drips from the start", 7, at("drip"), { ...hanging, timeout: 1 }),
    web("floods", 6, at("floodBody"), { ...hanging, intervals: [60], timeout: 5 }),
    web("floods from the start", 4, at("flood"), { ...hanging, intervals: [60], timeout: 5 }),
    web("floods with headers", 5, at("floodHead"), { ...hanging, intervals: [60], timeout: 5 }),
    web("resets", 30, at("reset"), reading),
    web("leaves", 20, at("leave"), { ...reading, asWarning: true }),
    web("says less than it says", 15, at("lieShort"), reading),
    web("says no gzip", 8, at("lieGzip"), reading),
    web("says a version", 7, at("lieVersion"), reading),
    web("says a status", 5, at("lieStatus"), reading),
    web("garbage", 10, at("garbage"), reading),
    web("500", 30, `${at("plain")}status/500`, { intervals: SELDOM, annoy: 60 }),
    web(
      "flaps",
      70,
      (index) => `${at("plain")}flap/${20 + index}/${index}`,
      { intervals: SELDOM },
    ),
    web("flaps in silence", 20, (index) => `${at("plain")}flap/${10 + index}/${index}`, {
      isSilenced: true,
    }),
    web("hangs in TLS", 10, `https://127.0.0.1:${ports.silent}/`, hanging),
    web("expired", 5, `https://127.0.0.1:${ports.expired}/`, reading),
    web("refuses", 10, `http://127.0.0.1:${CLOSED_PORT}/`, reading),
  ];
}

function programFamilies(folder: string): readonly Family[] {
  const program = (
    name: string,
    count: number,
    [path = "", ...args]: readonly string[],
    others: Partial<Omit<Family, "name" | "count">> = {},
  ): Family => ({
    name: `program ${name}`,
    count,
    kind: "script",
    intervals: SELDOM,
    parameters: () => ({ path: path.startsWith("/") ? path : fixture(path), arguments: args }),
    ...others,
  });
  const hanging = { intervals: RARELY, timeout: 1 };
  return [
    program("ok", 220, ["exit_code.sh", "0"]),
    program("data", 80, ["print_performance_data.sh"]),
    program("stdin", 50, ["count_stdin.sh"]),
    program("hangs", 15, ["forever.sh"], hanging),
    program("ignores SIGTERM", 10, ["ignore_sigterm.sh"], hanging),
    program("closes its pipes", 8, ["close_stdout_and_sleep.sh"], hanging),
    program("answers SIGTERM", 7, ["answer_sigterm.sh"], hanging),
    program("stops itself", 8, ["stop_itself.sh"], hanging),
    program("leaves a stubborn child", 7, ["survive_leader.sh"], hanging),
    program("forks", 25, ["fork_grandchild.sh"], { intervals: RARELY }),
    program("forks in silence", 20, ["leave_silent_grandchild.sh"], { intervals: RARELY }),
    program("floods", 4, ["flood_stdout.sh"], { ...hanging, intervals: [60] }),
    program("floods both", 3, ["flood_both.sh"], { ...hanging, intervals: [60] }),
    program("prints megabytes", 10, ["print_megabytes.sh", "1"], { intervals: [60] }),
    program("crashes", 20, ["end_by_signal.sh", "SEGV"]),
    program("is killed", 8, ["end_by_signal.sh", "KILL"]),
    program("prints nothing", 15, ["/bin/true"]),
    program("prints binary", 15, ["/usr/bin/head", "-c", "20000", "/dev/urandom"]),
    program("prints no UTF-8", 10, ["invalid_utf8.sh"]),
    program("is missing", 15, [`${folder}/no_such_program`]),
    program("is not executable", 10, ["not_executable.sh"]),
    program("has no interpreter", 10, ["bad_shebang.sh"]),
    program("warns", 10, ["exit_code.sh", "1"]),
    program("flaps", 50, [], {
      parameters: (index) => ({
        path: "./flap.sh",
        arguments: [`files/program_${index}`],
      }),
    }),
  ];
}

function fileFamilies(): readonly Family[] {
  const file = (name: string, count: number, path: (index: number) => string): Family => ({
    name: `file ${name}`,
    count,
    kind: "file_timestamp",
    intervals: OFTEN,
    parameters: (index) => ({ path: path(index), condition_on_missing: "critical" }),
  });
  const vanishing = file("vanishes", 68, (index) => `files/vanishing_${index}`);
  return [
    file("fresh", 200, (index) => `files/fresh_${index % 10}`),
    vanishing,
    file("is old", 6, () => "files/old"),
    file("is of tomorrow", 5, () => "files/future"),
    file("leads nowhere", 5, () => "files/dangling"),
    file("has no folder", 4, () => "files/nowhere/file"),
  ];
}

function portFamilies(ports: Ports): readonly Family[] {
  const host = "127.0.0.1";
  const family = (
    name: string,
    count: number,
    kind: string,
    parameters: Readonly<Record<string, unknown>>,
    others: Partial<Family> = {},
  ): Family => ({ name, count, kind, intervals: SELDOM, parameters: () => parameters, ...others });
  const port = (name: string, count: number, parameters: Readonly<Record<string, unknown>>): Family =>
    family(`port ${name}`, count, "tcp_connect", { host, ...parameters }, { timeout: 2 });
  const certificate = (name: string, count: number, target: keyof Ports): Family =>
    family(`certificate ${name}`, count, "tls_certificate", {
      host,
      port: ports[target],
      ca_file: "authority.pem",
      warning_before_expiry: "2 days",
      critical_before_expiry: "1 day",
    }, { timeout: 2 });
  const job = (name: string, count: number, parameters: Readonly<Record<string, unknown>>): Family =>
    family(`job ${name}`, count, "job", parameters, { intervals: [5, 10, 15] });
  const asking = { send: "PING\r\n", expect: "+PONG" };
  return [
    { ...port("open", 100, { port: ports.echo, ...asking }), intervals: OFTEN },
    port("secure", 30, { port: ports.secure, tls: true }),
    port("silent", 8, { port: ports.silent, ...asking }),
    port("drips", 4, { port: ports.drip, ...asking }),
    port("floods", 3, { port: ports.flood, ...asking }),
    port("resets", 8, { port: ports.reset, ...asking }),
    port("hangs in TLS", 3, { port: ports.silent, tls: true }),
    port("refuses", 4, { port: CLOSED_PORT }),
    certificate("holds", 70, "secure"),
    certificate("expired", 6, "expired"),
    certificate("silent", 5, "silent"),
    certificate("of no TLS", 5, "speakPlainly"),
    job("reports", 45, { expected_every: "1 hour" }),
    job("is forgotten", 10, { expected_every: 20, grace: 1, duration_max: 10 }),
  ];
}
