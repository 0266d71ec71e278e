import { type Provider, strictObject, text } from "./provider.ts";

/** https://docs.github.com/en/rest/issues/issues#create-an-issue, 2026-11-23 */
const github: Provider = {
  source: "https://docs.github.com/en/rest/issues/issues#create-an-issue, 2026-11-23",
  host: "api.github.com",
  environment: { GITHUB_TOKEN: "github-secret" },
  method: "POST",
  path: /^\/repos\/example\/operations\/issues$/,
  // A request without a user agent is rejected.
  headers: {
    authorization: "Bearer github-secret",
    accept: "application/vnd.github+json",
    "user-agent": "monitor",
  },
  schema: strictObject({ title: text(256), body: text(65_536), labels: { type: "array", items: text(50) } }),
  status: 201,
  sendsRecoveries: false,
  textOf: (body: { body: string }) => body.body,
  mention: /@\w/,
};

export const TICKETS: Readonly<Record<string, Provider>> = { github };
