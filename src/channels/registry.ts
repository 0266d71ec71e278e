import type { ChannelKind } from "../domain/channel.ts";
import type { Report } from "../domain/report.ts";
import { consoleKind } from "./console.ts";

/** What a channel may use to deliver. */
export interface DeliveryContext {
  /** Writes one line where the console channel's lines go. */
  writeLine(line: string): void;
}

/** Everything that varies by channel kind. */
export interface ChannelKindEntry {
  /** Delivers one report. */
  deliver(report: Report, context: DeliveryContext): void;
}

/** The channel kinds that reports are delivered to, each in its own file; the others are validated only. */
export const CHANNEL_KINDS: { readonly [K in ChannelKind]?: ChannelKindEntry } = {
  console: consoleKind,
};
