/** Compares a replay of the past with the log of deliveries: `monitor replay --verify`. */
import type { LoadedConfig } from "../../config/load.ts";
import { dependencyNames } from "../../domain/check.ts";
import type { QueuedNotification } from "../../domain/outbox.ts";
import type { Store } from "../../domain/store.ts";
import type { System } from "../../domain/system.ts";
import { isExcluded } from "../../engine/channel_filters.ts";
import { replay } from "../../rehearsal/replay.ts";
import { acceptedIn, differencesFromSent, type VerifiedNotification } from "../../rehearsal/verify.ts";
import { counted, printable } from "../../shared/text.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { EXIT } from "../exit_code.ts";
import { listed, messageLine, readPast } from "./compare_replays.ts";

/** The longest time from a stored decision to its delivery and its next read. */
const SETTLED_MS = 10_000;

/** The longest time of a replay. */
export const LAST_MS_MAX = 10 * 365 * DAY_MS;

interface VerifyOptions {
  readonly store: Store | null;
  readonly lastMs: number;
  readonly system: System;
}

/** Prints the differences; returns the exit code. */
export async function verifyReplay(
  config: LoadedConfig,
  { store, lastMs, system }: VerifyOptions,
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
