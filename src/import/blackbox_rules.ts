/** The alerting rules of Prometheus that are about probes, and what they mean for a check. */
import type * as written from "../domain/generated/written_config.ts";
import { type Labels, type Matcher, readMatchers, type Routed, splitMatchers } from "./alertmanager.ts";
import { type ConfigDraft, SourceItem } from "./config_draft.ts";
import type { Foreign } from "./foreign_value.ts";
import { parsePrometheusDuration, spanText } from "./span_text.ts";

export interface AlertRule {
  readonly name: string;
  readonly about: "success" | "expiry" | "duration";
  /** Below or above this it fires: a time before the expiry, or a duration; 0 for `success`. */
  readonly limitMs: number;
  /** How long it has to hold. */
  readonly forMs: number;
  readonly labels: Labels;
  readonly annotations: Foreign;
  readonly selects: Matcher;
}

export async function readRules(file: Foreign, draft: ConfigDraft): Promise<readonly AlertRule[]> {
  const rules: AlertRule[] = [];
  for (const rule of file.objects("groups").flatMap((group) => group.objects("rules"))) {
    const name = rule.text("alert");
    if (name === undefined) continue;
    const leaveOut = (reason: string): void => draft.leaveOut(`rule "${name}"`, null, reason);
    const condition = readExpression(rule.text("expr") ?? "");
    if (condition === null) {
      leaveOut("its expression has no counterpart");
      continue;
    }
    rules.push({
      name,
      ...condition,
      forMs: parsePrometheusDuration(rule.text("for") ?? "0s") ?? 0,
      labels: { ...rule.object("labels").toTexts(), alertname: name },
      annotations: rule.object("annotations"),
      selects: await readMatchers(
        splitMatchers(condition.selector),
        (text) => leaveOut(`"${text}" is no matcher`),
      ),
    });
  }
  return rules;
}

interface Condition extends Pick<AlertRule, "about" | "limitMs"> {
  readonly selector: string;
}

const SELECTOR = String.raw`\s*(?<selector>\{[^{}]*\})?\s*`;
const NUMBERS = String.raw`(?<limit>[\d.\s*/()]+)`;

const EXPRESSIONS: readonly (readonly [about: AlertRule["about"], unitMs: number, pattern: RegExp])[] = [
  ["success", 0, new RegExp(`^probe_success${SELECTOR}(?:==\\s*0|<\\s*1|!=\\s*1)$`)],
  [
    "expiry",
    1000,
    new RegExp(
      `^\\(?probe_ssl_(?:earliest_cert|last_chain)_expiry\\w*${SELECTOR}-\\s*time\\(\\)\\s*\\)?\\s*` +
        `(?:/(?<divisor>[\\d.\\s*/()]+))?<=?${NUMBERS}$`,
    ),
  ],
  [
    "duration",
    1000,
    new RegExp(`^probe_(?:http_)?duration_seconds${SELECTOR}>=?${NUMBERS}$`),
  ],
];

function readExpression(written: string): Condition | null {
  const text = written.replaceAll(/\s+/g, " ").trim().replace(
    /^\((.*)\)$/,
    (whole, inner: string) => /^[^()]*(?:\([^()]*\)[^()]*)*$/.test(inner) ? inner.trim() : whole,
  );
  for (const [about, unitMs, pattern] of EXPRESSIONS) {
    const { groups } = pattern.exec(text) ?? {};
    if (groups === undefined) continue;
    const limit = product(groups["limit"] ?? "0");
    const divisor = product(groups["divisor"] ?? "1");
    if (limit === null || divisor === null) return null;
    return { about, limitMs: limit * divisor * unitMs, selector: groups["selector"] ?? "" };
  }
  return null;
}

/** The value of numbers that are multiplied and divided, such as `86400 * 30`; `null` for anything else. */
function product(text: string): number | null {
  const [first, ...rest] = text.replaceAll(/[()]/g, " ").trim().split(/\s*([*/])\s*/);
  let value = Number(first);
  for (let index = 0; index < rest.length; index += 2) {
    const factor = Number(rest[index + 1]);
    value = rest[index] === "*" ? value * factor : value / factor;
  }
  return Number.isFinite(value) && first !== "" ? value : null;
}

/** What the rules of a probe limit, as texts of a config. */
export interface ProbeLimits {
  readonly duration: Readonly<Partial<Record<Level, string>>>;
  readonly expiry: Readonly<Partial<Record<Level, string>>>;
  readonly isWarning: boolean;
}

type Level = "warning" | "critical";

export function limitsOf(rules: readonly AlertRule[]): ProbeLimits {
  const of = (about: AlertRule["about"]) =>
    Object.fromEntries(
      rules.filter((rule) => rule.about === about && rule.limitMs >= 1)
        .map((rule) => [levelOf(rule), limitText(rule.limitMs)]),
    );
  const failing = rules.filter(({ about }) => about === "success");
  return {
    duration: of("duration"),
    expiry: of("expiry"),
    isWarning: failing.length > 0 && failing.every((rule) => levelOf(rule) === "warning"),
  };
}

function levelOf({ labels }: AlertRule): Level {
  return /^(?:warn|info|low|none)/i.test(labels["severity"] ?? "") ? "warning" : "critical";
}

function limitText(limitMs: number): string {
  return limitMs % 1000 === 0 ? spanText(limitMs) : `${Math.round(limitMs)} ms`;
}

interface AlertOptions {
  readonly labels: Labels;
  readonly intervalMs: number;
  readonly item: SourceItem;
  route(labels: Labels): Routed;
}

/** Returns the settings of a check by the rules that select it, and the channels that their alerts are routed to. */
export function alertSettings(
  rules: readonly AlertRule[],
  { labels, intervalMs, item, route }: AlertOptions,
): written.CheckSettings {
  const routed = rules.map((rule) => route({ ...labels, ...rule.labels }));
  const failing = rules.filter(({ about }) => about === "success");
  // The first failure begins the time that the rule has to hold.
  const thresholds = failing.map(({ forMs }) => Math.ceil(forMs / intervalMs) + 1);
  if (new Set(thresholds).size > 1) {
    item.leaveOut("for", "a check has one threshold: the lowest was used; write after in a channel");
  }
  const [annotations] = [...failing, ...rules].map((rule) => rule.annotations);
  const [reminders] = routed.flatMap((one) => one.reminders ?? []);
  return {
    description: plainText(annotations?.text("description") ?? annotations?.text("summary")),
    runbook: plainText(annotations?.text("runbook_url") ?? annotations?.text("runbook")),
    ...(thresholds.length > 0 && { threshold: Math.min(...thresholds) }),
    reminders,
    notifications: channelsOf(rules, routed),
  };
}

/** A text without fields of a template. */
function plainText(text: string | undefined): string | undefined {
  return text === undefined || text.includes("{{") ? undefined : text;
}

/** A channel gets what is routed to it: the conditions of its rules, or all. */
function channelsOf(rules: readonly AlertRule[], routed: readonly Routed[]): readonly written.Channel[] {
  const levels = new Map<string, Set<Level>>();
  for (const [index, rule] of rules.entries()) {
    for (const channel of routed[index]?.channels ?? []) {
      levels.set(channel, (levels.get(channel) ?? new Set()).add(levelOf(rule)));
    }
  }
  const isMixed = new Set(rules.map(levelOf)).size > 1;
  return [...levels].map(([channel, own]) =>
    !isMixed || own.size > 1
      ? channel
      : { channel, conditions: own.has("warning") ? ["warning"] : ["critical", "unknown"] }
  );
}
