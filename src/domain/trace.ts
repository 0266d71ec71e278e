/**
 * How much of a run is traced: `brief` only what it does anyway; `full` also looks up the addresses and the certificate
 * of `https:` targets, over a second connection.
 */
export type TraceDepth = "brief" | "full";
