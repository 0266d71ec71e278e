import type { JsonValue } from "../config/syntax.ts";
import type { CheckKind } from "../domain/check.ts";

/** A value of a config; `undefined` is omitted. */
type DraftValue = JsonValue | undefined | readonly DraftValue[] | {
  readonly [name: string]: DraftValue;
};

/** Parameters of a check or channel, as `schemas/source.json` names them. */
export interface DraftParameters {
  readonly [name: string]: DraftValue;
}

export interface DraftWindow {
  readonly days?: readonly string[] | undefined;
  readonly from: string;
  readonly to: string;
  readonly time_zone?: string | undefined;
}

export interface DraftAnnouncement {
  readonly date: string;
  readonly text: string;
}

export interface DraftPage {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly announcements?: readonly DraftAnnouncement[] | undefined;
}

/** The common settings of checks and `defaults`. */
export interface DraftSettings {
  readonly tags?: readonly string[] | undefined;
  readonly active?: boolean | undefined;
  readonly threshold?: number | undefined;
  readonly recovery_threshold?: number | undefined;
  readonly within?: number | undefined;
  readonly reminders?: string | undefined;
  readonly schedule?: {
    readonly regular_interval?: string | undefined;
    readonly attentive_interval?: string | undefined;
    readonly cron?: string | undefined;
    readonly time_zone?: string | undefined;
  } | undefined;
  readonly maintenance_windows?: readonly DraftWindow[] | undefined;
  readonly notifications?: readonly string[] | undefined;
}

export interface DraftCheck extends DraftSettings {
  /** The name for people; left out if it is that of the check. */
  readonly title?: string | undefined;
  readonly depends_on?: readonly string[] | undefined;
  readonly timeout?: string | undefined;
  readonly kind: CheckKind;
  readonly parameters: DraftParameters;
}

export interface DraftChannel {
  readonly kind: "email" | "webhook" | "command" | "console";
  readonly parameters: DraftParameters;
  readonly hours?: readonly DraftWindow[];
}

export interface LeftOut {
  /** Its owner in the source, such as `endpoint "api"`. */
  readonly item: string;
  /** The key or condition; `null`: nothing of the item is in the config. */
  readonly key: string | null;
  /** Why, in one line without a final period. */
  readonly reason: string;
}

export interface DraftVariable {
  readonly name: string;
  /** Its place in the source. */
  readonly source: string;
}
