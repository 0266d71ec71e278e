/** The page to sign in. Anybody may see it: it has no name of a host, a config or a check that exists. */
import { truncate } from "../../shared/text.ts";
import { type Markup, markup } from "../markup.ts";
import { TEXT_MAX } from "./render_check.ts";
import { contentPolicy } from "./render_header.ts";
import { STYLE } from "./style.ts";

export interface SignInPage {
  /** The title of the page in the config; absent: none. */
  readonly title: string | undefined;
  /** The check whose page is opened next; empty: the page of all checks. */
  readonly check: string;
  /** The name that was sent. */
  readonly by?: string;
  /** The reason for which a sign-in or an action was rejected. */
  readonly problem?: string;
}

export function renderSignIn({ title, check, by = "", problem }: SignInPage): Markup {
  return markup`${renderTop("Sign in")}<header>${
    title === undefined ? "" : markup`<p class=h>${truncate(title, TEXT_MAX.name)}</p>`
  }<h1>Sign in</h1></header>
<main>${problem === undefined ? "" : markup`<p class=z role=alert>${problem}</p>`}
<form class="act sign" method=post action=sign-in><input type=hidden name=check value="${
    encodeURIComponent(check.toWellFormed())
  }">
<label>Your name, shown with each action <input name=by value="${by}" required maxlength=60 autocomplete=username></label>
<label>Token of the config (listen.token) <input type=password name=token required maxlength=1000 autocomplete=current-password></label>
<button>Sign in</button></form>
<p><a href=./>All checks</a></p></main>
`;
}

/** Renders a page that leads to another one of this site. */
export function renderForward(to: string): Markup {
  return markup`${renderTop("Sign in")}<meta http-equiv=refresh content="${"0;url=".concat(to)}">
<main><p><a href="${to}">Continue</a></p></main>
`;
}

/** The beginning of a page that anybody may see. */
export function renderTop(title: string): Markup {
  return markup`<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content="width=device-width, initial-scale=1">
<meta http-equiv=Content-Security-Policy content="${contentPolicy({ isLive: true })}">
<meta name=robots content=noindex>
<link rel=icon href="data:,">
<title>${title}</title>
<style>${STYLE}</style>
`;
}

// The page behind the link of a rehearsal. Only the receivers of the message know its URL.

export function renderConfirmation(
  { words, isConfirmable }: { readonly words: string; readonly isConfirmable: boolean },
): Markup {
  return markup`${renderTop("Rehearsal")}<header><h1>Rehearsal</h1></header>
<main><p>${words}</p>${
    isConfirmable ? markup`<form class="act sign" method=post><button>It arrived</button></form>` : ""
  }</main>
`;
}
