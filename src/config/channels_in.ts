import type { ConfigPath } from "./problem.ts";
import { isObject } from "./schema_view.ts";
import type { JsonObject, JsonValue } from "./syntax.ts";

/** A channel as it is written in a file of the config. */
export interface WrittenChannel {
  /** Where it stands. */
  readonly path: ConfigPath;
  /** What is written for its kind; empty if that is no text. */
  readonly kind: string;
}

/** Lists the channels in the defaults and the checks of a file. */
export function channelsIn(written: JsonObject): readonly WrittenChannel[] {
  const checks = isObject(written["checks"]) ? Object.entries(written["checks"]) : [];
  return [
    ...listed(written["defaults"], ["defaults"]),
    ...checks.flatMap(([name, check]) => listed(check, ["checks", name])),
  ];
}

function listed(holder: JsonValue | undefined, path: ConfigPath): readonly WrittenChannel[] {
  const channels = isObject(holder) ? holder["notifications"] : undefined;
  if (!Array.isArray(channels)) return [];
  return channels.map((channel, index) => {
    const kind = isObject(channel) ? channel["kind"] : "";
    return { path: [...path, "notifications", index], kind: typeof kind === "string" ? kind : "" };
  });
}
