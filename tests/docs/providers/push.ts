import assert from "node:assert/strict";
import { type ArrivedRequest, type Provider, strictObject, text } from "./provider.ts";

function assertPriorities(
  problem: ArrivedRequest,
  recovery: ArrivedRequest,
  expected: readonly [number, number],
): void {
  const priorityOf = ({ body }: ArrivedRequest): unknown => (body as { readonly priority: unknown }).priority;
  assert.deepEqual([priorityOf(problem), priorityOf(recovery)], expected);
}

const titleOf = ({ body }: ArrivedRequest): unknown => (body as { readonly title: unknown }).title;

/** https://docs.ntfy.sh/publish/#publish-as-json, 2026-11-23. Above 4,096 bytes a message becomes an attachment. */
const ntfy: Provider = {
  source: "https://docs.ntfy.sh/publish/#publish-as-json, 2026-11-23",
  host: "ntfy.sh",
  environment: { NTFY_TOKEN: "ntfy-secret" },
  method: "POST",
  path: /^\/$/,
  headers: { authorization: "Bearer ntfy-secret" },
  schema: strictObject({
    topic: { type: "string", pattern: "^[-_A-Za-z0-9]{1,64}$" },
    title: text(1000),
    message: text(4096),
    priority: { type: "integer", minimum: 1, maximum: 5 },
    tags: { type: "array", items: text(100) },
    click: { type: "string", pattern: "^https?://" },
  }),
  status: 200,
  textOf: (body: { message: string }) => {
    assert.ok(new TextEncoder().encode(body.message).length <= 4096);
    return body.message;
  },
  keyOf: titleOf,
  pair: (problem, recovery) => {
    assertPriorities(problem, recovery, [5, 3]);
    assert.deepEqual((recovery.body as { tags: unknown }).tags, ["white_check_mark"]);
  },
};

/** https://gotify.net/api-docs#/message/createMessage, 2026-11-23 */
const gotify: Provider = {
  source: "https://gotify.net/api-docs, 2026-11-23",
  host: "gotify.example.org",
  environment: { GOTIFY_TOKEN: "gotify-secret" },
  method: "POST",
  path: /^\/message$/,
  headers: { "x-gotify-key": "gotify-secret" },
  schema: strictObject({
    title: text(1000),
    message: text(10_000),
    priority: { type: "integer", minimum: 0, maximum: 10 },
  }),
  status: 200,
  textOf: (body: { message: string }) => body.message,
  keyOf: titleOf,
  pair: (problem, recovery) => assertPriorities(problem, recovery, [8, 2]),
};

/** https://pushover.net/api, 2026-11-23: limits in characters; priority 2 needs `retry` and `expire`. */
const pushover: Provider = {
  source: "https://pushover.net/api, 2026-11-23",
  host: "api.pushover.net",
  environment: { PUSHOVER_TOKEN: "pushover-secret", PUSHOVER_USER: "pushover-user" },
  method: "POST",
  path: /^\/1\/messages\.json$/,
  schema: strictObject({
    token: { const: "pushover-secret" },
    user: { const: "pushover-user" },
    title: text(250),
    message: text(1024),
    priority: { type: "integer", minimum: -2, maximum: 2 },
    retry: { type: "integer", minimum: 30 },
    expire: { type: "integer", minimum: 1, maximum: 10_800 },
  }),
  status: 200,
  textOf: (body: { message: string }) => body.message,
  keyOf: titleOf,
  pair: (problem, recovery) => assertPriorities(problem, recovery, [2, 0]),
};

export const PUSH: Readonly<Record<string, Provider>> = { ntfy, gotify, pushover };
