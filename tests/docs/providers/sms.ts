import { type Provider, strictObject, text } from "./provider.ts";

const NUMBER = { type: "string", pattern: "^\\+[1-9]\\d{1,14}$" };

/** https://www.twilio.com/docs/messaging/api/message-resource, 2026-11-23 */
const twilio: Provider = {
  source: "https://www.twilio.com/docs/messaging/api/message-resource, 2026-11-23",
  host: "api.twilio.com",
  environment: { TWILIO_SID: "AC0123", TWILIO_TOKEN: "twilio-secret" },
  method: "POST",
  path: /^\/2010-04-01\/Accounts\/AC0123\/Messages\.json$/,
  contentType: "application/x-www-form-urlencoded",
  headers: { authorization: `Basic ${btoa("AC0123:twilio-secret")}` },
  schema: strictObject({ From: NUMBER, To: NUMBER, Body: text(1600) }),
  status: 201,
  textOf: (body: { Body: string }) => body.Body,
};

/** https://docs.seven.io/en/rest-api/endpoints/sms, 2026-11-23 */
const seven: Provider = {
  source: "https://docs.seven.io/en/rest-api/endpoints/sms, 2026-11-23",
  host: "gateway.seven.io",
  environment: { SEVEN_KEY: "seven-secret" },
  method: "POST",
  path: /^\/api\/sms$/,
  headers: { "x-api-key": "seven-secret" },
  schema: strictObject({ to: NUMBER, from: text(11), text: text(1520) }),
  status: 200,
  textOf: (body: { text: string }) => body.text,
};

export const SMS: Readonly<Record<string, Provider>> = { twilio, seven };
