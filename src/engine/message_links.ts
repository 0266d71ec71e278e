import type { Message } from "../domain/delivery.ts";
import type { NotifyingConfig } from "./configured_channels.ts";

/**
 * Adds to each item of a message the URL of the page of its check. What is about no check of the config, or of several, has
 * that of all checks.
 */
export function withLinks(
  message: Message,
  { pageUrl, users }: Pick<NotifyingConfig, "pageUrl" | "users">,
): Message {
  if (pageUrl === null) return message;
  const base = pageUrl.endsWith("/") ? pageUrl : `${pageUrl}/`;
  const linkOf = (check: string): string => {
    const isCheck = users.some(({ name, active }) => name === check && active === true);
    return isCheck ? `${base}checks/${encodeURIComponent(check.toWellFormed())}` : base;
  };
  return {
    ...message,
    items: message.items.map((item) => ({ ...item, link: linkOf(item.notification.check) })),
  };
}
