/** Requests of agents, which report results: `POST /report`. */
import type { Agent, Listen } from "../../domain/generated/config.ts";
import type { IncomingRequest, ServerResponse } from "../../domain/http_servers.ts";
import type { Log } from "../../domain/system.ts";
import { StoreError } from "../../domain/store.ts";
import { isSameSecret } from "../../shared/hash.ts";
import { clientNetwork } from "../../shared/ip_address.ts";
import type { AgentReports } from "../../scheduler/agent_reports.ts";
import { readBatch, writeReply } from "../report_format.ts";
import { readBody, respond, respondText } from "./check_ins.ts";
import { type AttemptLimits, clientOf } from "./sessions.ts";

const REPORT_BYTES_MAX = 1_048_576;

interface ReportRequestOptions {
  readonly agents: Readonly<Record<string, Agent>>;
  readonly listen: Listen;
  readonly reports: Pick<AgentReports, "receive" | "rejected">;
  /** Of wrong keys. */
  readonly limits: AttemptLimits;
  readonly log: Pick<Log, "warning">;
}

export async function handleReport(
  request: IncomingRequest,
  { agents, listen, reports, limits, log }: ReportRequestOptions,
): Promise<ServerResponse> {
  if (Object.keys(agents).length === 0) return respondText(404, "not found");
  if (request.method !== "POST") return respondText(405, "expected POST", { allow: "POST" });
  const [, sent = ""] = /^bearer +(\S+)$/i.exec(request.header("authorization") ?? "") ?? [];
  // All of them are compared, so that the time reveals nothing.
  const [agent] = Object.entries(agents).filter(([, { key }]) => key !== "" && isSameSecret(sent, key));
  if (agent === undefined) return rejectKey(request, { listen, reports, limits, log });
  const text = await readBody(request, REPORT_BYTES_MAX);
  if (typeof text !== "string") return text;
  const batch = await readBatch(text);
  if (typeof batch === "string") return respondText(400, batch);
  try {
    const reply = await reports.receive(agent[0], batch);
    if (reply !== null) return respond(200, writeReply(reply), { "content-type": "application/json" });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
  return respondText(503, "the results cannot be recorded now, send them again");
}

/** Wrong keys are limited, but the right one is always accepted: agents may share an address with those who guess. */
function rejectKey(
  request: IncomingRequest,
  { listen, reports, limits, log }: Omit<ReportRequestOptions, "agents">,
): ServerResponse {
  const { address } = clientOf(request, listen);
  const network = clientNetwork(address);
  const quiet = reports.rejected();
  const waitMs = limits.waitMs(network);
  if (waitMs > 0) {
    return respondText(429, "too many wrong keys", { "retry-after": String(Math.ceil(waitMs / 1000)) });
  }
  if (limits.failed(network) === 1) {
    const which = quiet === "" ? "" : `; agents that do not report: ${quiet}`;
    log.warning(`report from ${address} rejected: no agent has its key${which}`);
  }
  return respondText(401, "no agent of the config has this key", { "www-authenticate": "Bearer" });
}
