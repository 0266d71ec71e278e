export interface TerminalInput {
  /** Whether standard input is one. */
  readonly isTerminal: boolean;
  /** The next line, without its newline; `null` at the end of the input. */
  readLine(): Promise<string | null>;
}
