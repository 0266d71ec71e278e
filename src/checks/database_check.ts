/**
 * What the checks of databases have in common: the server, TLS, and the comparison of what it returns. A server that
 * can't be used, or that rejects the query, is a violation; what lies on this side makes the check unknown.
 */
import type { CheckResult } from "../domain/check.ts";
import type { ObserveContext, ParameterProblem, TargetWord } from "../domain/check_kind.ts";
import type { Connection, ConnectionTarget } from "../domain/connections.ts";
import type { MysqlQueryParameters } from "../domain/generated/config.ts";
import { hostAndPort, permissionsOfServer, type RequiredPermissions } from "../domain/runtime_permissions.ts";
import { type SqlParameters, sqlParametersOf, type SqlUrl } from "../shared/database_url.ts";
import { isLoopback } from "../shared/ip_address.ts";
import { counted, oneLine } from "../shared/text.ts";
import { trustErrors, trustWarnings, unusedKeys } from "./certificate_verdict.ts";
import { type ConnectionEnd, type ConnectionRun, hasConnected, observeConnection } from "./connection_run.ts";
import { compareText, formsOf, isAbsenceExpected, show } from "./http/json_comparisons.ts";
import { portSubject } from "./targets.ts";

type DatabaseParameters = Omit<MysqlQueryParameters, "username" | "database" | "query">;

interface DatabaseCheck {
  readonly parameters: DatabaseParameters;
  readonly timeoutMs: number;
}

export interface QueryResult {
  /** Absent: there is none, such as of a query without a row. */
  readonly value?: unknown;
  /** Why the result is not one value: `2 rows, expected one`. */
  readonly ambiguity?: string;
  readonly rows?: number;
}

/** Of the response to a query of SQL, whose value counts if it is the only one. */
export function queryResult(
  columnCount: number,
  rows: readonly unknown[],
  firstValue: () => unknown,
): QueryResult {
  if (columnCount !== 1) {
    return { rows: rows.length, ambiguity: `${counted(columnCount, "column")}, expected one` };
  }
  if (rows.length > 1) return { rows: rows.length, ambiguity: `${rows.length} rows, expected one` };
  return rows.length === 0 ? { rows: 0 } : { rows: 1, value: firstValue() };
}

/** A server that rejects the query, or speaks another protocol; the message is for people. */
export class DatabaseFailure extends Error {
  override readonly name = "DatabaseFailure";
}

export interface DatabaseSession extends ConnectionRun {
  readonly connection: Connection;
  /** Whether other users can neither read the traffic nor be the server, once TLS has started. */
  readonly isPrivate: boolean;
  readonly context: ObserveContext;
}

/** `databaseErrors` makes sure that there is either a socket or a host. */
function targetOf({ host = "", port, socket }: DatabaseParameters): ConnectionTarget {
  return { host, port, ...socket !== undefined && { socket } };
}

/** Connects, runs the query, and compares its result. The timeout covers everything. */
export async function observeDatabase(
  check: DatabaseCheck,
  context: ObserveContext,
  { query, tlsFirst }: {
    query(session: DatabaseSession): Promise<QueryResult>;
    /** Whether TLS starts with the connection; else `query` starts it. */
    readonly tlsFirst: boolean;
  },
): Promise<CheckResult> {
  const { parameters } = check;
  const { host = "", serverName = host, verify = true, socket } = parameters;
  const tls = usesTls(parameters) ? { serverName } : null;
  return await observeConnection(
    check,
    { target: targetOf(parameters), tls, tlsFirst, context },
    async (connection, run): Promise<ConnectionEnd> => {
      run.enter("reading");
      try {
        const isPrivate = socket !== undefined || tls !== null && verify;
        const found = await query({ ...run, connection, isPrivate, context });
        const problem = await compare(found, parameters, context.system.clock.wallMs());
        const ends = problem === null ? "ok" : "violated";
        return { ends, text: problem ?? describe(found), metrics: metricsOf(found) };
      } catch (error) {
        if (!(error instanceof DatabaseFailure) || run.signal.aborted) throw error;
        return { ends: "violated", text: oneLine(error.message) };
      }
    },
  );
}

/** Returns the violation; `null`: there is none. */
async function compare(
  { value, ambiguity, rows = 0 }: QueryResult,
  { value: valueWish, rows: rowsWish }: DatabaseParameters,
  nowMs: number,
): Promise<string | null> {
  if (rowsWish !== undefined) {
    const problem = await compareText(rows, rowsWish, nowMs);
    if (problem !== null) return `rows: ${problem}`;
  }
  if (valueWish === undefined) return null;
  if (ambiguity !== undefined) return `query returns ${ambiguity}`;
  if (isAbsenceExpected(valueWish)) {
    return value === undefined ? null : `value is ${show(value)}, expected none`;
  }
  if (value === undefined) return "there is no value, expected one";
  const problem = await compareText(value, valueWish, nowMs);
  return problem === null ? null : `value is ${problem}`;
}

function describe({ value, ambiguity, rows }: QueryResult): string {
  if (value !== undefined) return `value is ${show(formsOf(value)[0])}`;
  return ambiguity ?? (rows === undefined ? "no value" : counted(rows, "row"));
}

function metricsOf({ value, rows }: QueryResult): Readonly<Record<string, number>> {
  const [first] = formsOf(value);
  return {
    ...rows !== undefined && { rows },
    ...typeof first === "number" && Number.isFinite(first) && { value: first },
  };
}

function usesTls({ host = "", socket, tls }: DatabaseParameters): boolean {
  return socket === undefined && (tls ?? !isLoopback(host));
}

function* databaseErrors({ parameters }: DatabaseCheck): Generator<ParameterProblem> {
  const { host, socket, tls, serverName, verify, caFile } = parameters;
  if ((host === undefined) === (socket === undefined)) {
    yield { path: [], message: 'expected either "host" or "socket"' };
    return;
  }
  const reason = socket !== undefined ? '"socket"' : 'a connection without "tls"';
  const given = {
    server_name: serverName,
    verify,
    ca_file: caFile,
    ...socket !== undefined && tls && { tls },
  };
  if (!usesTls(parameters)) yield* unusedKeys(given, `cannot be used with ${reason}: remove one of them`);
  yield* trustErrors(parameters);
}

function* databaseWarnings({ parameters }: DatabaseCheck): Generator<ParameterProblem> {
  const { host = "", password, socket } = parameters;
  yield* trustWarnings(parameters);
  if (password === undefined || socket !== undefined || isLoopback(host) || usesTls(parameters)) return;
  yield { path: ["tls"], message: "is not set, so others on the way can read the traffic" };
}

export const DATABASE_KIND = {
  limit: "network",
  hasResponded: hasConnected,
  warnings: databaseWarnings,
  errors: databaseErrors,
  requiredPermissions: ({ parameters }: DatabaseCheck): RequiredPermissions =>
    permissionsOfServer(targetOf(parameters), { tls: usesTls(parameters), caFile: parameters.caFile }),
} as const;

type Named = Pick<DatabaseCheck, "parameters">;

export const DATABASE_TARGET = {
  nameOf: ({ text }: { readonly text: string }): string =>
    `${URL.parse(text)?.protocol.replace(/\W+$/, "")}_${URL.parse(text)?.hostname}`,
  subjectsOf: ({ parameters: { host = "", port, socket } }: Named): readonly string[] => [
    socket === undefined ? portSubject(host, port) : `socket ${socket}`,
  ],
  textOf: ({ parameters: { host = "", port, socket } }: Named): string => socket ?? hostAndPort(host, port),
  goesDown: true,
};

/** The target of an SQL server; `form` is what help prints. */
export function sqlTarget(form: string, url: SqlUrl): typeof DATABASE_TARGET & {
  readonly form: string;
  claims(word: TargetWord): boolean;
  parametersOf(word: TargetWord): SqlParameters | null;
} {
  return {
    ...DATABASE_TARGET,
    form,
    claims: ({ text }) => sqlParametersOf(text, url) !== null,
    parametersOf: ({ text }) => sqlParametersOf(text, url),
  };
}
