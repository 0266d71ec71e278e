/** The page behind the link of a rehearsal. Only the receivers of the message know its URL. */
import { type Markup, markup } from "../markup.ts";
import { renderTop } from "./render_sign_in.ts";

interface ConfirmationPage {
  readonly words: string;
  /** Whether it has the button that confirms. */
  readonly isConfirmable: boolean;
}

export function renderConfirmation({ words, isConfirmable }: ConfirmationPage): Markup {
  return markup`${renderTop("Rehearsal")}<header><h1>Rehearsal</h1></header>
<main><p>${words}</p>${
    isConfirmable ? markup`<form class="act sign" method=post><button>It arrived</button></form>` : ""
  }</main>
`;
}
