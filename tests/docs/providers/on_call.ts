import assert from "node:assert/strict";
import { type ArrivedRequest, type JsonSchema, type Provider, strictObject, text, TIME } from "./provider.ts";

/** https://developer.pagerduty.com/docs/events-api-v2/trigger-events/, 2026-11-23 */
const pagerduty: Provider = {
  source: "https://developer.pagerduty.com/docs/events-api-v2/trigger-events/, 2026-11-23",
  host: "events.pagerduty.com",
  environment: { PAGERDUTY_KEY: "0123456789abcdef0123456789abcdef" },
  method: "POST",
  path: /^\/v2\/enqueue$/,
  schema: strictObject({
    routing_key: text(32, 32),
    event_action: { enum: ["trigger", "acknowledge", "resolve"] },
    dedup_key: text(255),
    payload: strictObject({
      summary: text(1024),
      source: text(1000),
      severity: { enum: ["critical", "error", "warning", "info"] },
      timestamp: TIME,
      component: text(1000),
      custom_details: { type: "object" },
    }),
  }),
  status: 202,
  textOf: (body: { payload: { summary: string } }) => body.payload.summary,
  keyOf: ({ body }) => (body as { readonly dedup_key: string }).dedup_key,
  pair: (problem, recovery) => {
    const actionOf = ({ body }: ArrivedRequest) => (body as { readonly event_action: string }).event_action;
    assert.deepEqual([actionOf(problem), actionOf(recovery)], ["trigger", "resolve"]);
  },
};

/**
 * https://docs.opsgenie.com/docs/alert-api and, with the same requests,
 * https://developer.atlassian.com/cloud/jira/service-desk-ops/rest/v1/api-group-integration-events/, 2026-11-23
 */
const opsgenie: Provider = {
  source: "https://docs.opsgenie.com/docs/alert-api, 2026-11-23",
  host: "api.opsgenie.com",
  environment: { OPSGENIE_KEY: "opsgenie-secret" },
  method: "POST",
  path: /^\/v2\/alerts$/,
  recoveryPath: /^\/v2\/alerts\/[^/]+\/close\?identifierType=alias$/,
  headers: { authorization: "GenieKey opsgenie-secret" },
  schema: strictObject({
    message: text(130),
    alias: text(512),
    description: text(15_000),
    priority: { enum: ["P1", "P2", "P3", "P4", "P5"] },
    source: text(100),
  }),
  recoverySchema: strictObject({ source: text(100), note: text(25_000) }),
  status: 202,
  textOf: (body: { message?: string; note?: string }) => body.message ?? body.note ?? "",
  keyOf: ({ path, body }) => {
    const [, alias] = /^\/v2\/alerts\/([^/]+)\/close/.exec(path) ?? [];
    return alias === undefined ? (body as { readonly alias: string }).alias : decodeURIComponent(alias);
  },
  pair: ({ body }) => assert.equal((body as { readonly priority: string }).priority, "P1"),
};

/** Names as Prometheus writes them; values are any text. */
const LABELS: JsonSchema = {
  type: "object",
  propertyNames: { pattern: "^[a-zA-Z_][a-zA-Z0-9_]*$" },
  additionalProperties: { type: "string" },
};

/** https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml (postableAlerts), 2026-11-23 */
const alertmanager: Provider = {
  source: "https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml, 2026-11-23",
  host: "alertmanager.example.org:9093",
  environment: {},
  method: "POST",
  path: /^\/api\/v2\/alerts$/,
  schema: {
    type: "array",
    minItems: 1,
    items: strictObject({ labels: LABELS, annotations: LABELS, startsAt: TIME, endsAt: TIME }),
  },
  status: 200,
  textOf: ([alert]: readonly { labels: object; annotations: object }[]) =>
    Object.values({ ...alert?.labels, ...alert?.annotations }).join("\n"),
  keyOf: ({ body }) => JSON.stringify((body as readonly { readonly labels: object }[])[0]?.labels),
  pair: (problem, recovery) => {
    type Alerts = readonly { readonly startsAt: string; readonly endsAt: string }[];
    const [[opened], [closed]] = [problem.body as Alerts, recovery.body as Alerts];
    assert.equal(opened?.startsAt, closed?.startsAt);
    assert.ok(Date.parse(opened?.endsAt ?? "") > Date.now());
    assert.ok(Date.parse(closed?.endsAt ?? "") <= Date.now());
  },
};

export const ON_CALL: Readonly<Record<string, Provider>> = { pagerduty, opsgenie, alertmanager };
