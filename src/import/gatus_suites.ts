import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asBoolean, asList, asObject, asText, fieldOf, type Foreign, mapTexts } from "./foreign_value.ts";
import { alertSettings, type Providers } from "./gatus_alerting.ts";
import { translateTarget } from "./gatus_targets.ts";
import { standardJsonPath } from "./json_path.ts";
import { intervalText, parseGoDuration } from "./span_text.ts";

/** Translates a suite into one `http_request` with a step for each endpoint. */
export function translateSuite(
  suite: Foreign,
  { providers, draft }: { readonly providers: Providers; readonly draft: ConfigDraft },
): void {
  const name = asText(fieldOf(suite, "name")) ?? "unnamed";
  const item = `suite "${name}"`;
  const endpoints = asList(fieldOf(suite, "endpoints")).map(asObject);
  // Names that steps capture; others have a value from the start.
  const captured = new Set<string>();
  const values = asObject(fieldOf(suite, "context"));
  const steps: written.HttpStep[] = [];
  for (const endpoint of endpoints) {
    const step = translateStep(endpoint, { item, values, captured, draft });
    if (typeof step === "string") return draft.leaveOut(item, null, step);
    steps.push(step);
  }
  if (steps.length === 0) return draft.leaveOut(item, null, "it has no endpoints");
  const group = asText(fieldOf(suite, "group"));
  const spanOf = (key: string, missing: string) => parseGoDuration(asText(fieldOf(suite, key)) ?? missing);
  const [intervalMs, timeoutMs] = [spanOf("interval", "10m"), spanOf("timeout", "5m")];
  const settings = alertSettings(
    endpoints.flatMap((endpoint) => asList(fieldOf(endpoint, "alerts"))),
    { item, providers, draft },
  );
  draft.addCheck(group === undefined ? name : `${group} ${name}`, {
    title: name,
    ...(group !== undefined && { tags: [group] }),
    ...(asBoolean(fieldOf(suite, "enabled")) === false && { active: false }),
    ...settings,
    ...(intervalMs !== null && { schedule: { regular_interval: intervalText(intervalMs) } }),
    ...(timeoutMs !== null && { timeout: intervalText(timeoutMs) }),
    kind: "http_request",
    parameters: { steps },
  });
}

interface StepOptions {
  readonly item: string;
  readonly values: Foreign;
  /** Grows with each step. */
  readonly captured: Set<string>;
  readonly draft: ConfigDraft;
}

function translateStep(
  endpoint: Foreign,
  { item, values, captured, draft }: StepOptions,
): written.HttpStep | string {
  const name = asText(fieldOf(endpoint, "name")) ?? "step";
  const unknown = new Set<string>();
  const fill = (text: string) =>
    text.replaceAll(/\[CONTEXT\]\.([\w-]+)/g, (whole, key) => {
      const value = asText(fieldOf(values, key));
      if (captured.has(key)) return `\${captured:${captureName(key)}}`;
      if (value === undefined) unknown.add(whole);
      return value ?? whole;
    });
  const filled = asObject(mapTexts(endpoint, fill));
  const [missing] = unknown;
  if (missing !== undefined) return `${missing} has no value, or one of a structure`;
  // A value captured by a step cannot be an expected value.
  const conditions = asList(fieldOf(filled, "conditions")).filter((condition) => {
    const isComparable = !String(condition).includes("${captured:");
    if (!isComparable) {
      draft.leaveOut(item, `${name}: a condition on [CONTEXT]`, "a captured value cannot be expected");
    }
    return isComparable;
  });
  const target = translateTarget({ ...filled, conditions }, { item: `${item}, ${name}`, name, draft });
  if ("reason" in target) return `${name}: ${target.reason}`;
  const { request, response } = "request" in target.parameters ? target.parameters : {};
  if (request === undefined) return `${name}: only HTTP has a counterpart`;
  const capture = captureOf(asObject(fieldOf(endpoint, "store")), { item, name, draft });
  for (const key of Object.keys(asObject(fieldOf(endpoint, "store")))) {
    if (Object.hasOwn(capture, captureName(key))) captured.add(key);
  }
  return {
    name,
    request,
    ...(response !== undefined && { response }),
    ...(Object.keys(capture).length > 0 && { capture }),
    ...(asBoolean(fieldOf(endpoint, "always-run")) === true && { always: true }),
  };
}

function captureName(key: string): string {
  return key.replaceAll("-", "_");
}

/** Returns values of the body by name; other stored values are listed. */
function captureOf(
  store: Foreign,
  { item, name, draft }: { readonly item: string; readonly name: string; readonly draft: ConfigDraft },
): Record<string, written.HttpCapture> {
  const capture: Record<string, written.HttpCapture> = {};
  for (const [key, value] of Object.entries(store)) {
    const [, rest] = /^\[BODY\](.+)$/s.exec(asText(value) ?? "") ?? [];
    const path = rest === undefined ? null : standardJsonPath(rest);
    if (path === null) draft.leaveOut(item, `${name}: store.${key}`, "only a JSON path has a counterpart");
    else capture[captureName(key)] = { json: path };
  }
  return capture;
}
