import { channelEntryOf } from "../channels/registry.ts";
import { type Channel, mayWait, SUMMARY_NAME, type SummarySettings } from "../domain/channel.ts";
import type { Listen, Page } from "../domain/generated/config.ts";
import type { MessageLimit } from "../domain/limits.ts";
import { alternativesOf, type Check } from "../domain/check.ts";
import type { Redact } from "../shared/redact.ts";
import type { DeliveryTarget, DispatcherOptions } from "./dispatcher.ts";
import type { ChannelUser } from "./rekey.ts";
import type { CheckFacts, Message } from "../domain/delivery.ts";

/** The parts of the config for notifications; a reload replaces it whole. */
export interface NotifyingConfig extends Pick<ChannelsSource, "redact" | "commonCauses" | "timeZone"> {
  /** All checks of the config, and its summary: pending notifications of any of their channels can be sent. */
  readonly users: readonly ChannelUser[];
  /** The channels with a name, also without a user: a fallback, or one whose last check left. */
  readonly named: readonly Channel[];
  /** The checks that run here: active, and chosen by name or tag. Only these suppress checks that depend on them. */
  readonly running: readonly Check[];
  /** Absolute. */
  readonly directory: string;
  /** The URL of the live page, for links; `null`: none is configured. */
  readonly pageUrl: string | null;
  /** Whether the live page has a form that acknowledges a problem. */
  readonly hasActions: boolean;
}

/** The timeout of one delivery attempt, unless the channel's own timeout is longer. */
const ATTEMPT_MS = 60_000;
/** The extra time for terminating a command after its own timeout. */
const OWN_TIMEOUT_EXTRA_MS = 10_000;

export interface ChannelsSource {
  readonly checks: readonly Check[];
  readonly summary: SummarySettings | null;
  /** Those that have a name, by it. */
  readonly channels: ReadonlyMap<string, Channel>;
  readonly page: Page | null;
  readonly listen: Pick<Listen, "actions"> | null;
  /** Whether problems with a common cause are one message. */
  readonly commonCauses: boolean;
  timeZone(): string;
  readonly source: Pick<NotifyingConfig, "directory">;
  readonly redact: Redact;
}

/** Returns the part of a config that notifications need, for the checks that run. */
export function toNotifyingConfig(
  { checks, summary, channels, page, listen, commonCauses, timeZone, source: { directory }, redact }:
    ChannelsSource,
  running: readonly Check[] = checks.filter(({ active }) => active),
): NotifyingConfig {
  const ofSummary = summary === null ? [] : [{ name: SUMMARY_NAME, notifications: summary.notifications }];
  const users = [...checks, ...ofSummary];
  const pageUrl = page?.url ?? null;
  const hasActions = listen?.actions ?? false;
  const named = [...channels.values()];
  return { users, running, named, directory, redact, pageUrl, hasActions, commonCauses, timeZone };
}

export class ConfiguredChannels {
  readonly #redact: Redact;
  readonly #byKey: ReadonlyMap<string, Channel>;
  readonly #users: ReadonlyMap<string, ChannelUser>;
  readonly #usesByCheck: ReadonlyMap<string, ReadonlyMap<string, Channel>>;
  /** Those of checks and the summary, in their order. */
  readonly #used: readonly Channel[];

  constructor({ users, named, redact }: Pick<NotifyingConfig, "users" | "named" | "redact">) {
    this.#redact = redact;
    this.#users = new Map(users.map((user) => [user.name, user]));
    this.#used = users.flatMap(({ notifications }) => notifications);
    const byKey = new Map<string, Channel>();
    for (const channel of [...this.#used, ...named]) {
      const atMost = stricter(byKey.get(channel.key)?.atMost, channel.atMost);
      byKey.set(channel.key, atMost === channel.atMost ? channel : { ...channel, ...atMost && { atMost } });
    }
    this.#byKey = byKey;
    this.#usesByCheck = new Map(
      users.map(({ name, notifications }) => [name, new Map(notifications.map((one) => [one.key, one]))]),
    );
  }

  get names(): ReadonlyMap<string, string> {
    return new Map([...this.#byKey].map(([key, channel]) => [key, this.nameOf(channel)]));
  }

  /** Returns a channel's name in messages: its own, or its receiver, which may come from a placeholder. */
  nameOf(channel: Channel): string {
    return channel.name ?? this.#redact(channelEntryOf(channel).describe(channel));
  }

  targetOf(channelKey: string): DeliveryTarget | null {
    const channel = this.#byKey.get(channelKey);
    if (channel === undefined) return null;
    const entry = channelEntryOf(channel);
    const { parameters } = channel;
    // A channel with its own timeout returns by then, with more details than a timeout.
    const ownTimeoutMs = "timeoutMs" in parameters ? parameters.timeoutMs + OWN_TIMEOUT_EXTRA_MS : 0;
    return {
      channel,
      batches: entry.batches(channel),
      mergesCauses: channel.commonCauses ?? entry.isAboutOne?.(channel) !== true,
      group: channel.group === undefined
        ? null
        : { waitMs: channel.group.waitMs, of: (check) => this.#groupOf(check, channel.group?.by) },
      // A limit or a group delays notifications, and loses none.
      staleAfterMs: mayWait(channel) ? null : entry.staleAfterMs ?? null,
      attemptTimeoutMs: Math.max(ATTEMPT_MS, ownTimeoutMs),
    };
  }

  #groupOf(check: string, by: NonNullable<Channel["group"]>["by"] | undefined): string {
    if (by === "all") return "";
    const { tags: [tag] = [], dependsOn: [parent] = [] } = this.#users.get(check) ?? {};
    const named = by === "tag" ? tag : parent === undefined ? undefined : alternativesOf(parent)[0];
    return named ?? check;
  }

  /** Returns the channel that is notified if one rejects notifications; `null`: there is no other one. */
  fallbackOf(channelKey: string): Channel | null {
    const name = this.#byKey.get(channelKey)?.fallback;
    const other = name === undefined
      ? this.#used.find(({ key }) => key !== channelKey)
      : [...this.#byKey.values()].find((one) => one.key !== channelKey && one.name === name);
    return other ?? null;
  }

  /** The channels of the summary, each once. */
  get ofSummary(): readonly Channel[] {
    return [...this.#usesByCheck.get(SUMMARY_NAME)?.values() ?? []];
  }

  /** Returns a channel with the filters of its use by a check. */
  useOf(check: string, channelKey: string): Channel | undefined {
    return this.#usesByCheck.get(check)?.get(channelKey);
  }

  placeOf(check: string, channelKey: string): ReturnType<DispatcherOptions["placeOf"]> {
    if (this.#usesByCheck.get(check)?.has(channelKey) === false) return "unwanted";
    return this.#byKey.has(channelKey) ? "here" : "absent";
  }
}

/** A channel without a name may be in several lists with different limits. */
function stricter(one: MessageLimit | undefined, other: MessageLimit | undefined): MessageLimit | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.count / one.windowMs < other.count / other.windowMs ? one : other;
}

/**
 * Adds to each item of a message the present facts of the config about its check, the URL of its page, and the time
 * zone. An item about several checks, or about none of the config, has the URL of the page of all checks. A rehearsal
 * has the one that confirms it, also in its output.
 */
export function withFacts(
  message: Message,
  { pageUrl, hasActions, users, timeZone }: Pick<
    NotifyingConfig,
    "pageUrl" | "hasActions" | "users" | "timeZone"
  >,
): Message {
  const running = new Map(users.filter(({ active }) => active === true).map((user) => [user.name, user]));
  return {
    ...message,
    items: message.items.map((item) => {
      const { notification } = item;
      const { check, event, token } = notification;
      const user = running.get(check);
      const url = pageUrl === null ? undefined : urlOf(pageUrl, user === undefined ? null : check, token);
      const isOpen = hasActions && user !== undefined && event !== "recovery" && event !== "burning";
      return {
        ...item,
        ...token !== undefined && {
          notification: {
            ...notification,
            output: `${notification.output}: ${url ?? "page.url is missing"}`,
          },
        },
        facts: {
          ...url !== undefined && { url, ...isOpen && { acknowledge_url: `${url}#acknowledge` } },
          ...user !== undefined && factsOfUser(user),
        },
        goesDown: user?.goesDown ?? false,
        isInverted: user?.invert ?? false,
        timeZone: timeZone(),
      };
    }),
  };
}

function urlOf(pageUrl: string, check: string | null, token?: string): string {
  const base = pageUrl.endsWith("/") ? pageUrl : `${pageUrl}/`;
  if (token !== undefined) return `${base}confirm/${token}`;
  return check === null ? base : `${base}checks/${encodeURIComponent(check.toWellFormed())}`;
}

function factsOfUser(user: ChannelUser): CheckFacts {
  const keys = ["kind", "target", "tags", "description", "runbook"] as const;
  return Object.fromEntries(keys.flatMap((key) => user[key]?.length ? [[key, user[key]]] : []));
}
