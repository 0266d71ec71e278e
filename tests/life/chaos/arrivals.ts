/** A notification as a receiver reads it; `null` where a channel does not say. */
export interface ArrivedItem {
  readonly check: string;
  readonly condition: string;
  readonly previous: string | null;
  /** What the check printed, which no other run of any check did. */
  readonly token: string;
  /** Whether the problem is told together with its end. */
  readonly isOver: boolean;
  /** What the check printed at the problem that is told together with its end. */
  readonly missedToken: string | null;
}

/** A message that a receiver took; its duplicates too. */
export interface Arrival {
  readonly channel: string;
  /** What a receiver knows duplicates by. */
  readonly id: string;
  readonly items: readonly ArrivedItem[];
  /** All that is the same in a duplicate. */
  readonly text: string;
  /** The round in which it came. */
  readonly round: number;
}
