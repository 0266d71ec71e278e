/**
 * Words that have a usual counterpart in the field, and no other use in this project. `prose_test.ts` and
 * `code_prose_test.ts` enforce them.
 */

/** The phrases, and their replacements. */
export const PHRASES: Readonly<Record<string, string>> = {
  "anybody|nobody|somebody|whoever|whom": "the user, the process, the server",
  "asked for again|later and later": "retried with exponential backoff",
  "badness|mildest": "severity, lowest severity",
  "baked": "locked-down build",
  "beside": "alongside, in addition to",
  "colour": "color",
  "folders?": "directory",
  "given up|gives? up|giving up": "dropped, drops",
  "held back|holds? back|holding back": "suppressed",
  "licen[c]es?": "license",
  "line ends?": "newline",
  "mail address(?:es)?": "email address",
  "mend|mends|mended|mending": "fix",
  "mistakes?": "error",
  "settled|settles": "confirmed",
  "sign of life|signs of life": "heartbeat",
  "stands? alone": "cannot be combined",
  "standstill|undisturbed": "stall, stall-safe",
  "time limit": "timeout",
  "times of the calendar": "cron schedule",
  "told|tells": "sent, prints",
  "tried again|try again later": "retried",
  "truthfully": "nothing",
  "twins?": "duplicate",
  "under way": "in progress",
  "wrong usage": "usage error",
};

/** The same for words that only code must not contain; texts use them for something else. */
export const CODE_WORDS: Readonly<Record<string, string>> = {
  "caveats?|doubts?": "warning",
  "fragments?": "included file",
  "glances?": "job index",
  "heirs?|successors?": "replacement",
  "judged?|judges": "evaluate, validate",
  "kept files?|kept pages?": "published file",
  "lateness|late beats?": "scheduling lag",
  "ledgers?": "state repository",
  "needs": "required permissions",
  "observations?": "check result",
  "pulses?": "heartbeat sender",
  "watched|watch": "scheduler, task",
};

/** The same for tests. */
export const TEST_WORDS: Readonly<Record<string, string>> = {
  "moody": "flaky",
  "play|played|plays": "fake",
  "scenes?": "scenario",
  "stages?": "harness",
  "weather|worlds?": "fake, conditions",
};

/** The same for comments and the names of tests: verbs of speech, and words with another meaning in identifiers. */
export const COMMENT_WORDS: Readonly<Record<string, string>> = {
  "answers|answered": "returns, responds",
  "blips?": "transient failure",
  "(?<!YAML (?:1\\.2 )?)documents?": "configuration, config file",
  "for good": "permanently",
  "holds|held": "has, contains, keeps",
  "knows": "has, reads",
  "looks(?! up)|looked(?! up)": "runs, reads, searches",
  "refuses?": "rejects",
  "says?|said": "prints, logs, returns",
  "slept|stands? still|stood still": "suspended, stalled",
  "speaks?": "sends, uses",
  "what|who": "a noun",
  "worse|worst|milder": "of higher or lower severity",
};

/** The same for the names of tests. */
export const NAME_WORDS: Readonly<Record<string, string>> = {
  "of (?:its|their) own": "its own, separate",
  "rights": "permissions, privileges",
  "takes|taken": "accepts, claims, lasts",
};

/** Words that comments and names may contain, although identifiers must not. */
export const ONLY_IN_IDENTIFIERS: readonly string[] = ["fragments?", "needs"];

export type Forbidden = readonly { readonly pattern: RegExp; readonly instead: string }[];

/** Returns the patterns of some words. */
export function forbid(words: Readonly<Record<string, string>>): Forbidden {
  return Object.entries(words).map(([pattern, instead]) => ({
    pattern: new RegExp(`\\b(?:${pattern})\\b`, "gi"),
    instead,
  }));
}

/** Returns a line for each forbidden word in a text. */
export function findingsIn(where: string, text: string, forbidden = IN_TEXTS): readonly string[] {
  return forbidden.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map(([word]) => `${where}: "${word}": write ${instead}`)
  ).sort();
}

const IN_TEXTS = forbid(PHRASES);
