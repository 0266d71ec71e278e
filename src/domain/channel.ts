import type { Condition } from "./condition.ts";
import type * as config from "./generated/config.ts";
import type { CronTimes, MaintenanceWindow } from "./schedule.ts";

export type ChannelKind = keyof config.ChannelObjectParameters;

/** Which notifications a channel gets; all, if nothing is given. */
export interface ChannelFilters
  extends Pick<config.ChannelObject, "checks" | "events" | "afterMs" | "outsideHours"> {
  /** For the channel, every other condition is `ok`. @default all */
  readonly conditions?: readonly Condition[];
  /** Problems and changes are sent only within these times. @default always */
  readonly hours?: readonly MaintenanceWindow[];
}

/** The common fields of a resolved channel; in the list of a check, with the filters of that use. */
interface ChannelIdentity
  extends ChannelFilters, Pick<config.ChannelObject, "fallback" | "atMost" | "group" | "commonCauses"> {
  /** That of its name; without a name the same for channels of one kind with the same parameters, whatever their credentials. */
  readonly key: string;
  /** The user's name for it. Absent: it is listed in `notifications` directly. */
  readonly name?: string;
  /** What this machine lacks, such as a secret: deliveries fail, and the parameters have no meaning. */
  readonly lack?: string;
}

export type ChannelByKind = {
  readonly [Kind in ChannelKind]: {
    readonly kind: Kind;
    readonly parameters: config.ChannelObjectParameters[Kind];
  };
}[ChannelKind];

/** A way out for notifications: resolved, validated, with every default filled in. */
export type Channel = ChannelIdentity & ChannelByKind;

export type ChannelOf<K extends ChannelKind> = Extract<Channel, { readonly kind: K }>;

/** Returns whether notifications of a channel may have to wait for others. */
export function mayWait({ atMost, group }: Pick<Channel, "atMost" | "group">): boolean {
  return atMost !== undefined || group !== undefined;
}

export interface SummarySettings {
  readonly times: CronTimes;
  /** The time that it covers; absent: since the time before. */
  readonly periodMs?: number;
  /** Without filters, which concern single notifications. */
  readonly notifications: readonly Channel[];
  /** Only checks with one of these tags; absent: all. */
  readonly tags?: readonly string[];
}

/** The name of the summary in queues; no check may have it alongside a summary. */
export const SUMMARY_NAME = "summary";
