import type { CheckFacts, Message } from "../domain/delivery.ts";
import type { NotifyingConfig } from "./configured_channels.ts";

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
        facts: { ...url !== undefined && linksOf(url, isOpen), ...user !== undefined && factsOfUser(user) },
        goesDown: user?.goesDown ?? false,
        isInverted: user?.invert ?? false,
        timeZone: timeZone(),
      };
    }),
  };
}

function linksOf(url: string, isOpen: boolean): CheckFacts {
  return { url, ...isOpen && { acknowledge_url: `${url}#acknowledge` } };
}

function urlOf(pageUrl: string, check: string | null, token?: string): string {
  const base = pageUrl.endsWith("/") ? pageUrl : `${pageUrl}/`;
  if (token !== undefined) return `${base}confirm/${token}`;
  return check === null ? base : `${base}checks/${encodeURIComponent(check.toWellFormed())}`;
}

function factsOfUser(
  { kind, target, tags = [], description, runbook }: NotifyingConfig["users"][number],
): CheckFacts {
  return {
    ...kind !== undefined && { kind },
    ...target !== undefined && { target },
    ...tags.length > 0 && { tags },
    ...description !== undefined && { description },
    ...runbook !== undefined && { runbook },
  };
}
