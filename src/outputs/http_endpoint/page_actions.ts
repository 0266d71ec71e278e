/** What people do on the live page: the same as the commands, by way of the state, and recorded with their name. */
import { parseIntervalText } from "../../config/quantities.ts";
import { hasProblem } from "../../condition/condition_state.ts";
import { type Check, isReported } from "../../domain/check.ts";
import type { Clock } from "../../domain/clock.ts";
import type { PageAction, Silence } from "../../domain/outbox.ts";
import type { CheckRecord, Store } from "../../domain/store.ts";
import { endedAt, newSilences, newWindow, UNTIL_OK_MS_MAX } from "../../engine/suppression.ts";
import { parseTime, timeText } from "../../shared/local_time.ts";
import { oneLine, quote } from "../../shared/text.ts";
import type { ActionMessage } from "./sessions.ts";

const NOTE_MAX = 200;

export interface ActionOptions {
  readonly check: Pick<Check, "name" | "agent">;
  /** Who acts, and from where. */
  readonly by: string;
  readonly store: Pick<Store, "silences" | "keepAction">;
  readonly system: { readonly clock: Pick<Clock, "wallMs">; randomId(): string };
  /** Of the times that people type and read. */
  readonly timeZone: string;
  recordOf(name: string): CheckRecord;
  /** Runs a check at once, here or at the member that owns it. */
  request(check: string): void;
}

interface Outcome {
  readonly message: Omit<ActionMessage, "check">;
  /** As it was recorded; `null`: nothing was done. */
  readonly action: PageAction | null;
}

/** The fields of an action that its kind decides. */
interface Taken extends Pick<PageAction, "action" | "untilMs"> {
  readonly silences: readonly Silence[];
  readonly text: string;
  readonly undo: ActionMessage["undo"];
  /** @default the note of the person */
  readonly note?: string;
}

interface Ask extends ActionOptions {
  /** The words behind the kind, else the text of the person. */
  readonly detail: string;
  readonly note: string;
  readonly nowMs: number;
}

/** Carries out what a form asks for, and records it. Rejects with a {@linkcode StoreError}. */
export async function takeAction(form: URLSearchParams, options: ActionOptions): Promise<Outcome> {
  const { check, by, store, system } = options;
  const [kind = "", ...words] = (form.get("do") ?? "").split(" ");
  const nowMs = system.clock.wallMs();
  const note = oneLine(form.get("note") ?? "", NOTE_MAX);
  const detail = words.join(" ") || oneLine(form.get("for") ?? "", NOTE_MAX);
  const take = Object.hasOwn(TAKE, kind) ? TAKE[kind as keyof typeof TAKE] : null;
  const taken = await take?.({ ...options, detail, note, nowMs }) ?? "this is no action";
  if (typeof taken === "string") {
    return { message: { text: `Nothing was done: ${taken}.`, isError: true, undo: null }, action: null };
  }
  const { silences, text, undo, ...fields } = taken;
  const action = { id: system.randomId(), atMs: nowMs, check: check.name, by, note, ...fields };
  await store.keepAction(action, silences);
  if (kind === "run") options.request(check.name);
  return { message: { text, isError: false, undo }, action };
}

/** Returns what to do, or why nothing can be done. */
type Take = (ask: Ask) => Taken | string | Promise<Taken | string>;

const TAKE: Readonly<Record<PageAction["action"], Take>> = {
  acknowledge: async ({ check: { name }, recordOf, store, nowMs, note, by }) => {
    const { condition } = recordOf(name);
    if (!hasProblem(condition)) {
      return condition.problemBeganAtMs === null
        ? "there is no problem to acknowledge"
        : "the problem is not confirmed yet";
    }
    const untilMs = nowMs + UNTIL_OK_MS_MAX;
    const { made, replaced } = newSilences(
      [{ check: name, problemBeganAtMs: condition.problemBeganAtMs }],
      await store.silences(nowMs),
      { kind: "acknowledgement", fromMs: nowMs, untilMs, reason: note, by },
    );
    return {
      action: "acknowledge",
      untilMs: null,
      silences: [...replaced, ...made],
      text: "Acknowledged: no reminders and no escalation until it is ok.",
      undo: "acknowledgement",
    };
  },
  silence: async (ask) => {
    const { check: { name }, recordOf, store, nowMs, note, by } = ask;
    const end = readEnd(ask);
    if ("problem" in end) return end.problem;
    const { problemBeganAtMs } = recordOf(name).condition;
    if (end.untilMs === null && problemBeganAtMs === null) return "there is no problem that could end";
    const { made, replaced } = newSilences(
      [{ check: name, problemBeganAtMs: end.untilMs === null ? problemBeganAtMs : null }],
      await store.silences(nowMs),
      { kind: "silence", fromMs: nowMs, untilMs: end.untilMs ?? nowMs + UNTIL_OK_MS_MAX, reason: note, by },
    );
    return {
      action: "silence",
      untilMs: end.untilMs,
      silences: [...replaced, ...made],
      text: `Silenced until ${describeEnd(end.untilMs, ask)}.`,
      undo: "silence",
    };
  },
  maintenance: (ask) => {
    const { check: { name }, system, nowMs, note, by } = ask;
    const end = readEnd(ask);
    if ("problem" in end) return end.problem;
    if (end.untilMs === null) return "maintenance needs a time or a duration";
    const id = system.randomId().slice(0, 8);
    const window = newWindow(id, { check: name, tag: null }, {
      fromMs: nowMs,
      untilMs: end.untilMs,
      reason: note,
      by,
    });
    return {
      action: "maintenance",
      untilMs: end.untilMs,
      silences: [window],
      text: `In maintenance until ${describeEnd(end.untilMs, ask)}.`,
      undo: "maintenance",
    };
  },
  end: async ({ check: { name }, store, nowMs, detail }) => {
    const ended = (await store.silences(nowMs)).filter(({ kind, check }) =>
      kind === detail && check === name
    );
    const [first] = ended;
    if (first === undefined) return "it has ended already";
    return {
      action: "end",
      untilMs: null,
      silences: endedAt(ended, nowMs),
      text: `Ended: ${first.kind}. What is still due is sent within half a minute.`,
      undo: null,
      note: first.kind,
    };
  },
  run: ({ check }) =>
    isReported(check) ? `agent ${quote(check.agent ?? "")} runs the check` : {
      action: "run",
      untilMs: null,
      silences: [],
      text: "The check runs now. Its result appears here.",
      undo: null,
    },
};

/** Reads a duration or a time; `null`: until the problem ends. */
function readEnd(
  { detail, timeZone, nowMs }: Ask,
): { readonly untilMs: number | null } | { readonly problem: string } {
  const text = detail.replace(/^(?:until|for)\s+/i, "");
  if (/^ok$/i.test(text)) return { untilMs: null };
  const at = parseTime(text, { timeZone, nowMs });
  if (at === "no such time") return { problem: `${quote(text)} is a time that does not exist` };
  if (at !== null) return at > nowMs ? { untilMs: at } : { problem: `${quote(text)} is past` };
  const interval = parseIntervalText(text, '"2 hours", "90 min", "18:30" or "2026-12-24 18:30"');
  return "ms" in interval
    ? { untilMs: nowMs + interval.ms }
    : { problem: `${quote(text)} ${interval.problem}` };
}

function describeEnd(untilMs: number | null, { timeZone }: ActionOptions): string {
  return untilMs === null ? "it is ok" : timeText(untilMs, timeZone);
}
