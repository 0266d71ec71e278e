/** The forms of the live page of a person who is signed in. They work without a script. */
import { hasProblem } from "../../condition/condition_state.ts";
import type { Silence } from "../../domain/outbox.ts";
import { describeNote, hasOwnEnd, silencesOf } from "../../engine/suppression.ts";
import { truncate } from "../../shared/text.ts";
import { type Markup, markup, type TimeText } from "../markup.ts";
import type { PageCheck, ReportSnapshot } from "./snapshot.ts";

interface FormOptions {
  readonly snapshot: ReportSnapshot;
  readonly time: TimeText;
}

/** The subject of the token of the form to sign out; no URL of a check is one. */
export const SIGN_OUT = "/sign-out";

/** Renders who is signed in, and the form to sign out. */
export function renderSignedIn({ forms }: ReportSnapshot, root: string): Markup {
  if (forms === undefined) return markup``;
  return markup`<form class=act method=post action="${root}sign-out"><span>Signed in as ${forms.by}</span>${
    tokenField(forms.formToken(SIGN_OUT))
  }<button>Sign out</button></form>`;
}

/** Renders the actions on the page of one check. Links of messages open it at `#acknowledge`. */
export function renderActions(status: PageCheck, options: FormOptions): Markup {
  const { snapshot: { forms, isOfOneCheck } } = options;
  if (forms === undefined || isOfOneCheck !== true) return markup``;
  const form = (content: Markup, id = ""): Markup => renderForm(status, { content, id, options });
  return markup`<section aria-labelledby=act><h2 id=act>Act</h2>${forms.messageFor(status.check.name)}${
    form(renderAcknowledge(status, options), "acknowledge")
  }${
    renderQuiet("silence", status, { options, form })
  }<details class=maintenance><summary>Maintenance</summary>${
    renderQuiet("maintenance", status, { options, form })
  }</details>${form(button("run", "Run now"), "run")}</section>\n`;
}

/** Renders the most frequent actions in the row of a check. Each row has a link to the page with all of them. */
export function renderRowActions(
  status: PageCheck,
  { hasForms, ...options }: FormOptions & { readonly hasForms: boolean },
): Markup {
  const { snapshot: { forms } } = options;
  if (forms === undefined || !hasForms) return markup``;
  const content = markup`${isOpen(status) ? button("acknowledge", "Acknowledge") : ""}${
    isOpen(status) ? button("silence ok", "Silence until ok") : ""
  }${button("silence 1 hour", "Silence 1 h")}${button("silence 4 hours", "4 h")}${button("run", "Run now")}`;
  return renderForm(status, { content, id: "", options });
}

function renderForm(
  { check: { name } }: PageCheck,
  { content, id, options: { snapshot: { forms, isOfOneCheck } } }: {
    readonly content: Markup;
    readonly id: string;
    readonly options: FormOptions;
  },
): Markup {
  const root = isOfOneCheck === true ? "../" : "";
  const anchor = id === "" ? "" : markup` id=${id}`;
  // Encoded, since a name may have characters that no field keeps.
  return markup`<form class=act method=post action="${root}act"${anchor}><input type=hidden name=check value="${
    encodeURIComponent(name.toWellFormed())
  }">${tokenField(forms?.formToken(name) ?? "")}${content}</form>`;
}

function tokenField(token: string): Markup {
  return markup`<input type=hidden name=token value="${token}">`;
}

function button(value: string, text: string): Markup {
  return markup`<button name=do value="${value}">${text}</button>`;
}

/** Whether a problem is confirmed and not acknowledged. */
function isOpen({ record, acknowledged }: PageCheck): boolean {
  return record !== null && hasProblem(record.condition) && acknowledged === null;
}

function renderAcknowledge(status: PageCheck, options: FormOptions): Markup {
  const [own] = ownOf("acknowledgement", status, options);
  if (own !== undefined) return renderOwn(own, "Acknowledged", options);
  if (!isOpen(status)) return markup`<p>No problem to acknowledge</p>`;
  return markup`${noteField()}${button("acknowledge", "Acknowledge")}`;
}

const BEGUN_WORDS = { silence: "Silenced", maintenance: "In maintenance" } as const;
const VERBS = { silence: "Silence", maintenance: "Start maintenance" } as const;

/** Renders what is in effect, the usual durations, and fields for any other one. */
function renderQuiet(
  kind: "silence" | "maintenance",
  status: PageCheck,
  { options, form }: { readonly options: FormOptions; form(content: Markup, id?: string): Markup },
): Markup {
  const own = ownOf(kind, status, options).map((one) => form(renderOwn(one, BEGUN_WORDS[kind], options)));
  const hasEnd = kind === "silence" && (status.record?.condition.problemBeganAtMs ?? null) !== null;
  const usual = markup`<span>${VERBS[kind]}</span>${button(`${kind} 1 hour`, "1 h")}${
    button(`${kind} 4 hours`, "4 h")
  }${button(`${kind} 08:00`, "until 8:00")}${hasEnd ? button(`${kind} ok`, "until ok") : ""}`;
  const other =
    markup`<label>Other time <input class=for name=for required maxlength=100 placeholder="2 hours or 18:30" autocomplete=off></label>${noteField()}${
      button(kind, VERBS[kind])
    }`;
  return markup`${own}${form(usual)}${form(other)}`;
}

function noteField(): Markup {
  return markup`<label>Note <input class=note name=note maxlength=200 autocomplete=off></label>`;
}

/** Renders one that is in effect; one for several checks can only be ended by the command that made it. */
function renderOwn(silence: Silence, word: string, { time }: FormOptions): Markup {
  const { kind, check, problemBeganAtMs, untilMs } = silence;
  const end = problemBeganAtMs !== null && !hasOwnEnd(silence)
    ? markup`until it is ok`
    : markup`until ${time(untilMs)}`;
  const note = describeNote(silence);
  const text = markup`<p>${word} ${end}${note === "" ? "" : ` (${truncate(note, NOTE_MAX)})`}</p>`;
  return check === null ? text : markup`${text}${button(`end ${kind}`, `End ${kind}`)}`;
}

const NOTE_MAX = 300;

function ownOf(
  kind: Silence["kind"],
  { check, record }: PageCheck,
  { snapshot: { silences, nowMs } }: FormOptions,
): readonly Silence[] {
  const problemBeganAtMs = record?.condition.problemBeganAtMs ?? null;
  return silencesOf({ name: check.name, tags: check.tags, problemBeganAtMs }, silences, { kind, nowMs });
}
