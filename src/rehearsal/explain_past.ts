/** Why channels of a check were, or were not, notified at a time in the past. */
import type { Check } from "../domain/check.ts";
import { dependencyNames } from "../domain/check.ts";
import type { CheckRecord, Store } from "../domain/store.ts";
import { channelsOf, ConfiguredChannels } from "../engine/configured_channels.ts";
import { PastOutbox } from "../engine/past_outbox.ts";
import { explainCheck, type Why, type WhySources } from "../outputs/why/gather_why.ts";
import { isoTime } from "../shared/json_values.ts";
import { Past } from "./past.ts";
import { PastRecords } from "./past_records.ts";

interface PastSources {
  readonly config: WhySources["config"];
  readonly state: { readonly store: Store | null };
  /** Wall time, milliseconds since 1970. */
  readonly atMs: number;
}

/** Returns the explanation by the present config, or why there is none. */
export async function explainPast(check: Check, { config, state, atMs }: PastSources): Promise<Why | string> {
  const { store } = state;
  const { name } = check;
  const span = { sinceMs: -Infinity, untilMs: Infinity };
  const journals = await store?.journal([name, ...dependencyNames(check)], span) ?? [];
  const firstMs = journals.find((journal) => journal.name === name)?.rows[0]?.firstMs;
  if (store === null || firstMs === undefined) return `no result of "${name}" is stored`;
  if (atMs < firstMs) {
    return `no result of "${name}" until ${isoTime(atMs)} is stored: the first one is of ${isoTime(firstMs)}`;
  }
  const logged = await store.deliveries({ checks: [name], ...span });
  const kept = await store.outbox();
  const silences = await store.silences(firstMs);
  const names = new ConfiguredChannels({ ...channelsOf(config), redact: config.redact });
  const keys = new Map(check.notifications.map((channel) => [names.nameOf(channel), channel.key]));
  const known = new Set(keys.values());
  const outbox = new PastOutbox(
    logged,
    kept.notifications.filter(({ notification }) => notification.check === name),
    ({ channelKey, channelName }) => known.has(channelKey) ? channelKey : keys.get(channelName) ?? channelKey,
  );
  const running = new Map(config.checks.filter(({ active }) => active).map((one) => [one.name, one]));
  const dependencies = new Map([[name, dependencyNames(check)]]);
  const past = new PastRecords(check, {
    past: new Past({ journals, silences, dependencies }),
    ...{ running, outbox },
  });
  // The check itself moves the outbox on.
  const record = past.recordAt(name, atMs);
  outbox.advance(atMs);
  const recordOf = (other: string): CheckRecord | null =>
    other === name ? record : past.recordAt(other, atMs);
  return explainCheck(check, {
    ...{ config, recordOf, outbox: outbox.outbox, nowMs: atMs },
    monitor: null,
    silences: silences.filter(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs),
    logged: logged.filter((sent) => sent.atMs <= atMs),
    isPast: true,
  });
}
