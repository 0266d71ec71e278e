/** A notification as parsed by a receiver; `null` if a channel omits it. */
export interface ArrivedItem {
  readonly check: string;
  readonly condition: string;
  readonly previous: string | null;
  /** The output of the check, unique to one run of one check. */
  readonly token: string;
  /** Whether the problem is sent together with its end. */
  readonly isOver: boolean;
  /** The output of the check at the problem that is sent together with its end. */
  readonly missedToken: string | null;
}

/** A message that a receiver took; its duplicates too. */
export interface Arrival {
  readonly channel: string;
  /** The id by which a receiver detects duplicates. */
  readonly id: string;
  readonly items: readonly ArrivedItem[];
  /** All that is the same in a duplicate. */
  readonly text: string;
  /** The round in which it came. */
  readonly round: number;
}
