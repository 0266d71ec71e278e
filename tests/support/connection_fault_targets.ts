/** `tcp_connect` and `tls_certificate` checks, for faults at every byte. */
import { entryOf } from "../../src/checks/registry.ts";
import type { CheckOf } from "../../src/domain/check.ts";
import type { Connections } from "../../src/domain/connections.ts";
import { createConnections } from "../../src/system/tcp/connections.ts";
import { type CheckTarget, checkTarget, TLS_FAILURES, type Trust } from "./check_faults.ts";
import { certificateCheck, tcpCheck } from "./connection_check.ts";
import type { Course } from "./fault_proxy.ts";
import { startServer, type Visitor } from "./http_servers.ts";
import { startMailServer } from "./mail_server.ts";
import { contextOf } from "../../testing/builders.ts";
import { behindClearText, recordBytes, unharmedRecords } from "./tls_records.ts";

type AnyCheck = CheckOf<"tcp_connect"> | CheckOf<"tls_certificate">;

interface Form extends Pick<Parameters<typeof checkTarget>[0], "name" | "server" | "connection" | "isRight"> {
  /**
   * The runtime cannot end a later handshake before the server does. Where each connection has the fault, a later one
   * may have it where the first one was over: signatures differ in length.
   */
  readonly mayLinger?: boolean;
  /** The trusted CA of a check that has no parameter for it. */
  readonly authority?: string;
  check(port: number, timeoutMs: number): AnyCheck;
}

/** Checks of connections, in clear text and over TLS. */
export async function startConnectionTargets(trust: Trust): Promise<readonly CheckTarget[]> {
  const { certificate, authority, path } = trust;
  const greeting = GREETING.trim();
  const forms: readonly Form[] = [
    {
      name: "tcp_connect: a greeting",
      server: startServer(greet),
      check: (port, timeoutMs) => tcpCheck({ port, expect: greeting }, timeoutMs),
      isRight: ([course]) => textOf(course).includes(greeting),
    },
    {
      name: "tcp_connect over TLS: a greeting",
      server: startServer(greet, { certificate }),
      authority,
      mayLinger: true,
      check: (port, timeoutMs) => tcpCheck({ port, tls: true, expect: greeting }, timeoutMs),
      // The first connection is only for the handshake.
      isRight: (courses, whole) => mostUnharmed(courses) >= dataRecords(whole),
    },
    {
      name: "tls_certificate",
      mayLinger: true,
      server: startServer((visitor) => visitor.untilGone(), { certificate }),
      check: (port, timeoutMs) => certificateCheck({ port, caFile: path }, timeoutMs),
      isRight: (courses) => mostUnharmed(courses) >= HANDSHAKE_RECORDS,
    },
    {
      name: "tls_certificate, connection 1",
      server: startServer((visitor) => visitor.untilGone(), { certificate }),
      connection: 1,
      mayLinger: true,
      check: (port, timeoutMs) => certificateCheck({ port, caFile: path }, timeoutMs),
      // The first one vouches for the certificate, which Deno 2.7 then reads again over this one.
      isRight: (courses, whole) => whole.length < 2 || mostUnharmed(courses.slice(1)) >= HANDSHAKE_RECORDS,
    },
    {
      name: "tls_certificate: STARTTLS",
      mayLinger: true,
      server: await startMailServer({ tls: { certificate, begin: "STARTTLS" } }),
      check: (port, timeoutMs) => certificateCheck({ port, caFile: path, starttls: "smtp" }, timeoutMs),
      isRight: (courses) =>
        courses.some(({ server }) => unharmedRecords(behindClearText(server)) >= HANDSHAKE_RECORDS),
    },
  ];
  return forms.map(({ check, authority, ...form }) =>
    checkTarget({
      ...form,
      sentence: SENTENCE,
      ask: async (port, { timeoutMs, clock }) => {
        const connections = trusting(createConnections(clock), authority);
        const context = contextOf({ system: { clock, connections } });
        const given = check(port, timeoutMs);
        return await (await entryOf(given)).observe(given, context);
      },
    })
  );
}

const GREETING = "220 ready\r\n";
async function greet(visitor: Visitor): Promise<void> {
  await visitor.send(GREETING);
  await visitor.untilGone();
}

/** The number of records of a server before its own data is encrypted for the client. */
const HANDSHAKE_RECORDS = 3;
/** The overhead of TLS 1.3 for a content: header, type and tag. */
const RECORD_OVERHEAD_BYTES = 22;

/** Returns the number of records with the greeting. */
function dataRecords(whole: readonly Course[]): number {
  const counts = whole.map(({ server }) =>
    recordBytes(server.sent).indexOf(GREETING.length + RECORD_OVERHEAD_BYTES) + 1
  );
  return Math.max(...counts) || Infinity;
}

function mostUnharmed(courses: readonly Course[]): number {
  return Math.max(0, ...courses.map(({ server }) => unharmedRecords(server)));
}

function textOf(course: Course | undefined): string {
  return String.fromCharCode(...course?.server.arrived ?? []);
}

function trusting(connections: Connections, authority: string | undefined): Connections {
  if (authority === undefined) return connections;
  return {
    ...connections,
    connect: ({ tls, ...target }, options) =>
      connections.connect(
        {
          ...target,
          ...tls !== undefined && { tls: { ...tls, authorities: [...tls.authorities, authority] } },
        },
        options,
      ),
  };
}

const ENDS = [
  `timeout after [\\d.]+ s (?:while|during) .*`,
  `TLS handshake with \\S+ failed: (?:${TLS_FAILURES.join("|")})`,
  "connection closed by the server without a response, expected .*",
  `response does not contain ".*": ".*"`,
  `(?:reading from|sending to) \\S+ failed: connection (?:reset|closed) by the server(?:; it had sent ".*")?`,
  `reading from \\S+ failed: (?:server|data|connection|response) .*`,
  "connecting to \\S+ failed: connection reset by the server",
  `requesting STARTTLS from \\S+ failed: (?:server replied ".*"|connection (?:reset|closed) by the server(?: after ".*")?)`,
  "certificate is accepted, but its dates could not be read over a second connection",
];

const SENTENCE = new RegExp(`^(?:${ENDS.join("|")})$`);
