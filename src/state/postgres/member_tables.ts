/** The tables that only a shared state has. */
import type { EarlyLook, LocationResult, MemberHeartbeat, QueueRow } from "../../domain/membership.ts";
import { type Codec, json, list, number, object, text, word } from "../codec.ts";
import {
  field,
  integer,
  jsonField,
  string,
  stringOrNull,
  type Table,
  table,
} from "../sql/table_declaration.ts";
import { RESULT } from "../sql/tables.ts";

const EARLY_LOOK: Codec<EarlyLook> = object({
  sequence: number,
  check: text,
  why: word<EarlyLook["why"]>(["failing", "changed", "requested", "needed"]),
});

/** The early runs that a member requests. */
export const EARLY_LOOKS: Codec<MemberHeartbeat["looks"], string> = json(list(EARLY_LOOK));

/** The processes that share the state, by host name. */
export const MEMBERS: Table<MemberHeartbeat> = table("members", {
  host: string("host"),
  id: string("process"),
  count: integer("heartbeats"),
  config: string("config"),
  active: string("active_config"),
  location: stringOrNull("location"),
  looks: field("early_looks", "TEXT NOT NULL", EARLY_LOOKS),
}, { primary: ["host"] });

/** The owner of each channel queue. The token is incremented each time that a member claims the queue. */
export const QUEUES: Table<QueueRow> = table("queues", {
  channelKey: string("channel_key"),
  owner: stringOrNull("owner"),
  token: integer("token"),
}, { primary: ["channel_key"] });

/** The last result of each check at each of its locations, and how many there were. */
export const LOCATION_RESULTS: Table<LocationResult & { readonly runs: number }> = table("location_results", {
  check: string("check_name"),
  location: string("location"),
  runs: integer("runs"),
  result: jsonField("result", RESULT),
  trace: string("trace"),
}, { primary: ["check_name", "location"] });
