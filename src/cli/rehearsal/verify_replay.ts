/** Compares a replay of the past with what was really sent: `monitor replay --verify`. */
import type { LoadedConfig } from "../../config/load.ts";
import { dependencyNames } from "../../domain/check.ts";
import type { Store } from "../../domain/store.ts";
import type { System } from "../../domain/system.ts";
import { replay, type ReplayedNotification } from "../../rehearsal/replay.ts";
import { acceptedIn, decisionsIn, differencesFromSent } from "../../rehearsal/verify.ts";
import { counted, printable } from "../../shared/text.ts";
import { DAY_MS } from "../../shared/time_units.ts";
import { EXIT } from "../exit_code.ts";
import { listed, messageLine, readPast } from "./compare_replays.ts";

/** What is stored takes no longer to be sent, and read. */
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
  // A run that a notification waited for was at its time.
  const dependencies = new Map(config.checks.map((check) => [check.name, dependencyNames(check)]));
  const moments = log.flatMap(({ check, decidedAtMs }) =>
    (dependencies.get(check) ?? []).map((name) => ({ name, atMs: decidedAtMs }))
  );
  // From the first result on: what was notified before the time in question decides about what is sent in it.
  const past = await readPast([config], { store, lastMs: LAST_MS_MAX, system, moments });
  if (past === null) return EXIT.nothing;
  const decisions = decisionsIn(sentPast);
  const { notifications } = await replay(config, { ...past, system, decisions });
  const sinceMs = past.untilMs - lastMs;
  // What is decided meanwhile, or after the last result, is compared the next time.
  const endMs = Math.min(past.past.lastMs, past.untilMs - SETTLED_MS);
  const isCompared = ({ check, atMs, decidedAtMs }: ReplayedNotification): boolean =>
    atMs >= Math.max(sinceMs, past.past.knownFromMs(check)) && decidedAtMs <= endMs;
  const sent = acceptedIn(sentPast).filter(isCompared);
  const found = differencesFromSent(sentPast, notifications)
    .filter(({ message }) => isCompared(message));
  const lines = found.length === 0 ? [`${counted(sent.length, "notification")} as sent`] : [
    "- only sent, + only replayed:",
    ...listed(found.map(({ sign, message }) => `${sign} ${messageLine(message, system.timeZone())}`)),
  ];
  system.stdout.write(lines.map((line) => `${printable(line)}\n`).join(""));
  return found.length === 0 ? EXIT.ok : EXIT.differs;
}
