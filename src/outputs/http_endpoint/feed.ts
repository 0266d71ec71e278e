import { hashHex } from "../../shared/hash.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Check } from "../../domain/check.ts";
import type { CheckRecord, Store } from "../../domain/store.ts";
import { truncate } from "../../shared/truncate.ts";
import { type Markup, markup } from "../markup.ts";
import { isoTime } from "../../shared/json_values.ts";

const ENTRIES_MAX = 50;
const TITLE_MAX = 120;
const OUTPUT_MAX = 1_000;

interface FeedOptions {
  readonly store: Pick<Store, "latestChanges">;
  readonly checks: readonly Check[];
  recordOf(name: string): Pick<CheckRecord, "condition">;
  /** The title of the config; `null`: the feed has its own. */
  readonly title: string | null;
  /** Empty: it is not shown. */
  readonly hostName: string;
  readonly hasOutputs: boolean;
  readonly clock: Clock;
}

/** Renders the latest changes as a feed (Atom, RFC 4287). Rejects with a {@linkcode StoreError}. */
export async function renderFeed(options: FeedOptions): Promise<Markup> {
  const { store, hostName, hasOutputs, clock } = options;
  const byName = new Map(changedLast(options).map((check) => [check.name, check]));
  const latest = await store.latestChanges([...byName.keys()], ENTRIES_MAX);
  const place = hostName === "" ? "monitor" : `monitor on ${truncate(hostName, TITLE_MAX)}`;
  const title = options.title === null ? place : truncate(options.title, TITLE_MAX);
  const entries = latest.map(({ name, atMs, from, to, output }) =>
    markup`<entry>
<id>${idOf(JSON.stringify([name, atMs, from, to]))}</id>
<updated>${isoTime(atMs)}</updated>
<title>${truncate(byName.get(name)?.title ?? name, TITLE_MAX)}: ${from} to ${to}</title>
<category term="${to}"/>
<content>${hasOutputs ? truncate(output, OUTPUT_MAX) : ""}</content>
</entry>
`
  );
  return markup`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${idOf(place)}</id>
<title>${title}</title>
<updated>${isoTime(latest[0]?.atMs ?? clock.wallMs())}</updated>
<author><name>monitor</name></author>
<link rel="self" href="feed.atom"/>
<link rel="alternate" href="./"/>
${entries}</feed>
`;
}

/** The checks that may have one of the latest changes, so that few are asked for. */
function changedLast({ checks, recordOf }: Pick<FeedOptions, "checks" | "recordOf">): readonly Check[] {
  return checks.flatMap((check) => {
    const left = Object.values(recordOf(check.name).condition.leftAtMs);
    const changedAtMs = Math.max(...left.map((atMs) => atMs ?? -Infinity));
    return changedAtMs === -Infinity ? [] : [{ check, changedAtMs }];
  }).sort((one, other) => other.changedAtMs - one.changedAtMs).slice(0, ENTRIES_MAX).map(({ check }) =>
    check
  );
}

/** A UUID of version 8 (RFC 9562) that is the same for the same text. */
function idOf(text: string): string {
  const digits = hashHex(text, 32);
  const parts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
  ];
  return `urn:uuid:${parts.join("-")}-${digits.slice(20)}`;
}
