import type { System } from "../../domain/system.ts";
import { counted, jsonDocument, printable } from "../../shared/text.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { type Command, EXIT, type Invocation, OPTION, option, UsageError } from "../command_definition.ts";
import { openStateOf } from "../known_config.ts";
import { type OpenConfig, openConfig, openConfigAt } from "../open_config.ts";
import { readDuration } from "../read_times.ts";
import {
  compareReplays,
  comparisonFields,
  comparisonText,
  listed,
  messageLine,
  readPast,
} from "../compare_replays.ts";
import { locateState } from "../open_state.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { dependencyNames } from "../../domain/check.ts";
import type { QueuedNotification } from "../../domain/outbox.ts";
import { isExcluded } from "../../engine/channel_filters.ts";
import {
  acceptedIn,
  differencesFromSent,
  replay,
  type VerifiedNotification,
} from "../../rehearsal/replay.ts";

export const replayCommand: Command = {
  name: "replay",
  group: "set_up",
  summary: "show what a config would have sent in the past",
  description:
    "Replays stored results with the config: the messages that it would have sent, the nights with one, the outages and " +
    "the mean delay. With --against, it compares another config, and lists messages that only one of both sends within " +
    "two minutes. It uses the same decision code as the service, sends nothing and stores nothing. All checks begin pending.",
  page: "guides/rehearse.md",
  options: [
    OPTION.config,
    option("--against PATH", "config to compare with, such as the present one; its state has the results"),
    OPTION.state,
    option("--verify", "compare with what was really sent, and fail if that differs"),
    option("--last TIME", "how far back (default: 90 days)"),
    OPTION.format,
  ],
  examples: [
    ["monitor replay --last 7d", "list the messages of a week"],
    ["monitor replay -c new.jsonc --against monitor.jsonc", "compare a new config with the present one"],
    ["monitor replay --format json", "print JSON for scripts"],
  ],
  uses: ["read", "write", "net", "env", "sys"],
  endings: ["done", "nothing_stored", "differs", "state", "permission", "config"],
  run: runReplay,
};

async function runReplay(invocation: Invocation, system: System): Promise<number> {
  const format = invocation.reportFormat();
  const verifies = invocation.has("verify");
  if (verifies && format === "json") throw new UsageError("--verify cannot be used with --format json");
  const lastMs = readLast(invocation);
  const config = await openConfig(invocation, system, { withoutSecrets: true });
  const path = invocation.text("against");
  const against = path === undefined
    ? null
    : await openConfigAt({ path, named: true }, { invocation, system, withoutSecrets: true });
  const place = await locateState(invocation, against ?? config, system);
  await using state = await openStateOf({ config: against ?? config, place }, system);
  const { store, records } = state;
  if (verifies) return await verifyReplay(config, { store, lastMs, system });
  const past = await readPast(against === null ? [config] : [config, against], { store, lastMs, system });
  if (past === null) {
    if (store === null && against === null) {
      system.stderr.write("monitor: hint: use the results of the config that runs: --against PATH\n");
    }
    return EXIT.nothing;
  }
  const label = (config: OpenConfig) => ({ label: config.source.label, config });
  const comparison = await compareReplays(past, {
    after: label(config),
    before: against && label(against),
    records,
    system,
  });
  const asText = (): string => comparisonText(comparison, config.timeZone());
  system.stdout.write(format === "json" ? jsonDocument(comparisonFields(comparison)) : asText());
  return EXIT.ok;
}

function readLast(invocation: Invocation): number {
  const lastMs = readDuration(invocation, "last", () => "monitor replay --last 7d") ?? 90 * DAY_MS;
  if (lastMs <= LAST_MS_MAX) return lastMs;
  const text = JSON.stringify(invocation.text("last"));
  throw new UsageError(`--last is ${text}, expected 10 years or less`);
}

// Compares a replay of the past with the log of deliveries: `monitor replay --verify`.

/** The longest time from a stored decision to its delivery and its next read. */
const SETTLED_MS = 10_000;

const LAST_MS_MAX = 10 * 365 * DAY_MS;

/** Prints the differences; returns the exit code. */
export async function verifyReplay(
  config: LoadedConfig,
  { store, lastMs, system }: Parameters<typeof readPast>[1],
): Promise<number> {
  const log = await store?.deliveries({ sinceMs: -Infinity, untilMs: Infinity }) ?? [];
  const sentPast = { log, waiting: (await store?.outbox())?.notifications ?? [] };
  const dependencies = new Map(config.checks.map((check) => [check.name, dependencyNames(check)]));
  // From the first result on: earlier notifications affect the decisions in the compared time.
  const past = await readPast([config], { store, lastMs: LAST_MS_MAX, system, dependencies });
  if (past === null) return EXIT.nothing;
  const decided: QueuedNotification[] = [];
  await replay(withoutWaits(config), {
    ...past,
    system,
    onDecided: ({ queued }) => void decided.push(...queued),
  });
  const sinceMs = past.untilMs - lastMs;
  // Decisions meanwhile, or after the last result, are not final yet.
  const endMs = Math.min(past.past.lastMs, past.untilMs - SETTLED_MS);
  const isCompared = ({ check, atMs, decidedAtMs }: VerifiedNotification): boolean =>
    atMs >= Math.max(sinceMs, past.past.knownFromMs(check)) && decidedAtMs <= endMs;
  const sent = acceptedIn(sentPast).filter(isCompared);
  const channels = new Map(config.checks.map((check) => [check.name, check.notifications]));
  const isLeftOut = (queued: QueuedNotification): boolean => {
    const all = channels.get(queued.notification.check) ?? [];
    return all.some((channel) => channel.key === queued.channelKey && isExcluded(channel, queued));
  };
  const found = differencesFromSent(sentPast, decided, isLeftOut)
    .filter(({ message }) => isCompared(message));
  const lines = found.length === 0 ? [`${counted(sent.length, "notification")} as sent`] : [
    "- only sent, + only replayed:",
    ...listed(found.map(({ sign, message }) => `${sign} ${messageLine(message, config.timeZone())}`)),
  ];
  system.stdout.write(lines.map((line) => `${printable(line)}\n`).join(""));
  return found.length === 0 ? EXIT.ok : EXIT.differs;
}

/**
 * Returns a config whose channels accept everything at once. The log has how long each notification waited: less than
 * for its group if the service was stopped, and whether a reminder was due meanwhile.
 */
function withoutWaits(config: LoadedConfig): LoadedConfig {
  const checks = config.checks.map((check) => ({
    ...check,
    notifications: check.notifications.map(({ group: _, atMost: __, ...channel }) => channel),
  }));
  return { ...config, checks, channels: new Map(), summary: null };
}
