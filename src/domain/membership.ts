/** The heartbeat of a member as the database has it. */
export interface MemberHeartbeat {
  readonly host: string;
  /** The process; another one after a restart. */
  readonly id: string;
  readonly count: number;
  /** The hash of its config. */
  readonly config: string;
  /** The hash of the config that it takes for the active one. */
  readonly active: string;
  /** The location of its `--location`; `null` without one. */
  readonly location: string | null;
}

/** The owner of a channel queue, as the database has it. */
export interface QueueRow {
  readonly channelKey: string;
  /** The process that owns it; `null`: it was given back. */
  readonly owner: string | null;
  readonly token: number;
}
