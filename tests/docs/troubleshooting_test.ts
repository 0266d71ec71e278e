/** The messages in docs/help/troubleshooting.md are those of the program. */
import assert from "node:assert/strict";
import { PROJECT, readPage } from "./pages.ts";

/** The first cells of the tables: each a message, in which `…` stands for anything. */
const MESSAGES = [...readPage("docs/help/troubleshooting.md").prose.matchAll(/^\| `([^`]+)` +\|/gm)]
  .map(([, message = ""]) => message);

Deno.test("every message of docs/help/troubleshooting.md is one of the program's", () => {
  const source = sourceText();
  assert.ok(MESSAGES.length > 50);
  const missing = MESSAGES.filter((message) =>
    !literalPieces(message).every((piece) => source.includes(piece))
  );
  assert.deepEqual(missing, []);
});

/** Returns the literal pieces of a message, without values and the reply of an SMTP server. */
function literalPieces(message: string): readonly string[] {
  return message.replace(/^(login|sender): /, "").replace(/ 5\d+/, "…").split(/…|(?<=": )| \(process | s, /)
    .map((piece) => piece.replaceAll(/^["\s]+|["\s]+$/g, ""))
    .filter((piece) => piece.length > 3);
}

/** Returns all source texts, with literals over several lines joined, and without their quotes. */
function sourceText(directory = `${PROJECT}src`): string {
  return [...Deno.readDirSync(directory)].map(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return name === "generated" ? "" : sourceText(path);
    return name.endsWith(".ts")
      ? Deno.readTextFileSync(path).replaceAll(/["`] \+\s+["`]/g, "").replaceAll("\\`", "`")
      : "";
  }).join("\n");
}
