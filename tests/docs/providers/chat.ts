import assert from "node:assert/strict";
import { type Provider, strictObject, text } from "./provider.ts";

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks and .../formatting-message-text, 2026-11-23 */
const slack: Provider = {
  source: "https://docs.slack.dev/messaging/formatting-message-text, 2026-11-23",
  host: "hooks.slack.com",
  environment: { SLACK_WEBHOOK: "T000/B000/slack-secret" },
  method: "POST",
  path: /^\/services\/T000\/B000\/slack-secret$/,
  // Longer texts are cut.
  schema: strictObject({ text: text(40_000), unfurl_links: { type: "boolean" } }),
  status: 200,
  textOf: (body: { text: string }) => body.text,
  // Mentions are in angle brackets; an ampersand begins an entity.
  mention: /[<>]|&(?!(?:amp|lt|gt);)/,
};

/** https://developers.mattermost.com/integrate/webhooks/incoming and the limit of a post, 2026-11-23 */
const mattermost: Provider = {
  source: "https://developers.mattermost.com/integrate/webhooks/incoming, 2026-11-23",
  host: "mattermost.example.org",
  environment: { MATTERMOST_HOOK: "mattermost-secret" },
  method: "POST",
  path: /^\/hooks\/mattermost-secret$/,
  schema: strictObject({ text: text(16_383) }),
  status: 200,
  textOf: (body: { text: string }) => body.text,
  // Those of Slack are understood, too.
  mention: /@[\w.-]|<[!@]/,
};

/** https://discord.com/developers/docs/resources/webhook#execute-webhook, 2026-11-23 */
const discord: Provider = {
  source: "https://discord.com/developers/docs/resources/webhook, 2026-11-23",
  host: "discord.com",
  environment: { DISCORD_WEBHOOK: "1234/discord-secret" },
  method: "POST",
  path: /^\/api\/webhooks\/1234\/discord-secret$/,
  schema: strictObject({
    content: text(2000),
    // An empty list of kinds to parse: nothing in the content mentions anyone.
    allowed_mentions: strictObject({ parse: { type: "array", maxItems: 0 } }),
  }),
  status: 204,
  textOf: (body: { content: string }) => body.content,
};

/**
 * https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using and
 * https://adaptivecards.io/explorer/RichTextBlock.html, 2026-11-23. A message has at most 28 KB. A TextRun has no
 * Markdown, and mentions need an entity of their own.
 */
const teams: Provider = {
  source: "https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors, 2026-11-23",
  host: "unused.example.org",
  environment: { TEAMS_WORKFLOW: "ORIGIN/workflows/1?sig=teams-secret" },
  method: "POST",
  path: /^\/workflows\/1\?sig=teams-secret$/,
  schema: strictObject({
    type: { const: "message" },
    attachments: {
      type: "array",
      minItems: 1,
      maxItems: 1,
      items: strictObject({
        contentType: { const: "application/vnd.microsoft.card.adaptive" },
        content: strictObject({
          $schema: { const: "http://adaptivecards.io/schemas/adaptive-card.json" },
          type: { const: "AdaptiveCard" },
          version: { enum: ["1.2", "1.3", "1.4", "1.5"] },
          body: {
            type: "array",
            minItems: 1,
            items: strictObject({
              type: { const: "RichTextBlock" },
              inlines: {
                type: "array",
                minItems: 1,
                items: strictObject({ type: { const: "TextRun" }, text: text(20_000) }),
              },
            }),
          },
        }),
      }),
    },
  }),
  status: 202,
  textOf: (body: object) => JSON.stringify(body),
};

/** https://core.telegram.org/bots/api#sendmessage and #html-style, 2026-11-23 */
const telegram: Provider = {
  source: "https://core.telegram.org/bots/api#sendmessage, 2026-11-23",
  host: "api.telegram.org",
  environment: { TELEGRAM_TOKEN: "123:telegram-secret" },
  method: "POST",
  path: /^\/bot123:telegram-secret\/sendMessage$/,
  schema: strictObject({
    chat_id: { type: "string", pattern: "^(@\\w+|-?\\d+)$" },
    parse_mode: { const: "HTML" },
    // 4,096 characters once the entities are read.
    text: text(4096 + 4000),
    link_preview_options: strictObject({ is_disabled: { type: "boolean" } }),
  }),
  status: 200,
  textOf: (body: { text: string }) => {
    const plain = body.text.replaceAll(/&(?:amp|lt|gt);/g, ".").replaceAll(/<\/?b>/g, "");
    assert.ok(plain.length <= 4096);
    return body.text;
  },
  // Any tag but ours, and any ampersand that begins no entity, is an error.
  mention: /<(?!\/?b>)|&(?!(?:amp|lt|gt|quot);)/,
};

/**
 * https://spec.matrix.org/v1.18/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid, #mmessage and
 * #user-and-room-mentions, 2026-11-23. An event has at most 65,536 bytes. With `m.mentions`, texts mention no one.
 */
const matrix: Provider = {
  source: "https://spec.matrix.org/v1.18/client-server-api, 2026-11-23",
  host: "matrix.example.org",
  environment: { MATRIX_TOKEN: "matrix-secret" },
  method: "PUT",
  path: /^\/_matrix\/client\/v3\/rooms\/%21room%3Aexample.org\/send\/m\.room\.message\/[\w-]+$/,
  headers: { authorization: "Bearer matrix-secret" },
  schema: strictObject({
    msgtype: { const: "m.text" },
    body: text(60_000),
    "m.mentions": { type: "object", maxProperties: 0 },
  }),
  status: 200,
  textOf: (body: { body: string }) => body.body,
  // The transaction: a server drops another message with the same id.
  idOf: ({ path }) => path,
};

export const CHAT: Readonly<Record<string, Provider>> = {
  slack,
  mattermost,
  discord,
  teams,
  telegram,
  matrix,
};
