/** The words of the config on every page. */
export interface PageText {
  readonly title?: string;
  readonly description?: string;
  readonly announcements: readonly Announcement[];
}

/** A note to readers. Its times are local, such as `2026-01-31` or `2026-01-31 22:00`. */
export interface Announcement {
  readonly date: string;
  readonly text: string;
  /** The last day or minute on which it is shown; absent: it always is. */
  readonly until?: string;
}
