/**
 * Makes `docs/reference/messages.md`: the requests of one problem and its recovery, as each ready-made channel sends
 * them. The program reads a config with all of them and sends, to no one. A test fails if the page has something else.
 *
 *     deno run -A scripts/message_page.ts
 */
import { sendNow } from "../src/cli/send_now.ts";
import type { ReadyMadeKind } from "../src/config/ready_made_channels.ts";
import type { ChannelObjectParameters } from "../src/domain/generated/written_config.ts";
import type { Notification } from "../src/domain/outbox.ts";
import type { IncomingResponse, OutgoingRequest } from "../src/domain/requests.ts";
import { createConfigSystem, load } from "../testing/config_system.ts";

const PAGE = new URL("../docs/reference/messages.md", import.meta.url);

/** Typed so that a missing kind does not compile. */
export const EXAMPLES: { readonly [Kind in ReadyMadeKind]: ChannelObjectParameters[Kind] } = {
  slack: { url: "https://hooks.slack.com/services/T0/B0/SECRET" },
  teams: { url: "https://example.logic.azure.com/workflows/1?sig=SECRET" },
  discord: { url: "https://discord.com/api/webhooks/1/SECRET" },
  telegram: { token: "1:SECRET", chat: -1001234567890 },
  ntfy: { topic: "my-alerts", token: "SECRET" },
  gotify: { url: "https://gotify.example.org", token: "SECRET" },
  pushover: { token: "SECRET", user_key: "SECRET" },
  pagerduty: { integration_key: "SECRET" },
  opsgenie: { api_key: "SECRET" },
  matrix: { url: "https://matrix.example.org", token: "SECRET", room: "!room:example.org" },
  mattermost: { url: "https://mattermost.example.org/hooks/SECRET" },
};

const PROBLEM: Notification = {
  id: "0198",
  check: "shop",
  title: "Shop",
  event: "problem",
  condition: "critical",
  previous: "ok",
  output: "status is 503, expected 200",
  detail: "",
  problemBeganAtMs: Date.UTC(2026, 0, 31, 9, 58),
  decidedAtMs: Date.UTC(2026, 0, 31, 10),
  occurrences: 3,
  nextRunAtMs: Date.UTC(2026, 0, 31, 10, 1),
  hostName: "web1",
  acknowledged: null,
  flapping: false,
  dependents: 0,
};

const RECOVERY: Notification = {
  ...PROBLEM,
  event: "recovery",
  condition: "ok",
  previous: "critical",
  output: "status is 200",
  decidedAtMs: Date.UTC(2026, 0, 31, 10, 5),
};

/** Returns the requests of a notification by the kind of the channel. With `pageUrl`, the check has all facts. */
export async function requestsOf(
  notification: Notification,
  { pageUrl }: { readonly pageUrl?: string } = {},
): Promise<ReadonlyMap<string, OutgoingRequest>> {
  const channels = Object.fromEntries(
    Object.entries(EXAMPLES).map(([kind, parameters]) => [kind, { kind, parameters }]),
  );
  const config = await load({
    channels,
    defaults: { notifications: Object.keys(channels) },
    checks: {
      [notification.check]: { kind: "test", parameters: {}, ...pageUrl !== undefined && FACTS },
    },
    ...pageUrl !== undefined && { page: { url: pageUrl } },
  });
  const requests = new Map<string, OutgoingRequest>();
  for (const [kind, channel] of config.channels) {
    const system = createConfigSystem();
    const send = (request: OutgoingRequest) => {
      requests.set(kind, request);
      return Promise.resolve(ACCEPTED);
    };
    const item = { notification, missedProblem: null, summarized: 0, threadId: null };
    const message = {
      id: notification.id,
      items: [item],
      isTest: false,
      decidedAtMs: notification.decidedAtMs,
    };
    await sendNow(channel, message, {
      system: { ...system, requests: { ...system.requests, send } },
      config: { ...config, placedWarnings: [] },
    });
  }
  return requests;
}

const FACTS = { description: "The shop that customers see.", runbook: "https://wiki.example.org/shop" };

const ACCEPTED: IncomingResponse = {
  status: 204,
  headers: new Headers(),
  header: () => null,
  read: () => Promise.resolve(null),
  close: () => Promise.resolve(),
};

/** The page's text. */
export async function messagePage(): Promise<string> {
  const pageUrl = "https://monitor.example.org/";
  return `<!-- Made by scripts/message_page.ts; do not edit. -->

# Messages of ready-made channels

For administrators: the requests that [ready-made channels](channels.md#ready-made-channels) send for one problem
and its recovery. To send something else, copy the body into a [\`webhook\`](channels.md#webhook), with
[fields](channels.md#templates) in place of values.

The check \`shop\` has the title \`Shop\`. Each request also has \`Content-Type: application/json\`, \`User-Agent: monitor\`
and an \`Idempotency-Key\`. \`url\`, \`runbook\` and \`description\` are there only if
the config has them.

## Problem

${tableOf(await requestsOf(PROBLEM, { pageUrl }))}
## Recovery

${tableOf(await requestsOf(RECOVERY, { pageUrl }))}`;
}

function tableOf(requests: ReadonlyMap<string, OutgoingRequest>): string {
  const rows = [...requests].map(([kind, { method, target, headers, body }]) => {
    const own = Object.entries(headers)
      .filter(([name]) => !["content-type", "user-agent", "idempotency-key"].includes(name));
    const lines = [`${method} ${target}`, ...own.map(([name, value]) => `${name}: ${value}`)];
    return `| \`${kind}\` | ${lines.map(code).join("<br>")} | ${code(String(body))} |\n`;
  });
  return `| Channel | Request | Body |\n| --- | --- | --- |\n${rows.join("")}`;
}

function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

if (import.meta.main) await Deno.writeTextFile(PAGE, await messagePage());
