import type { ConfigDraft } from "./config_draft.ts";
import { emailChannel } from "./message_channels.ts";
import { after, has, type MonitStatement, type MonitToken } from "./monit_statements.ts";
import { SourceItem } from "./source_item.ts";
import { intervalText } from "./span_text.ts";

export interface MonitSettings {
  /** The time between two cycles. */
  readonly cycleMs: number;
  /** The threshold of `defaults`: Monit acts at the first failure. */
  readonly threshold: number;
  /** Channels of `set alert`. */
  readonly notifications: readonly string[];
  channelOf(address: string): readonly string[];
}

/** Statements about Monit itself. */
const OWN: readonly string[] =
  ("daemon log logfile pidfile idfile statefile eventqueue init limits ssl tls mailserver mail-format alert " +
    "onreboot terminal expectbuffer fips").split(" ");

const REASONS: Readonly<Record<string, string>> = {
  httpd: "set listen for the live view",
  mmonit: "no counterpart",
};

const CYCLE_SECONDS = 30;
const THRESHOLD = 1;

export function readMonitSettings(statements: readonly MonitStatement[], draft: ConfigDraft): MonitSettings {
  const sets = statements.filter(({ tokens }) => tokens[0]?.word === "set").map(({ tokens }) => tokens);
  const named = (name: string) => sets.filter((tokens) => tokens[1]?.word === name);
  for (const { tokens } of statements) {
    const [first, second] = tokens;
    if (first?.word !== "set" || OWN.includes(second?.word ?? "")) continue;
    draft.leaveOut(`set ${second?.text ?? ""}`, null, REASONS[second?.word ?? ""] ?? "no counterpart");
  }
  const daemon = Number(named("daemon").at(-1)?.[2]?.text);
  const cycleMs = 1000 * (daemon > 0 ? daemon : CYCLE_SECONDS);
  const channelOf = channelMaker(named("mailserver")[0] ?? [], named("mail-format")[0] ?? [], draft);
  const alerts = named("alert");
  const notifications = alerts.flatMap(([, , address]) =>
    address === undefined ? [] : channelOf(address.text)
  );
  if (alerts.some((tokens) => tokens.some(({ word }) => word.startsWith("{")))) {
    draft.leaveOut("set alert", "on", "every problem is notified: write filters by hand");
  }
  const reminder = Number(after(alerts.find((tokens) => has(tokens, "reminder")) ?? [], "reminder"));
  draft.settings.defaults = {
    ...{ threshold: THRESHOLD },
    schedule: { regular_interval: intervalText(cycleMs) },
    ...(reminder > 0 && { reminders: intervalText(reminder * cycleMs) }),
    ...(notifications.length > 0 && { notifications }),
  };
  return { cycleMs, threshold: THRESHOLD, notifications, channelOf };
}

/** The address in `set mail-format { from: … }`. */
function senderIn(format: readonly MonitToken[]): string | undefined {
  const block = format.find(({ word }) => word.startsWith("{"))?.text ?? "";
  return /\bfrom:\s*([^\r\n}]+)/i.exec(block)?.[1]?.trim().replaceAll("$HOST", "localhost");
}

/** Returns a function that creates a channel for each address once. */
function channelMaker(
  server: readonly MonitToken[],
  format: readonly MonitToken[],
  draft: ConfigDraft,
): (address: string) => readonly string[] {
  const channels = new Map<string, string>();
  const port = Number(after(server, "port"));
  const sender = senderIn(format) ?? "monit@localhost";
  return (address) => {
    if (!address.includes("@")) return [];
    let channel = channels.get(address);
    if (channel === undefined) {
      const name = address.split("@")[0] ?? address;
      channel = draft.addChannel(
        name,
        emailChannel({
          host: server[2]?.text ?? "127.0.0.1",
          port: port > 0 ? port : 25,
          username: after(server, "username"),
          password: after(server, "password"),
          sender,
          receivers: [address],
        }, new SourceItem(draft, "set mailserver", "mailserver")),
      );
      channels.set(address, channel);
    }
    return [channel];
  };
}
