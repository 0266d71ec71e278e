import { PROBE } from "./world.ts";

/** A config as a scenario has it: what is the same in most scenarios may be left out. */
export type ScenarioConfig = Readonly<Record<string, unknown>>;

type Members = Readonly<Record<string, unknown>>;

/** A script whose result is the outcome of the check's name. */
const SCRIPT = { kind: "script", parameters: { path: PROBE } } as const;

/** By kind: the parameters of a channel of a name. */
const PARAMETERS: Readonly<Record<string, (name: string) => Members>> = {
  webhook: (name) => ({ target: `http://${name}.example/` }),
  email: (name) => ({
    access: { host: `${name}.example`, port: 587, username: "monitor", password: "secret" },
    sender: "monitor@example.org",
    receivers: [`${name}@example.org`],
  }),
  command: (name) => ({ path: `/bin/${name}` }),
};

/**
 * Completes a config: a check without a kind is a script with the outcomes of its name, a channel without a kind a
 * webhook of its name, and `defaults` have a threshold of 1 and all channels. Without channels there is one, `chat`.
 */
export function completeConfig({ channels = { chat: {} }, checks = {}, ...rest }: ScenarioConfig): Members {
  const named = channels as Members;
  return {
    ...rest,
    defaults: { threshold: 1, notifications: Object.keys(named), ...rest["defaults"] as Members | undefined },
    channels: mapValues(named, completeChannel),
    checks: mapValues(
      checks as Members,
      (_, check) => "kind" in check || "for_each" in check ? check : { ...SCRIPT, ...check },
    ),
  };
}

function completeChannel(name: string, channel: Members): Members {
  const kind = String(channel["kind"] ?? "webhook");
  const parameters = PARAMETERS[kind]?.(name) ?? {};
  return { kind, ...channel, parameters: { ...parameters, ...channel["parameters"] as Members | undefined } };
}

function mapValues(members: Members, change: (name: string, value: Members) => Members): Members {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, change(name, value as Members)]),
  );
}

/** Returns the commands of the channels of a config. */
export function channelCommandsOf({ channels = {} }: Members): readonly string[] {
  return Object.values(channels as Members).flatMap((channel) => {
    const { kind, parameters = {} } = channel as Members & { readonly parameters?: Members };
    return kind === "command" ? [String(parameters["path"])] : [];
  });
}
