/** A channel on the command line: the URL of a provider, as in `monitor notify --to https://ntfy.sh/TOPIC`. */
import { didYouMean } from "../config/nearest.ts";
import { openSchema } from "../config/schemas.ts";
import { ConfigError } from "../config/problem.ts";
import { READY_MADE, type ReadyMadeKind } from "../config/ready_made_channels.ts";
import { UsageError } from "./command_definition.ts";
import { type CommandContext, type OpenConfig, openConfigAt } from "./open_config.ts";

/**
 * Opens a config that has only the channel of a URL. Its kind follows from the URL's host, or a prefix: `slack:URL`.
 * Other parameters of the kind are the query: `gotify:URL?token=TOKEN`.
 *
 * @throws {UsageError} If the kind is unknown, or its parameters are invalid.
 */
export async function openTypedChannel(text: string, context: CommandContext): Promise<OpenConfig> {
  const [, prefix, rest = ""] = /^([^:/?]*):(?!\/\/)(.*)$/s.exec(text) ?? [, undefined, text];
  const kind = prefix === undefined ? kindOfHost(rest) : kindOfPrefix(prefix);
  const parametersSchema = await parametersOf(kind);
  const parameters = parametersIn(rest, { kind, keys: parametersSchema.keys });
  const config = JSON.stringify({ defaults: {}, channels: { [kind]: { kind, parameters } } });
  try {
    return await openConfigAt({ path: "-", named: true, text: config }, context);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [{ path, message } = { path: "", message: error.message }] = error.problems;
    const key = path.slice(path.lastIndexOf(".") + 1);
    const isNamed = ["url", "parameters"].includes(key) || message.includes(`"${key}"`);
    const hint = `write ${formOf(kind, parametersSchema.required)}`;
    throw new UsageError(`--to: ${isNamed ? "" : `${key} `}${message}`, hint);
  }
}

/** Returns a form such as `gotify:URL?token=TOKEN`. */
function formOf(kind: ReadyMadeKind, required: readonly string[]): string {
  const { pathKey }: { readonly pathKey?: string } = READY_MADE[kind];
  const query = required.filter((key) => key !== "url" && key !== pathKey)
    .map((key) => `${key}=${key.toUpperCase()}`).join("&");
  const address = pathKey?.toUpperCase() ?? (required.includes("url") ? "URL" : "");
  return `${kind}:${address}${query === "" ? "" : `?${query}`}`;
}

const KINDS = Object.keys(READY_MADE) as readonly ReadyMadeKind[];

function kindOfPrefix(prefix: string): ReadyMadeKind {
  const kind = KINDS.find((one) => one === prefix);
  if (kind !== undefined) return kind;
  throw new UsageError(`--to: unknown kind "${prefix}"`, didYouMean(prefix, KINDS) ?? PREFIX_HINT);
}

function kindOfHost(text: string): ReadyMadeKind {
  const host = URL.parse(text)?.hostname;
  if (host === undefined) throw new UsageError("--to is not a URL", PREFIX_HINT);
  const kind = KINDS.find((one) => READY_MADE[one].hosts?.includes(host) === true);
  if (kind !== undefined) return kind;
  throw new UsageError(`--to: the host "${host}" does not show the kind of channel`, PREFIX_HINT);
}

const PREFIX_HINT = `write KIND:URL; kinds: ${KINDS.join(", ")}`;

async function parametersOf(kind: ReadyMadeKind) {
  const { reader } = await openSchema("monitor");
  const channel = reader.at({ channels: { [kind]: { kind } } }, ["channels", kind, "parameters"]);
  return { keys: [...channel?.keys.keys() ?? []], required: channel?.required ?? [] };
}

function parametersIn(
  text: string,
  { kind, keys }: { readonly kind: ReadyMadeKind; readonly keys: readonly string[] },
): Readonly<Record<string, string>> {
  // A URL that is a secret as a whole may have a query of its own.
  if (keys.length === 1) return { url: text };
  const { pathKey }: { readonly pathKey?: string } = READY_MADE[kind];
  const [address = "", ...query] = text.split("?");
  const given = Object.fromEntries(new URLSearchParams(query.join("?")));
  const end = pathKey === undefined || pathKey in given ? address.length : address.lastIndexOf("/") + 1;
  const url = address.slice(0, end);
  const inPath = address.slice(end);
  return {
    ...url !== "" && { url },
    ...pathKey !== undefined && inPath !== "" && { [pathKey]: inPath },
    ...given,
  };
}
