/** The configs of a soak: what is reloaded is the same checks, but for some that left, came or changed. */
import type { Family } from "./families.ts";

/** What of a check the soak's judgement goes by. */
export interface CheckFacts {
  /** Its name. */
  readonly name: string;
  /** Its interval. */
  readonly intervalMs: number;
  /** How long a run may take, ending it included. */
  readonly durationMaxMs: number;
  /** Whether it is silenced at times. */
  readonly isSilenced: boolean;
  /** Whether its reports are mailed, too. */
  readonly isMailed: boolean;
}

/** A config, and which checks it runs. */
export interface SoakConfig {
  /** In JSON. */
  readonly text: string;
  /** The checks that run. */
  readonly facts: readonly CheckFacts[];
}

/** Where reports go. */
export interface Channels {
  /** The channel of every check. */
  readonly hook: unknown;
  /** The channel of some checks. */
  readonly mail: unknown;
}

/** One of so many checks is left out of each variant, another one is changed. */
const VARIANTS = 25;
const MAILED_ONE_IN = 4;
const TIMEOUT_MS = 30_000;
/** What a program is given between SIGTERM and SIGKILL, and then to be gone. */
const ENDING_MS = 4_000;

/** What differs from one config to the next. */
export interface Variant {
  /** Decides which checks are left out or changed. */
  readonly number: number;
  /** Without anything that runs. */
  readonly isQuiet: boolean;
}

/** Makes a config. */
export function configOf(
  families: readonly Family[],
  channels: Channels,
  { number, isQuiet }: Variant,
): SoakConfig {
  const checks: Record<string, unknown> = {};
  const facts: CheckFacts[] = [];
  let place = 0;
  for (const family of families) {
    for (let index = 0; index < family.count; index++) {
      const share = (place++ + number) % VARIANTS;
      if (share === 0) continue;
      const name = `${family.name} ${index}`;
      const interval = family.intervals[index % family.intervals.length] ?? 60;
      const timeout = family.timeout === undefined ? {} : { timeout: family.timeout + (share === 5 ? 1 : 0) };
      const isMailed = place % MAILED_ONE_IN === 0;
      checks[name] = {
        kind: family.kind,
        ...(isQuiet && { active: false }),
        ...(share === 9 && { threshold: 2 }),
        ...(family.isSilenced === true && { tags: ["silenced"] }),
        ...(family.annoy !== undefined && { annoy: family.annoy }),
        ...timeout,
        schedule: { regular_interval: interval },
        notifications: isMailed ? [channels.hook, channels.mail] : [channels.hook],
        parameters: family.parameters(index),
      };
      facts.push({
        name,
        intervalMs: interval * 1000,
        durationMaxMs: (family.timeout === undefined ? TIMEOUT_MS : (family.timeout + 1) * 1000) + ENDING_MS,
        isSilenced: family.isSilenced === true,
        isMailed,
      });
    }
  }
  const text = JSON.stringify({
    defaults: { threshold: 1 },
    state: "kept.sqlite",
    report: { path: "page.html", interval: 30 },
    metrics: { path: "metrics.prom", interval: 15 },
    heartbeat: { path: "alive", interval: 10 },
    checks,
  });
  return { text, facts: isQuiet ? [] : facts };
}

/** Configs that must be refused, each with words that say why. */
export function invalidConfigs(good: string): readonly { readonly text: string; readonly word: RegExp }[] {
  return [
    { text: good.slice(0, good.length / 2), word: /monitor\.json/ },
    { text: "", word: /monitor\.json/ },
    { text: good.replace('"threshold":1', '"treshold":1'), word: /treshold/ },
    { text: good.replace('"kind":"test"', '"kind":"tset"'), word: /tset/ },
    { text: good.replace('"regular_interval":5', '"regular_interval":0'), word: /regular_interval/ },
    { text: `${good.slice(0, -2)},"test 0":{"kind":"test","parameters":{}},"test 0":{}}}`, word: /test 0/ },
  ];
}
