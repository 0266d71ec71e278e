export interface ListenSettings {
  /** Such as `127.0.0.1:9797`. */
  readonly address: string;
  /** The password for everything; absent: none. */
  readonly token?: string;
  /** Tags of the checks that are shown without the token, without their outputs; absent: none. */
  readonly public?: readonly string[];
  /** From one update of an open page to the next. */
  readonly intervalMs: number;
}
