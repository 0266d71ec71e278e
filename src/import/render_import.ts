import { printable } from "../shared/printable.ts";
import { truncate } from "../shared/truncate.ts";
import type * as written from "../domain/generated/written_config.ts";
import type { ConfigDraft, LeftOut } from "./config_draft.ts";

export interface DraftVariable {
  readonly name: string;
  /** Its place in the source. */
  readonly source: string;
}

export function renderConfig(draft: ConfigDraft): string {
  return `${JSON.stringify(configOf(draft), null, 2)}\n`;
}

/** The URL for check-ins over HTTP. */
const LISTEN_ADDRESS = "127.0.0.1:9797";

interface WrittenConfig extends Omit<written.Config, "checks"> {
  readonly checks: Readonly<Record<string, unknown>>;
}

function configOf({ settings, channels, checks }: ConfigDraft): WrittenConfig {
  return {
    ...(settings.page !== undefined && { page: settings.page }),
    ...(settings.hasCheckIns === true && { listen: { address: LISTEN_ADDRESS } }),
    ...(channels.size > 0 && { channels: Object.fromEntries(channels) }),
    ...(settings.maintenance_windows !== undefined && { maintenance_windows: settings.maintenance_windows }),
    defaults: settings.defaults,
    checks: Object.fromEntries([...checks].map(([name, check]) => [name, inOrder(check)])),
  };
}

/** The keys of a check in the order in which people read them. */
function inOrder({ title, kind, parameters, ...rest }: written.Check): unknown {
  return { title, kind, ...rest, parameters };
}

export function variablesOf(draft: ConfigDraft): readonly DraftVariable[] {
  const names = renderConfig(draft).matchAll(/(?<!\$)\$\{env:(\w+)\}/g);
  return [...new Set([...names].map(([, name = ""]) => name))]
    .map((name) => ({ name, source: draft.sourceOf(name) ?? "the same variable in the source" }));
}

/** Returns the config with a comment above it: the source, the variables to set, and the missing parts. */
export function renderImport(draft: ConfigDraft, { origin }: { readonly origin: string }): string {
  const variables = variablesOf(draft);
  const lines = [
    `Imported from ${origin}.`,
    ...(variables.length === 0
      ? []
      : ["", "Variables to set:", ...variables.map(({ name, source }) => `  ${name}: ${source}`)]),
    ...(draft.leftOut.length === 0 ? [] : ["", "Not imported:", ...draft.leftOut.map(leftOutLine)]),
  ];
  const comment = lines.map((line) => `// ${printable(truncate(line, LINE_LENGTH_MAX))}`.trimEnd());
  return `${comment.join("\n")}\n${renderConfig(draft)}`;
}

const LINE_LENGTH_MAX = 300;

function leftOutLine({ item, key, reason }: LeftOut): string {
  return `  ${item}: ${key === null ? "" : `${key}: `}${reason}`;
}
