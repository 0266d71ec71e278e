import type { CheckFacts, Message } from "../domain/delivery.ts";
import type { NotifyingConfig } from "./configured_channels.ts";

/**
 * Adds to each item of a message the present facts of the config about its check, and the URL of its page. An item about
 * several checks, or about none of the config, has the URL of the page of all checks.
 */
export function withFacts(
  message: Message,
  { pageUrl, users }: Pick<NotifyingConfig, "pageUrl" | "users">,
): Message {
  const running = new Map(users.filter(({ active }) => active === true).map((user) => [user.name, user]));
  const factsOf = (check: string): CheckFacts => {
    const user = running.get(check);
    return {
      ...pageUrl !== null && { url: urlOf(pageUrl, user === undefined ? null : check) },
      ...user !== undefined && factsOfUser(user),
    };
  };
  return {
    ...message,
    items: message.items.map((item) => ({ ...item, facts: factsOf(item.notification.check) })),
  };
}

function urlOf(pageUrl: string, check: string | null): string {
  const base = pageUrl.endsWith("/") ? pageUrl : `${pageUrl}/`;
  return check === null ? base : `${base}checks/${encodeURIComponent(check.toWellFormed())}`;
}

function factsOfUser(
  { kind, tags = [], description, runbook }: NotifyingConfig["users"][number],
): CheckFacts {
  return {
    ...kind !== undefined && { kind },
    ...tags.length > 0 && { tags },
    ...description !== undefined && { description },
    ...runbook !== undefined && { runbook },
  };
}
