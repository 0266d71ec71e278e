/** Opens the PostgreSQL database that a config or the command line names. */
import { isLoopback } from "../shared/ip_address.ts";
import { permissionsOfTls, type RequiredPermissions } from "../domain/runtime_permissions.ts";
import type { PostgresPlace } from "../domain/stores.ts";
import type { System } from "../domain/system.ts";
import { describeFileError } from "../shared/describe_error.ts";
import { readText } from "../shared/regular_file.ts";
import { namedInPlaceholders, substitute } from "./placeholders.ts";
import { parseInterval } from "./quantities.ts";
import { parseDatabaseHost, type PostgresSettings, settingsOf } from "./postgres_settings.ts";
import { isObject } from "./schema_view.ts";
import { absolutePath } from "./source.ts";
import type { JsonObject } from "./syntax.ts";

const URL_FORM = "postgres://USER@HOST[:PORT]/DATABASE";

/** The query parameters of a URL; a password comes from one of the last two. */
const PARAMETERS = ["ca_file", "schema", "prepare", "password_env", "password_file"];

/** Parses `postgres://USER@HOST:PORT,…/DATABASE?…`. */
export function parsePostgresUrl(
  text: string,
  directory: string,
): PostgresSettings | { readonly message: string; readonly hint: string } {
  const [, login = "", hosts = "", database = "", query = ""] =
    /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#]*)\/([^/?#]*)(?:\?(.*))?$/is.exec(text) ?? [];
  if (login.includes(":")) {
    return {
      message: "--state contains a password, which every user of this machine can see",
      hint: "use ?password_file=PATH or ?password_env=NAME, or set it in the config",
    };
  }
  const parameters = new URLSearchParams(query);
  const names = hosts === "" ? parameters.getAll("host") : hosts.split(",");
  parameters.delete("host");
  const sslMode = parameters.get("sslmode");
  if (sslMode !== null && sslMode !== "verify-full") {
    return {
      message: `sslmode is "${sslMode}", expected verify-full: the others do not verify the server`,
      hint: "leave it out; for a private authority add ?ca_file=PATH",
    };
  }
  parameters.delete("sslmode");
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) {
    const hint = `expected one of ${PARAMETERS.join(", ")}`;
    return { message: `--state has the unknown parameter "${unknown}"`, hint };
  }
  const isUsable = names.length > 0 && names.every((name) => parseDatabaseHost(name) !== null);
  if (login === "" || database === "" || !isUsable) {
    return { message: `--state is "${text}", expected ${URL_FORM}`, hint: "see: monitor check --help" };
  }
  const variable = parameters.get("password_env");
  const file = parameters.get("password_file");
  const [caFile, schema] = [parameters.get("ca_file"), parameters.get("schema")];
  return settingsOf({
    hosts: names,
    database: decodeURIComponent(database),
    user: decodeURIComponent(login),
    ...variable !== null && { password: `\${env:${variable}}` },
    ...file !== null && { password: `\${file:${file}}` },
    ...caFile !== null && { ca_file: caFile },
    ...schema !== null && { schema },
    ...parameters.has("prepare") && { prepare: parameters.get("prepare") !== "false" },
  }, directory);
}

type Machine = Pick<System, "environment" | "mayReadEnvironment" | "files">;

/** A secret or a file that this machine lacks; the message is one line. */
export class MissingSettingError extends Error {
  override readonly name = "MissingSettingError";
}

const CA_FILE_BYTES_MAX = 4 * 1024 * 1024;

/** @throws {MissingSettingError} If one is missing on this machine. */
export async function openPostgresPlace(
  { written, directory, url }: PostgresSettings,
  { environment, mayReadEnvironment, files }: Machine,
): Promise<PostgresPlace> {
  const options = { environment, mayReadEnvironment, files, directory, withoutSecrets: false };
  const { value, problems: [problem] } = await substitute(written, options);
  if (problem !== undefined) throw new MissingSettingError(`${problem.path.join(".")}: ${problem.message}`);
  const settings = isObject(value) ? value : written;
  const text = (key: string): string | null => typeof settings[key] === "string" ? settings[key] : null;
  const caFile = text("ca_file");
  const authorities = caFile === null ? [] : [await readAuthority(absolutePath(caFile, directory), files)];
  return {
    targets: hostsOf(settings).map((target) =>
      "socketPath" in target
        ? target
        : { ...target, tls: isLoopback(target.host) ? null : { serverName: target.host, authorities } }
    ),
    database: text("database") ?? "",
    user: text("user") ?? "",
    password: text("password"),
    schema: text("schema") ?? "monitor",
    prepare: settings["prepare"] !== false,
    url,
  };
}

async function readAuthority(path: string, files: System["files"]): Promise<string> {
  try {
    return await readText(path, { files, bytesMax: CA_FILE_BYTES_MAX });
  } catch (cause) {
    throw new MissingSettingError(`ca_file "${path}": ${describeFileError(cause, { path })}`, { cause });
  }
}

const FAIL_OPEN_AFTER_MS = 60_000;

/** Returns how long a database may be unreachable before members send without it. */
export function failOpenAfterMs({ written }: PostgresSettings): number {
  const value = written["fail_open_after"];
  const parsed = typeof value === "number" || typeof value === "string" ? parseInterval(value) : null;
  return parsed !== null && "ms" in parsed ? parsed.ms : FAIL_OPEN_AFTER_MS;
}

export async function permissionsOfPostgres(
  { written, directory }: PostgresSettings,
  machine: Machine,
): Promise<RequiredPermissions> {
  const options = { ...machine, directory, withoutSecrets: false };
  const { value } = await substitute({ hosts: written["hosts"] ?? [] }, options);
  const hosts = isObject(value) ? hostsOf(value) : [];
  const sockets = hosts.flatMap((host) => "socketPath" in host ? [host.socketPath] : []);
  const servers = hosts.flatMap((host) => "socketPath" in host ? [] : [host]);
  const { variables, files } = namedInPlaceholders(written);
  const { ca_file: caFile } = written;
  const named = [...files, ...typeof caFile === "string" ? [caFile] : []];
  const isSecured = servers.some(({ host }) => !isLoopback(host));
  return {
    net: servers.map(({ host, port }) => `${host}:${port}`),
    read: [...sockets, ...named.map((path) => absolutePath(path, directory))],
    write: sockets,
    env: [...variables, ...permissionsOfTls(isSecured).env ?? []],
  };
}

function hostsOf(settings: JsonObject): readonly NonNullable<ReturnType<typeof parseDatabaseHost>>[] {
  const hosts = Array.isArray(settings["hosts"]) ? settings["hosts"] : [];
  return hosts.flatMap((host) => parseDatabaseHost(String(host)) ?? []);
}
