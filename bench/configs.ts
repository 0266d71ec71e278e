/** Configs of many checks of one kind, as a person would write them for one. */

import { BODY_PART } from "./server.ts";

/** The target of a config's checks. */
export interface ConfigSubject {
  /** Their kind and its parameters, as the config has them. */
  readonly check: Readonly<Record<string, unknown>>;
  /** How many there are. */
  readonly count: number;
  /** Their interval. */
  readonly intervalSeconds: number;
  /** The channels. @default none */
  readonly notifications?: readonly Readonly<Record<string, unknown>>[];
}

/** The names of so many checks. */
export function checkNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `check ${index}`);
}

/** Makes the config. */
export function makeConfig(
  { check, count, intervalSeconds, notifications = [] }: ConfigSubject,
): string {
  return JSON.stringify({
    defaults: { schedule: { regular_interval: intervalSeconds }, notifications },
    checks: Object.fromEntries(checkNames(count).map((name) => [name, check])),
  });
}

/** A check that sends a request and expects the status 200, and a text in the body if it reads that. */
export function requestCheck(
  target: string,
  { readsBody }: { readonly readsBody: boolean },
): ConfigSubject["check"] {
  const response = { status_code: 200, ...readsBody && { body_part: BODY_PART } };
  return { kind: "http_request", parameters: { request: { target }, response } };
}

/** Returns a check that runs a command. */
export function scriptCheck(path: string): ConfigSubject["check"] {
  return { kind: "script", parameters: { path } };
}
