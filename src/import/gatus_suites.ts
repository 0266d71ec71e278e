import type { ConfigDraft } from "./config_draft.ts";
import type * as written from "../domain/generated/written_config.ts";
import { asText, type Foreign } from "./foreign_value.ts";
import { SourceItem } from "./source_item.ts";
import { alertSettings, type Providers } from "./gatus_alerting.ts";
import { translateTarget } from "./gatus_targets.ts";
import { standardJsonPath } from "./json_path.ts";
import { intervalText, parseGoDuration } from "./span_text.ts";

/** Translates a suite into one `http_request` with a step for each endpoint. */
export function translateSuite(
  suite: Foreign,
  { providers, draft }: { readonly providers: Providers; readonly draft: ConfigDraft },
): void {
  const name = suite.text("name") ?? "unnamed";
  const item = new SourceItem(draft, `suite "${name}"`, name);
  const endpoints = suite.objects("endpoints");
  // Names that steps capture; others have a value from the start.
  const captured = new Set<string>();
  const values = suite.object("context");
  const steps: written.HttpStep[] = [];
  for (const endpoint of endpoints) {
    const step = translateStep(endpoint, item, { values, captured });
    if (typeof step === "string") return item.leaveOut(null, step);
    steps.push(step);
  }
  if (steps.length === 0) return item.leaveOut(null, "it has no endpoints");
  const group = suite.text("group");
  const spanOf = (key: string, missing: string) => parseGoDuration(suite.text(key) ?? missing);
  const [intervalMs, timeoutMs] = [spanOf("interval", "10m"), spanOf("timeout", "5m")];
  const alerts = endpoints.flatMap((endpoint) => endpoint.objects("alerts"));
  draft.addCheck(group === undefined ? name : `${group} ${name}`, {
    title: name,
    ...(group !== undefined && { tags: [group] }),
    ...(suite.boolean("enabled") === false && { active: false }),
    ...alertSettings(alerts, item, providers),
    ...(intervalMs !== null && { schedule: { regular_interval: intervalText(intervalMs) } }),
    ...(timeoutMs !== null && { timeout: intervalText(timeoutMs) }),
    kind: "http_request",
    parameters: { steps },
  });
}

interface SuiteContext {
  readonly values: Foreign;
  /** Grows with each step. */
  readonly captured: Set<string>;
}

function translateStep(
  endpoint: Foreign,
  suite: SourceItem,
  { values, captured }: SuiteContext,
): written.HttpStep | string {
  const name = endpoint.text("name") ?? "step";
  const item = new SourceItem(suite.draft, `${suite.label}, ${name}`, name);
  const unknown = new Set<string>();
  const fill = (text: string) =>
    text.replaceAll(/\[CONTEXT\]\.([\w-]+)/g, (whole, key) => {
      const value = values.text(key);
      if (captured.has(key)) return `\${captured:${captureName(key)}}`;
      if (value === undefined) unknown.add(whole);
      return value ?? whole;
    });
  const filled = endpoint.mapTexts(fill);
  const [missing] = unknown;
  if (missing !== undefined) return `${missing} has no value, or one of a structure`;
  // A value captured by a step cannot be an expected value.
  const conditions = filled.texts("conditions").filter((condition) => {
    const isComparable = !condition.includes("${captured:");
    if (!isComparable) {
      suite.leaveOut(`${name}: a condition on [CONTEXT]`, "a captured value cannot be expected");
    }
    return isComparable;
  });
  const target = translateTarget(filled.with({ conditions }), item);
  if ("reason" in target) return `${name}: ${target.reason}`;
  const { request, response } = "request" in target.parameters ? target.parameters : {};
  if (request === undefined) return `${name}: only HTTP has a counterpart`;
  const capture: Record<string, written.HttpCapture> = {};
  for (const [key, value] of endpoint.object("store").entries) {
    const [, rest] = /^\[BODY\](.+)$/s.exec(asText(value) ?? "") ?? [];
    const path = rest === undefined ? null : standardJsonPath(rest);
    if (path === null) suite.leaveOut(`${name}: store.${key}`, "only a JSON path has a counterpart");
    else {
      capture[captureName(key)] = { json: path };
      captured.add(key);
    }
  }
  return {
    name,
    request,
    ...(response !== undefined && { response }),
    ...(Object.keys(capture).length > 0 && { capture }),
    ...(endpoint.boolean("always-run") === true && { always: true }),
  };
}

function captureName(key: string): string {
  return key.replaceAll("-", "_");
}
