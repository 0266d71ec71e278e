/** The webhook and email channels, for faults at every byte. */
import { createRealClock } from "../../testing/real_clock.ts";
import assert from "node:assert/strict";
import { emailKind } from "../../src/channels/email.ts";
import { webhookKind } from "../../src/channels/webhook.ts";
import type { ChannelOf } from "../../src/domain/channel.ts";
import type { Delivery } from "../../src/domain/delivery.ts";
import type { Requests } from "../../src/domain/connections.ts";
import { createMail, type Protection } from "../../src/system/mail/mail.ts";
import { createRequests } from "../../src/system/http/requests.ts";
import type { Certificate } from "./certificates.ts";
import { deliverOver, makeItem, makeMessage } from "./channel_delivery.ts";
import { assertPlain } from "./check_faults.ts";
import type { Course } from "./fault_proxy.ts";
import type { AskContext, FaultRun, FaultTarget } from "./fault_runs.ts";
import { readResponse } from "./http_rules.ts";
import { startMailServer } from "./mail_server.ts";
import { behindClearText, recordBytes, unharmedRecords } from "./tls_records.ts";

export interface Handover {
  /** `null`: the timeout came first, and the delivery threw the expected error. */
  readonly delivery: Delivery | null;
  readonly isTaken: boolean;
}

/** A channel that is ready until it is disposed of. */
export type ChannelTarget = FaultTarget<Handover> & AsyncDisposable;

export interface ReceiverTls {
  readonly certificate: Certificate;
  readonly authority: string;
}

export function startWebhookTarget(tls?: ReceiverTls): ChannelTarget {
  const taken = new Set<string>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls?.certificate },
    async (request) => {
      const body = await request.text().catch(() => null);
      if (body === null) return new Response(null, { status: 400 });
      for (const id of [request.headers.get("Idempotency-Key") ?? "", ...idsOf(body)]) taken.add(id);
      return new Response("taken");
    },
  );
  const scheme = tls === undefined ? "http" : "https";
  return {
    name: `webhook over ${scheme}`,
    serverPort: server.addr.port,
    async ask(port, { timeoutMs, clock }) {
      const id = crypto.randomUUID();
      const channel: ChannelOf<"webhook"> = {
        key: "hook",
        kind: "webhook",
        parameters: { target: `${scheme}://127.0.0.1:${port}/`, method: "POST", headers: {}, timeoutMs },
      };
      const { delivery } = await deliverOver(webhookKind, channel, {
        message: messageOf(id),
        system: { clock, requests: trusting(createRequests({ clock: createRealClock() }), tls) },
      });
      return { delivery, isTaken: taken.has(id) };
    },
    evaluate: (run) =>
      evaluateHandover(run, run.courses.some((course) => isAccepted(course, run.whole, tls))),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Starts an SMTP server with a login, in clear text or over TLS; over TLS this process must trust the CA. */
export async function startEmailTarget(
  tls?: { readonly certificate: Certificate; readonly begin: "from_start" | "STARTTLS" },
): Promise<ChannelTarget> {
  const server = await startMailServer({ password: PASSWORD, ...tls !== undefined && { tls } });
  const taken = new Set<string>();
  let readCount = 0;
  const isTaken = (id: string): boolean => {
    for (; readCount < server.mails.length; readCount++) {
      for (const [found] of server.mails[readCount]?.raw.matchAll(ID) ?? []) taken.add(found);
    }
    return taken.has(id);
  };
  const protection: Protection = tls === undefined
    ? "offered"
    : tls.begin === "STARTTLS"
    ? "required"
    : "from_start";
  return {
    name: `email, ${tls?.begin ?? "in clear text"}`,
    serverPort: server.port,
    async ask(port, { timeoutMs, clock }: AskContext) {
      const id = crypto.randomUUID();
      const channel: ChannelOf<"email"> = {
        key: "mail",
        kind: "email",
        parameters: {
          access: { host: "127.0.0.1", port, username: "monitor", password: PASSWORD },
          sender: "monitor@example.org",
          receivers: ["admin@example.org"],
          tags: [],
        },
      };
      // The outbox's timeout.
      const end = new AbortController();
      const cancel = clock.after(timeoutMs, () => end.abort());
      try {
        const { delivery } = await deliverOver(emailKind, channel, {
          message: messageOf(id),
          signal: end.signal,
          system: { clock, mail: createMail(clock, () => protection) },
        });
        return { delivery, isTaken: isTaken(id) };
      } catch (error) {
        if (error !== end.signal.reason) throw error;
        return { delivery: null, isTaken: isTaken(id) };
      } finally {
        cancel();
      }
    },
    evaluate: (run) =>
      evaluateHandover(run, run.outcome.isTaken && run.courses.some((course) => isAnswered(course, run))),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const PASSWORD = "let me in";

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** It contains its id twice, so that it is recognized whichever byte of it was changed. */
function messageOf(id: string): ReturnType<typeof makeMessage> {
  return { ...makeMessage([makeItem({ id, title: id })]), id };
}

/** A fault may have made something else of the body. */
function idsOf(body: string): readonly string[] {
  try {
    return JSON.parse(body).notifications.map(({ id }: { readonly id: string }) => id);
  } catch {
    return [];
  }
}

function trusting(requests: Requests, tls: ReceiverTls | undefined): Requests {
  if (tls === undefined) return requests;
  return {
    ...requests,
    send: (request, signal) => requests.send({ ...request, tls: { authority: tls.authority } }, signal),
  };
}

/** Returns whether a head arrived that accepts it; over TLS, whether everything required arrived. */
function isAccepted({ server }: Course, whole: readonly Course[], tls: ReceiverTls | undefined): boolean {
  if (tls !== undefined) {
    return unharmedRecords(server) >= recordBytes(whole[0]?.server.sent ?? []).length - 1;
  }
  const status = readResponse(server)?.status ?? 0;
  return status >= 200 && status < 300;
}

function isAnswered({ server }: Course, { whole: [whole], fault }: FaultRun<Handover>): boolean {
  if (whole === undefined) return false;
  const secured = behindClearText(whole.server);
  if (secured.sent.length > 0) {
    return unharmedRecords(behindClearText(server)) >= recordBytes(secured.sent).length - GOODBYE_RECORDS;
  }
  const lines = linesOf(server.sent);
  const final = lines.findIndex((line) => line.startsWith("354 ")) + 2;
  // The end of a line may have been lost within a reply of several.
  const tolerance = fault?.kind === "drop" || fault?.kind === "corrupt" ? 1 : 0;
  return final > 1 && final <= lines.length && linesOf(server.arrived).length >= final - tolerance;
}

function linesOf(bytes: readonly number[]): readonly string[] {
  return String.fromCharCode(...bytes).split("\n").slice(0, -1);
}

const GOODBYE_RECORDS = 2;

/**
 * Delivered means that the receiver has really accepted it; everything else is retried, as the same message if it may
 * have arrived.
 */
function evaluateHandover(
  { outcome: { delivery, isTaken }, fault }: FaultRun<Handover>,
  isAccepted: boolean,
): void {
  if (fault === null || fault.kind === "delay") assert.equal(delivery?.delivered, true);
  if (delivery === null) {
    return assert.ok(fault !== null && fault.kind !== "cut" && fault.kind !== "reset", "no time limit");
  }
  if (delivery.delivered) return assert.ok(isAccepted, "nobody has accepted it");
  assertPlain(delivery.reason.replace(/(?<=server replied ).*/, ""));
  // Only a response of the receiver is a permanent failure.
  const isSaid = SAID.test(delivery.reason);
  assert.ok(delivery.retryable || isSaid, "to be tried again");
  if (isTaken && !isSaid) assert.ok(delivery.mayHaveArrived, "it may have arrived");
}

/** The first phases of an email name the server, too. */
const SAID = new RegExp(
  String.raw`^(?:status is \d|\w+(?: \([^)]*\))?: (?:` +
    String.raw`server (?:replied |offers no )|response is not TLS$|no TLS version or cipher in common$))`,
);
