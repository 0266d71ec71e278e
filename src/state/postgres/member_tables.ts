/** The tables that only a shared state has. */
import type { MemberHeartbeat, QueueRow } from "../../domain/membership.ts";
import { integer, string, stringOrNull, type Table, table } from "../table_declaration.ts";

/** The processes that share the state, by host name. */
export const MEMBERS: Table<MemberHeartbeat> = table("members", {
  host: string("host"),
  id: string("process"),
  count: integer("heartbeats"),
  config: string("config"),
  active: string("active_config"),
  location: stringOrNull("location"),
}, { primary: ["host"] });

/** The member that sends what waits for a channel. The token grows each time that a member takes the queue. */
export const QUEUES: Table<QueueRow> = table("queues", {
  channelKey: string("channel_key"),
  owner: stringOrNull("owner"),
  token: integer("token"),
}, { primary: ["channel_key"] });
