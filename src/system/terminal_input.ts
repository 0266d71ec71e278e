import type { TerminalInput } from "../domain/terminal_input.ts";

/** The process's standard input, as a terminal gives it: line by line. */
export function createTerminalInput(): TerminalInput {
  const decoder = new TextDecoder();
  let text = "";
  return {
    get isTerminal() {
      return Deno.stdin.isTerminal();
    },
    readLine: async () => {
      const buffer = new Uint8Array(4096);
      while (!text.includes("\n")) {
        const count = await Deno.stdin.read(buffer);
        if (count === null) return null;
        text += decoder.decode(buffer.subarray(0, count), { stream: true });
      }
      const end = text.indexOf("\n");
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      return line;
    },
  };
}
