/** A row as a database gives it, by column. */
export type Row = Readonly<Record<string, string | number | bigint | null | Uint8Array<ArrayBuffer>>>;
