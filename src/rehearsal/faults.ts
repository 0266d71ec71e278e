/**
 * The faults by which `monitor prove` changes what a run exchanged: what goes wrong in practice with servers, names,
 * commands, files, machines and jobs. Which ones apply follows from the tape alone.
 */
import type { CertificateFacts, CertificateReading, DnsAnswer, TimeReading } from "../domain/connections.ts";
import type { FileFacts, FileSystemFacts, MemoryFacts } from "../domain/system.ts";
import type { JobFacts } from "../domain/store.ts";
import type { ProcessEnd } from "../domain/processes.ts";
import { describeDuration, exactDuration } from "../domain/duration.ts";
import { DAY_MS, MINUTE_MS } from "../shared/time_units.ts";
import { type Outcome, type Tape, type Taped, TapedFailure, type TapedResponse } from "./tape.ts";

export interface Fault {
  /** Of people: what is wrong, lower case. */
  readonly name: string;
  /** The setting that would notice it; `null`: no setting is for it. */
  readonly hint: string | null;
  /** The tape with it; of a fault with several forms, such as one for each field, each of them by its name. */
  readonly tapes: readonly (readonly [form: string, tape: Tape])[];
}

/** Returns the faults that what was exchanged can have; `nowMs` is the wall time of the run. */
export function faultsOf(tape: Tape, nowMs: number): readonly Fault[] {
  return [
    ...responseFaults(tape),
    ...connectionFaults(tape),
    ...certificateFaults(tape, nowMs),
    ...CALL_FAULTS.flatMap(([call, faults]) =>
      faults.flatMap(([name, hint, change, contents]) => {
        const called = changeCalls(tape, call, change);
        const changed = called === null || contents === undefined
          ? called
          : changeCalls(called, "read", () => now(contents)) ?? called;
        return changed === null ? [] : [simple(name, hint, changed)];
      })
    ),
  ];
}

type Change<T> = (value: T) => Outcome<T> | null;

const AT_ONCE = { tookMs: 0 } as const;
const SLOWER = 10;
/** A target that takes a few milliseconds is not slow after some more. */
const SLOW_MS_MIN = 2_000;

const encoder = new TextEncoder();

function failing(phase: TapedFailure["phase"], reason: string): () => Outcome<never> {
  return () => ({ error: new TapedFailure(phase, reason), ...AT_ONCE });
}

function simple(name: string, hint: string | null, tape: Tape): Fault {
  return { name, hint, tapes: [["", tape]] };
}

const BODY_HINT = '"response": { "body_part": "…" } or "json"';

function responseFaults(tape: Tape): readonly Fault[] {
  const { responses } = tape;
  const last = responses.at(-1);
  if (last === undefined) return [];
  const { outcome } = last;
  const value = "value" in outcome ? outcome.value : null;
  const each = (change: (outcome: Outcome<TapedResponse>) => Outcome<TapedResponse>): Tape => ({
    ...tape,
    responses: responses.map((taped) => ({ ...taped, outcome: change(taped.outcome) })),
  });
  const with_ = (fields: Partial<TapedResponse>): Tape => ({
    ...tape,
    responses: [...responses.slice(0, -1), {
      ...last,
      outcome: value === null ? outcome : { ...outcome, value: { ...value, ...fields } },
    }],
  });
  const text = (body: string): Partial<TapedResponse> => ({
    body: encoder.encode(body),
    headers: [["content-type", "text/html; charset=utf-8"]],
  });
  const slowMs = Math.max(SLOW_MS_MIN, outcome.tookMs * SLOWER);
  return [
    simple("connection refused", null, each(failing("connecting", "connection refused"))),
    simple("connection reset", null, each(failing("head", "connection reset by peer"))),
    simple("no response", null, each(hangs)),
    simple(
      `ten times slower, after ${describeDuration(slowMs)}`,
      `"response": { "warning_duration": "${exactDuration(slowMs / 2)}" }`,
      each((one) => ({ ...one, tookMs: slowMs })),
    ),
    ...value === null ? [] : [
      simple("status 500", '"response": { "status_code": … }', with_({ status: 500 })),
      simple("status 404", '"response": { "status_code": … }', with_({ status: 404 })),
      simple("empty body", BODY_HINT, with_({ body: new Uint8Array() })),
      ...value.body.length > 1
        ? [simple(
          "half of the body",
          '"response": { "body_part": "…" } with its end, or "json"',
          with_({ body: value.body.slice(0, value.body.length >> 1) }),
        )]
        : [],
      simple("error page with the same status", BODY_HINT, with_(text(ERROR_PAGE))),
      simple("login page with the same status", BODY_HINT, with_(text(LOGIN_PAGE))),
      ...jsonFaults(value.body, (body) => with_({ body })),
    ],
  ];
}

const ERROR_PAGE =
  "<!doctype html><title>Error</title><h1>Something went wrong</h1><p>An error occurred on the server.";
const LOGIN_PAGE =
  '<!doctype html><title>Sign in</title><form method="post"><input name="user"><input type="password"></form>';

const JSON_FIELDS_MAX = 40;

interface Field {
  readonly path: string;
  readonly value: unknown;
  with(value: unknown): unknown;
}

/** The fields of a document that hold no others, up to some: of an array those of its first item. */
function fieldsOf(document: unknown, path = "$", set = (value: unknown): unknown => value): readonly Field[] {
  if (Array.isArray(document)) {
    return document.length === 0
      ? []
      : fieldsOf(document[0], `${path}[0]`, (value) => set([value, ...document.slice(1)]));
  }
  if (typeof document === "object" && document !== null) {
    return Object.entries(document).flatMap(([name, value]) =>
      fieldsOf(
        value,
        /^\w+$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`,
        (changed) => set({ ...document, [name]: changed }),
      )
    );
  }
  return path === "$" ? [] : [{ path, value: document, with: set }];
}

function jsonFaults(body: Uint8Array, tapeWith: (body: Uint8Array) => Tape): readonly Fault[] {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder().decode(body));
  } catch {
    return [];
  }
  const fields = fieldsOf(document).slice(0, JSON_FIELDS_MAX);
  const tapes = (change: (value: unknown) => unknown) =>
    fields.flatMap((field) => {
      const changed = change(field.value);
      if (changed === undefined) return [];
      return [[field.path, tapeWith(encoder.encode(JSON.stringify(field.with(changed))))] as const];
    });
  return [
    {
      name: "JSON field null",
      hint: '"response": { "json": { "PATH": … } }',
      tapes: tapes((value) => value === null ? undefined : null),
    },
    {
      name: "JSON time a day old",
      hint: '"response": { "json": { "PATH": { "newer_than": "1 hour" } } }',
      tapes: tapes(dayBefore),
    },
  ].filter((fault) => fault.tapes.length > 0);
}

/** Returns a time a day earlier, of the same form; `undefined`: it is none. */
function dayBefore(value: unknown): unknown {
  const isTime = (ms: number): boolean => ms > Date.UTC(2000) && ms < Date.UTC(2100);
  if (typeof value === "number") {
    if (isTime(value * 1000)) return value - DAY_MS / 1000;
    return isTime(value) ? value - DAY_MS : undefined;
  }
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(value)) return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) || !isTime(ms) ? undefined : new Date(ms - DAY_MS).toISOString();
}

function connectionFaults(tape: Tape): readonly Fault[] {
  const { connections } = tape;
  if (connections.length === 0) return [];
  type Reads = (typeof connections)[number]["outcome"];
  const each = (change: (outcome: Reads) => Reads): Tape => ({
    ...tape,
    connections: connections.map((taped) => ({ ...taped, outcome: change(taped.outcome) })),
  });
  const sends = (...reads: readonly Outcome<Uint8Array | null>[]): Tape =>
    each(({ tookMs }) => ({ value: reads, tookMs }));
  const hint = '"expect": "…"';
  return [
    simple("connection refused", null, each(failing("connecting", "connection refused"))),
    simple("no connection", null, each(hangs)),
    simple("connection that sends nothing", hint, sends()),
    simple("connection that ends at once", hint, sends(now(null))),
    simple("connection that is reset", hint, sends(failing("reading", "connection reset by peer")())),
    simple("another answer", hint, sends(now(encoder.encode("HTTP/1.1 400 Bad Request\r\n\r\n")))),
  ];
}

/** Faults of certificates, whether the check reads them or only the connection does. */
function certificateFaults(tape: Tape, nowMs: number): readonly Fault[] {
  const reads = (change: (reading: CertificateReading) => CertificateReading): Tape =>
    changeCalls<CertificateReading>(tape, "certificate", (value) => now(change(value))) ?? tape;
  const refused = (about: "dates" | "names", reason: string, facts: Partial<CertificateFacts>): Tape => {
    const read = reads((reading) => ({
      problem: { about, reason },
      facts: reading.facts && { ...reading.facts, ...facts },
    }));
    return {
      ...read,
      responses: read.responses.map((taped) =>
        isOverTls(taped) ? { ...taped, outcome: failing("TLS", reason)() } : taped
      ),
    };
  };
  const usesTls = tape.responses.some(isOverTls) ||
    tape.calls.some(({ key }) => key.startsWith("certificate "));
  if (!usesTls) return [];
  return [
    simple(
      "certificate that expired",
      null,
      refused("dates", "certificate expired", { validToMs: nowMs - DAY_MS }),
    ),
    simple(
      "certificate for another name",
      null,
      refused("names", "certificate is for another name", { names: ["other.invalid"] }),
    ),
    simple(
      "certificate that expires tomorrow",
      '"response": { "certificate": {} }',
      reads(({ problem, facts }) => ({ problem, facts: facts && { ...facts, validToMs: nowMs + DAY_MS } })),
    ),
  ];
}

function isOverTls({ key }: Taped<unknown>): boolean {
  return /^\S+ https:/.test(key);
}

type CallFault = readonly [
  name: string,
  hint: string | null,
  // deno-lint-ignore no-explicit-any -- The call decides on the type of its value.
  change: Change<any>,
  /** What its file then has. */
  contents?: Uint8Array,
];

function failed<T>(error: Error): Change<T> {
  return () => ({ error, ...AT_ONCE });
}

function hangs(): Outcome<never> {
  return { hangs: true, ...AT_ONCE };
}

/** Returns the outcome of a call that returns a value at once. */
function now<T>(value: T): Outcome<T> {
  return { value, ...AT_ONCE };
}

function exited(code: number, text: (stdout: string) => string = (stdout) => stdout): Change<ProcessEnd> {
  return (end) => {
    const stdout = "stdout" in end ? end.stdout : NO_OUTPUT;
    const changed = { ...stdout, text: text(stdout.text) };
    return now({ ended: "exited", code, stdout: changed, stderr: NO_OUTPUT, leftovers: false });
  };
}

const PING_COUNTS = /(\d+) packets transmitted, \d+ ((?:packets )?received)/;
const PING_TIMES = /(min\/avg\/max\S* = )[\d.]+\/[\d.]+\/[\d.]+/;

function pinged(change: (text: string) => string): Change<ProcessEnd> {
  return (end) => {
    const text = isPing(end) && "stdout" in end ? end.stdout.text : "";
    return change(text) === text ? null : exited(0, change)(end);
  };
}

/** The exit code of `ping` follows from its summary. */
function unlessPinged(change: Change<ProcessEnd>): Change<ProcessEnd> {
  return (end) => isPing(end) ? null : change(end);
}

function isPing(end: ProcessEnd): boolean {
  return "stdout" in end && PING_COUNTS.test(end.stdout.text);
}

const NO_OUTPUT = { text: "", truncated: false };
const SILENT = { stdout: NO_OUTPUT, stderr: NO_OUTPUT };

const MISSING = new Deno.errors.NotFound("no such file or directory");
const DENIED = new Deno.errors.PermissionDenied("permission denied");

/** The faults of other calls, by the first word of their keys, in the order in which they are shown. */
const CALL_FAULTS: readonly (readonly [call: string, faults: readonly CallFault[]])[] = [
  ["lookup", [
    ["name that does not exist", null, () => now({ reason: "no such name", isObstacle: false })],
    ["name server that fails", null, () => now({ reason: "server failure", isObstacle: false })],
    ["name server that is silent", null, hangs],
    [
      "another record",
      '"values" or "contains"',
      (answer: DnsAnswer) => now({ records: [otherRecord(answer)] }),
    ],
  ]],
  ["time", [
    ["time server that is silent", null, hangs],
    [
      "clock that is a minute behind",
      '"offset": { "warning_above": "500 ms" }',
      (reading: TimeReading) => now({ ...reading, offsetMs: reading.offsetMs + MINUTE_MS }),
    ],
    [
      "time server that is not synchronized",
      null,
      (reading: TimeReading) => now({ ...reading, stratum: 16, isSynchronized: false }),
    ],
  ]],
  ["run", [
    [
      "host that does not reply",
      null,
      pinged((text) => text.replace(PING_COUNTS, "$1 packets transmitted, 0 $2")),
    ],
    [
      "pings of which half get lost",
      '"loss": { "warning_above": "20%" }',
      pinged((text) =>
        text.replace(PING_COUNTS, (_, sent, rest) => `${sent} packets transmitted, ${sent >> 1} ${rest}`)
      ),
    ],
    [
      "replies after a second",
      '"round_trip": { "warning_above": "500 ms" }',
      pinged((text) => text.replace(PING_TIMES, "$11000/1000/1000")),
    ],
    ["exit code 1", '"exit_code_conditions"', unlessPinged(exited(1))],
    ["exit code 2", '"exit_code_conditions"', unlessPinged(exited(2))],
    ["exit code 0 without output", '"output_part": "…"', exited(0, () => "")],
    ["output that ends after its first line", '"output_part": "…" with its end', (end: ProcessEnd) => {
      const text = "stdout" in end ? end.stdout.text : "";
      const [first] = text.split("\n", 1);
      return text.trimEnd().includes("\n") ? exited(0, () => `${first}\n`)(end) : null;
    }],
    ["command that is killed", null, () => now({ ended: "signalled", signal: "SIGKILL", ...SILENT })],
    [
      "command that hangs",
      '"condition_on_timeout"',
      () => now({ ended: "timed_out", ...SILENT, survives: false }),
    ],
    [
      "command that is missing",
      null,
      () => now({ ended: "not_started", reason: "no such file or directory" }),
    ],
  ]],
  ["stat", [
    ["missing file", '"condition_on_missing"', failed(MISSING)],
    ["unreadable file", null, failed(DENIED)],
    ["file system that hangs", null, failed(new Deno.errors.TimedOut("no response"))],
  ]],
  ["readPart", [
    ["missing log", '"condition_on_missing"', failed(MISSING)],
    ["unreadable log", null, failed(DENIED)],
  ]],
  ["stat", [[
    "file that is no longer written",
    '"warning_age" or "critical_age"',
    (facts: FileFacts) =>
      now({ ...facts, modifiedAtMs: facts.modifiedAtMs && facts.modifiedAtMs - 30 * DAY_MS }),
  ]]],
  ["read", [
    ["file with other contents", '"sha256" or "content_pattern"', () => now(encoder.encode("other\n"))],
  ]],
  ["stat", [[
    "empty file",
    '"size_min": "1 B"',
    (facts: FileFacts) => facts.kind === "file" ? now({ ...facts, sizeBytes: 0 }) : null,
    new Uint8Array(),
  ]]],
  ["fileSystem", [
    [
      "full file system",
      '"free": { "warning_below": "10%" }',
      (facts: FileSystemFacts) => now({ ...facts, freeBytes: 0 }),
    ],
    [
      "no inodes left",
      '"free_inodes": { "warning_below": "10%" }',
      (facts: FileSystemFacts) => facts.inodes && now({ ...facts, inodes: { ...facts.inodes, free: 0 } }),
    ],
    ["file system that hangs", null, hangs],
  ]],
  ["memory", [
    [
      "no memory left",
      '"available": { "warning_below": "10%" }',
      (facts: MemoryFacts) => now({ ...facts, availableBytes: 0 }),
    ],
    [
      "swap in full use",
      '"swap_used": { "warning_above": "50%" }',
      (facts: MemoryFacts) =>
        facts.swapTotalBytes === 0 ? null : now({ ...facts, swapUsedBytes: facts.swapTotalBytes }),
    ],
  ]],
  ["loadAverages", [["load of 1,000", null, () => now([1000, 1000, 1000])]]],
  ["job", [
    [
      "run of the job that fails",
      null,
      ({ last, ...facts }: JobFacts) =>
        last && now({ ...facts, last: { ...last, end: { ...last.end, how: "exited", exitCode: 1 } } }),
    ],
    [
      "job that does not run any more",
      null,
      ({ last, ...facts }: JobFacts) =>
        last && now({ ...facts, last: earlier(last), sinceMs: facts.sinceMs - AGES_MS }),
    ],
    [
      "run of the job that does not end",
      '"duration_max": "1 hour"',
      (facts: JobFacts) =>
        facts.last && now({
          ...facts,
          inProgress: [{ id: "endless", startedAtMs: facts.last.startedAtMs - AGES_MS, end: null }],
        }),
    ],
  ]],
];

/** An address of a test network (RFC 5737) that is not in an answer. */
function otherRecord(answer: DnsAnswer): string {
  const isAnswered = (record: string): boolean => "records" in answer && answer.records.includes(record);
  return ["192.0.2.1", "198.51.100.1"].find((record) => !isAnswered(record)) ?? "203.0.113.1";
}

const AGES_MS = 400 * DAY_MS;

function earlier(run: NonNullable<JobFacts["last"]>): NonNullable<JobFacts["last"]> {
  return {
    ...run,
    startedAtMs: run.startedAtMs - AGES_MS,
    end: { ...run.end, atMs: run.end.atMs - AGES_MS },
  };
}

/** Returns the tape with each value of a call changed; `null`: there is none that can be. */
function changeCalls<T>(tape: Tape, call: string, change: Change<T>): Tape | null {
  let isChanged = false;
  // The file of a setting, such as `ca_file`, or of a command, is not the target of the check: it is only found and read.
  const callsOf = (name: string, path: string): number =>
    tape.calls.filter(({ key }) => key === `${name} ${path}`).length;
  const isSetting = (path: string): boolean =>
    callsOf("read", path) >= Math.max(1, callsOf("stat", path)) || callsOf("run", path) > 0;
  const calls = tape.calls.map((taped): Taped<unknown> => {
    const { key, outcome } = taped;
    if (key.split(" ")[0] !== call || !("value" in outcome)) return taped;
    if ((call === "stat" || call === "read") && isSetting(key.slice(call.length + 1))) return taped;
    const changed = change(outcome.value as T);
    if (changed === null) return taped;
    isChanged = true;
    return { key, outcome: changed };
  });
  return isChanged ? { ...tape, calls } : null;
}
