/**
 * A page is rendered once for all people who are signed in, with holes in the places of what differs. They are filled for
 * each response. A hole begins with a random id, so that no text of a target can be one.
 */
import { joinBytes } from "../../shared/join_bytes.ts";
import { type Markup, markup } from "../markup.ts";
import type { PageForms } from "../html_report/snapshot.ts";
import type { ActionMessage, Session } from "./sessions.ts";

interface Hole {
  readonly kind: string;
  readonly subject: string;
}

type Piece = Uint8Array | Hole;

export class PageHoles implements PageForms {
  readonly by: string;
  readonly #id: string;
  readonly #pieces = new WeakMap<Uint8Array, readonly Piece[]>();

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

  /** Fills the holes of a page, of whose bytes only these are rendered for each response. */
  fill(page: Uint8Array, session: Session): Uint8Array {
    const pieces = this.#pieces.getOrInsertComputed(page, () => this.#split(page));
    return joinBytes(
      pieces.map((piece) => piece instanceof Uint8Array ? piece : encode(contentOf(piece, session))),
    );
  }

  /** Returns the bytes between holes, and the holes. */
  #split(page: Uint8Array): readonly Piece[] {
    const pattern = new RegExp(`${this.#id}:(by|form|message):([\\w%.~!*()-]*):`);
    const parts = new TextDecoder().decode(page).split(pattern);
    return Array.from({ length: Math.ceil(parts.length / 3) }, (_, index) => {
      const [text = "", kind = "", subject = ""] = parts.slice(3 * index);
      return [encode(text), ...kind === "" ? [] : [{ kind, subject: decodeURIComponent(subject) }]];
    }).flat();
  }

  #hole(kind: "by" | "form" | "message", subject: string): string {
    return `${this.#id}:${kind}:${encodeURIComponent(subject.toWellFormed()).replaceAll("'", "%27")}:`;
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function contentOf({ kind, subject }: Hole, session: Session): string {
  if (kind === "by") return markup`${session.by}`.toString();
  if (kind === "form") return session.formToken(subject);
  return renderMessage(session.messageFor(subject), session.formToken(subject)).toString();
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
