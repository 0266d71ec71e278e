/**
 * A page is rendered once for all people who are signed in, with holes in the places of what differs. They are filled for
 * each response. A hole begins with a random id, so that no text of a target can be one.
 */
import { type Markup, markup } from "../markup.ts";
import type { PageForms } from "../html_report/snapshot.ts";
import type { ActionMessage, Session } from "./sessions.ts";

export class PageHoles implements PageForms {
  readonly by: string;
  readonly #id: string;

  constructor(newId: () => string) {
    this.#id = newId();
    this.by = this.#hole("by", "");
  }

  formToken(subject: string): string {
    return this.#hole("form", subject);
  }

  messageFor(check: string): string {
    return this.#hole("message", check);
  }

  fill(page: string, session: Session): string {
    const pattern = new RegExp(`${this.#id}:(\\w+):([\\w%.~!*()-]*):`, "g");
    return page.replaceAll(pattern, (_, kind: string, subject: string) => {
      const name = decodeURIComponent(subject);
      if (kind === "by") return markup`${session.by}`.toString();
      if (kind === "form") return session.formToken(name);
      return renderMessage(session.messageFor(name), session.formToken(name)).toString();
    });
  }

  #hole(kind: "by" | "form" | "message", subject: string): string {
    return `${this.#id}:${kind}:${encodeURIComponent(subject.toWellFormed()).replaceAll("'", "%27")}:`;
  }
}

function renderMessage(message: ActionMessage | null, token: string): Markup {
  if (message === null) return markup``;
  const { check, text, isError, undo } = message;
  const role = isError ? "alert" : "status";
  const form = undo === null
    ? ""
    : markup`<form class=act method=post action="../act"><input type=hidden name=check value="${
      encodeURIComponent(check.toWellFormed())
    }"><input type=hidden name=token value="${token}"><button name=do value="end ${undo}">Undo</button></form>`;
  return markup`<div class=done role="${role}"><p>${text}</p>${form}</div>`;
}
