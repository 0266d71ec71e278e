import type { ConfigPath } from "./problem.ts";
import { isObject } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

/** A channel as it is written in a file of the config. */
interface WrittenChannel {
  readonly path: ConfigPath;
  /** What is written for its kind; empty if that is no text. */
  readonly kind: string;
}

/** Lists the channels that are written out in a file: those with a name, and those in the defaults and the checks. */
export function channelsIn(written: JsonObject): readonly WrittenChannel[] {
  const checks = isObject(written["checks"]) ? Object.entries(written["checks"]) : [];
  const named = isObject(written["channels"]) ? Object.entries(written["channels"]) : [];
  return [
    ...named.map(([name, channel]) => ({ path: ["channels", name], kind: kindOf(channel) })),
    ...listed(written["defaults"], ["defaults"]),
    ...checks.flatMap(([name, check]) => listed(check, ["checks", name])),
  ];
}

function listed(holder: JsonValue | undefined, path: ConfigPath): readonly WrittenChannel[] {
  const channels = isObject(holder) ? holder["notifications"] : undefined;
  if (!Array.isArray(channels)) return [];
  return channels.flatMap((channel, index) =>
    isObject(channel) ? [{ path: [...path, "notifications", index], kind: kindOf(channel) }] : []
  );
}

function kindOf(channel: JsonValue): string {
  const kind = isObject(channel) ? channel["kind"] : "";
  return typeof kind === "string" ? kind : "";
}
