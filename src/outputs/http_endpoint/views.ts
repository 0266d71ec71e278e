import { describeDurationRule, describeMetricRules } from "../../condition/duration_rule.ts";
import { asObserved } from "../../state/availability.ts";
import { highestSeverity, type ShownCondition } from "../../domain/condition.ts";
import type { Silence } from "../../domain/outbox.ts";
import type { Check } from "../../domain/check.ts";
import type { CheckRecord, ConditionChange, Store } from "../../domain/store.ts";
import { shownNotifications } from "../outbox_status.ts";
import { lastingSilences } from "../../engine/suppression.ts";
import {
  type CheckStatus,
  countedConditions,
  inactiveNames,
  knownAtMember,
  statusOf,
} from "../../engine/check_status.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { allChanges, readServices } from "../../state/read_store.ts";
import { NO_FILTER, type PageFilter } from "../html_report/page_filter.ts";
import { type PageFacts, pageFacts, type PageForms, type PageWhy } from "../html_report/snapshot.ts";
import { publicChange, publicChecks, publicStatus } from "../html_report/public_page.ts";
import { PageHistories, type PagePiece, PageRows } from "../html_report/page_rows.ts";
import { pagePieces } from "../html_report/write_report.ts";
import { causesIn, type FoundCause } from "../../engine/causes.ts";
import { readReporting, reportingConditions } from "../agents_status.ts";
import { presentCauses, runningChecks } from "../present_causes.ts";
import { historyJson, readHistory } from "../json/history_json.ts";
import type { ObjectiveResult } from "../summary/objectives.ts";
import { locationStatuses, type MonitorStatus } from "../json/monitor_fields.ts";
import { checkJson, statusJson } from "../json/status_json.ts";
import type { Access } from "./check_ins.ts";
import { textWidth } from "../../shared/wrap.ts";
import { truncate } from "../../shared/text.ts";
import { type Markup, markup } from "../markup.ts";
import { hashHex } from "../../shared/hash.ts";
import type { Clock } from "../../domain/clock.ts";
import { isoTime } from "../../shared/json_values.ts";
import type { Listen } from "../../domain/generated/config.ts";
import type { Log, System } from "../../domain/system.ts";
import type { AgentReports } from "../../scheduler/agent_reports.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { StateRepository } from "../../state/state_repository.ts";
import type { MetricsPublisher } from "../metrics/publish_metrics.ts";

interface ViewSources
  extends Pick<EndpointSources, "system" | "repository" | "member" | "servedBy" | "select" | "isWhole"> {
  readonly config: LoadedConfig;
  readonly access: Access;
  /** Of the page with access `signed_in`. */
  readonly forms: PageForms;
  readonly intervalMs: number;
}

/** The texts for one kind of access. */
export class Views {
  readonly #sources: ViewSources;
  /** Inactive ones too. */
  readonly #checks: readonly Check[];
  readonly #inactive: ReadonlySet<string>;
  readonly #histories = new PageHistories();
  readonly #rows: PageRows;

  constructor(sources: ViewSources) {
    const { config, access } = sources;
    const selected = sources.select(config.checks);
    this.#sources = sources;
    this.#rows = new PageRows(sources.system.randomId());
    this.#inactive = inactiveNames(config.checks);
    this.#checks = access === "public" ? publicChecks(selected, config.listen?.public ?? []) : selected;
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  /** Returns the number of a version of the page of all checks; `null`: it is of no use any more. */
  versionOf(version: string): number | null {
    return this.#rows.numberOf(version);
  }

  /** The live page of all checks, or with all details of one, which is never public. */
  async *page(
    name: string | null,
    { filter = NO_FILTER, onWork }: { readonly filter?: PageFilter; onWork?(workMs: number): void } = {},
  ): AsyncGenerator<readonly PagePiece[]> {
    const { system, repository, config, select, isWhole, intervalMs, access, forms, member, servedBy } =
      this.#sources;
    const rows = name === null && filter.words === "" && !this.#isPublic ? this.#rows : undefined;
    const own = name === null ? {} : await this.#ownOf(this.#get(name));
    const checks = name === null ? select(config.checks) : [this.#get(name)];
    const facts = pageFacts({
      configLabel: config.source.label,
      text: config.page,
      timeZone: config.timeZone(),
      causes: this.#causes(checks),
      intervalMs,
      notRunning: null,
      isStateWritable: repository.isWritable,
      isLive: true,
      filter,
      isOfOneCheck: name !== null,
      ...rows !== undefined && { version: rows.begin() },
      ...own,
      canSignIn: config.listen?.token !== undefined &&
        (this.#isPublic || (access === "full" && config.listen.actions)),
      ...access === "signed_in" && { forms },
      ...member !== null && !this.#isPublic && { servedBy },
    }, system);
    yield* pagePieces({
      store: repository.store,
      // The groups of a public page may have tags that are not public.
      checks,
      isWhole: isWhole && name === null,
      facts,
      recordOf: this.#recordOf,
      clock: system.clock,
      onWork,
      rows,
      ...name === null && { histories: this.#histories },
      public: this.#isPublic ? config.listen?.public ?? [] : undefined,
    });
  }

  /** Returns what the page of one check shows of the config. */
  async #ownOf(check: Check): Promise<Pick<PageFacts, "why" | "channels" | "objective">> {
    // Only the page of one check needs these modules.
    const [{ describeChannels }, { describeObjective }] = await Promise.all([
      import("../why/describe_why.ts"),
      import("../summary/objectives.ts"),
    ]);
    const objective = await this.#objectiveOf(check);
    return {
      why: await this.#whyOf(check),
      channels: describeChannels(check, this.#sources.config),
      objective: objective === null ? undefined : describeObjective(objective),
    };
  }

  async #objectiveOf(check: Check): Promise<ObjectiveResult | null> {
    const { store } = this.#sources.repository;
    const { readObjectives } = await import("../summary/read_objectives.ts");
    const objectives = await readObjectives(store, [check], { untilMs: this.#nowMs, ranUntilMs: null });
    return objectives.get(check.name) ?? null;
  }

  async #whyOf(check: Check): Promise<readonly PageWhy[]> {
    const { repository: { store }, config } = this.#sources;
    // Only the page of one check needs this module.
    const { whyOnPage } = await import("../why/describe_why.ts");
    return whyOnPage(check, {
      config,
      recordOf: (name) => {
        const record = this.#recordOf(name);
        return record.last === null ? null : record;
      },
      monitor: null,
      outbox: await store.outbox(),
      silences: await this.#silences(),
      logged: await store.deliveries({ checks: [check.name], sinceMs: -Infinity, untilMs: Infinity }),
      nowMs: this.#nowMs,
      timeZone: config.timeZone(),
    });
  }

  /** The JSON of `monitor status`. */
  async status(): Promise<string> {
    const { store } = this.#sources.repository;
    const silences = await this.#silences();
    const active = this.#checks.filter((check) => check.active);
    const statuses = active.map((check) => this.#statusOf(check, silences));
    const records = statuses.flatMap(({ record }) => record ?? []);
    const names = new Set(statuses.map(({ check }) => check.name));
    const isShown = (name: string | null): boolean =>
      !this.#isPublic && (this.#sources.isWhole || name === null || names.has(name));
    const reporting = this.#isPublic ? null : await readReporting(store);
    const conditions = [
      ...countedConditions(statuses),
      ...reportingConditions(reporting, this.#sources.config),
    ];
    return statusJson({
      statuses,
      notifications: {
        rows: shownNotifications(await store.outbox(), this.#nowMs)
          .filter((row) => isShown(row.notification.check)),
        silences: lastingSilences(silences, records).filter(({ check }) => isShown(check)),
      },
      monitor: await this.#monitor(),
      reporting,
      causes: this.#causes(active),
      servedBy: this.#isPublic ? null : this.#sources.servedBy,
      configError: null,
    }, highestSeverity(conditions));
  }

  /** The common causes of checks; they are not public. */
  #causes(shown: readonly Check[]): readonly FoundCause[] {
    const { config, repository } = this.#sources;
    if (this.#isPublic || !config.commonCauses || repository.attributes.suspecting.size === 0) return [];
    const running = runningChecks(config.checks, this.#recordOf);
    const byName = new Map(shown.map((check) => [check.name, check]));
    return presentCauses(causesIn(repository, running, this.#nowMs), (name) => {
      const check = byName.get(name);
      return check && this.#statusOf(check, []);
    });
  }

  /** A check's part of that. */
  async check(name: string): Promise<string> {
    return checkJson(this.#statusOf(this.#get(name), await this.#silences()));
  }

  /** The JSON of `monitor history`. */
  async history(name: string): Promise<string> {
    const { store } = this.#sources.repository;
    const nowMs = this.#nowMs;
    const record = asObserved(this.#get(name), this.#recordOf(name), null);
    const history = await readHistory(store, record, nowMs);
    const monitor = await this.#monitor();
    const objective = this.#isPublic ? null : await this.#objectiveOf(this.#get(name));
    const durations = this.#isPublic ? [] : describeDurationRule(this.#get(name), record, nowMs);
    const metricLimits = this.#isPublic ? [] : describeMetricRules(this.#get(name), record, nowMs);
    const status = this.#statusOf(this.#get(name));
    const facts = { status, isInConfig: true, monitor, objective, durations, metricLimits };
    let text = "";
    const actions = this.#isPublic ? [] : (await store.actions(name)).toReversed();
    const past = { changes: this.#changesOf(name), results: null, deliveries: null, actions };
    for await (const piece of historyJson(history, facts, past)) text += piece;
    return text;
  }

  badge(name: string): Promise<string> {
    const { check, ...known } = this.#statusOf(this.#get(name));
    const { condition } = knownAtMember({ ...known, last: null }, this.#recordOf(name), this.#sources.member);
    return Promise.resolve(renderBadge(check.title ?? check.name, condition).toString());
  }

  async feed(): Promise<string> {
    const { system, repository, config } = this.#sources;
    return (await renderFeed({
      recordOf: this.#recordOf,
      title: config.page?.title ?? null,
      store: repository.store,
      checks: this.#checks.filter(({ active }) => active),
      hostName: this.#isPublic ? "" : system.hostName(),
      hasOutputs: !this.#isPublic,
      clock: system.clock,
    })).toString();
  }

  get #nowMs(): number {
    return this.#sources.system.clock.wallMs();
  }

  readonly #recordOf = (name: string): CheckRecord => this.#sources.repository.recordOf(name, this.#nowMs);

  get #isPublic(): boolean {
    return this.#sources.access === "public";
  }

  #find(name: string): Check | undefined {
    return this.#checks.find((check) => check.name === name && check.active);
  }

  #get(name: string): Check {
    const check = this.#find(name);
    if (check === undefined) throw new Error(`There is no check "${name}" to show`);
    return check;
  }

  async #monitor(): Promise<MonitorStatus | null> {
    const { store } = this.#sources.repository;
    const run = this.#isPublic ? null : await store.monitorRun();
    if (run === null) return null;
    const members = await readServices(store);
    const locations = members === null ? [] : locationStatuses(this.#checks, members);
    return { state: "running", notRunning: null, run, config: "unknown", members, locations };
  }

  #silences(): Promise<readonly Silence[]> {
    return this.#sources.repository.store.silences(this.#nowMs);
  }

  #statusOf(check: Check, silences: readonly Silence[] = []): CheckStatus {
    const status = statusOf(check, {
      recordOf: this.#recordOf,
      inactive: this.#inactive,
      silences,
      nowMs: this.#nowMs,
    });
    return this.#isPublic ? publicStatus(status) : status;
  }

  async *#changesOf(name: string): AsyncGenerator<ConditionChange> {
    for await (const change of allChanges(this.#sources.repository.store, name)) {
      yield this.#isPublic ? publicChange(change) : change;
    }
  }
}

const NAME_MAX = 60;
const COLORS: Readonly<Record<ShownCondition, string>> = {
  ok: "1a7f37",
  pending: "1c6b80",
  unknown: "6b41a1",
  warning: "8f5f00",
  critical: "b3261e",
};

/** Renders a check's condition as a small picture (SVG). */
export function renderBadge(name: string, condition: ShownCondition): Markup {
  const label = truncate(name, NAME_MAX);
  const [left, right] = [widthOf(name.slice(0, NAME_MAX)), widthOf(condition)];
  const text = (x: number, width: number, words: string): Markup =>
    markup`<text x="${x + width / 2}" y="14" textLength="${
      width - 12
    }" lengthAdjust="spacingAndGlyphs">${words}</text>`;
  return markup`<svg xmlns="http://www.w3.org/2000/svg" width="${
    left + right
  }" height="20" role="img" aria-label="${label}: ${condition}">
<title>${label}: ${condition}</title>
<rect width="${left}" height="20" fill="#444b52"/><rect x="${left}" width="${right}" height="20" fill="#${
    COLORS[condition]
  }"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${
    text(0, left, label)
  }${text(left, right, condition)}</g>
</svg>
`;
}

function widthOf(words: string): number {
  return 7 * textWidth(words) + 12;
}

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
  return `urn:uuid:${hashHex(text, 32).replace(/^(.{8})(.{4}).(.{3}).(.{3})/, "$1-$2-8$3-8$4-")}`;
}

export interface EndpointSources {
  readonly system: System;
  readonly log: Log;
  readonly repository: StateRepository;
  /** This process as a member; `null` if the state isn't shared. */
  readonly member: { readonly isOpen: boolean } | null;
  /** The name of this process as a member, else of its host. */
  readonly servedBy: string;
  /** Whether a state is stored, so that jobs can check in. */
  readonly hasState: boolean;
  readonly scheduler: Pick<Scheduler, "isAdvancing" | "request">;
  /** Receives reports of agents; `null`: none are received. */
  readonly reports: Pick<AgentReports, "receive" | "rejected"> | null;
  readonly metrics: Pick<MetricsPublisher, "render">;
  /** The checks that run here, of the config's. */
  select(checks: readonly Check[]): readonly Check[];
  /** Whether these are all of them. */
  readonly isWhole: boolean;
  /** The endpoint that a config asks for; `null`: none. */
  listenOf(config: LoadedConfig): Listen | null;
  onBug(error: unknown): void;
}

export interface EndpointConfig {
  readonly config: LoadedConfig;
  readonly listen: Listen;
}
