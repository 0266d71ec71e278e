/**
 * The extent of a trace: `brief` only the steps of the run itself; `full` also looks up the IP addresses and the
 * certificate of `https:` targets, over a second connection.
 */
export type TraceDepth = "brief" | "full";
