import type { Condition } from "../../src/domain/condition.ts";

/**
 * What happens to those who connect to a server:
 *
 * - `up`: it answers.
 * - `refuse`: it refuses the connection.
 * - `reset`: it ends the connection before it has read anything.
 * - `lose`: it reads everything, then the connection ends before its reply.
 * - `hang`: it reads everything, and never answers.
 * - `slow`: it answers after a time.
 * - `reply`: it answers with a code: the status of HTTP, the reply of SMTP, the exit code of a command.
 */
export type Fault =
  | { readonly kind: "up" | "refuse" | "reset" | "lose" | "hang" }
  | { readonly kind: "slow"; readonly ms: number }
  | { readonly kind: "reply"; readonly code: number };

export const UP: Fault = { kind: "up" };

/** A result of a check, as its target or its script will give it. */
export interface Outcome {
  readonly condition: Condition;
  readonly output: string;
  /** How long it takes; Infinity: it hangs. `null`: as others do. */
  readonly durationMs: number | null;
}

/** Parses `up`, `refuse`, `reset`, `lose`, `hang`, `slow 30s`, or a code such as `503`; `null`: it is none. */
export function parseFault(text: string): Fault | null {
  if (text === "up" || text === "refuse" || text === "reset" || text === "lose" || text === "hang") {
    return { kind: text };
  }
  const slow = /^slow (\S+)$/.exec(text);
  if (slow !== null) {
    const ms = parseDuration(slow[1] ?? "");
    return ms === null ? null : { kind: "slow", ms };
  }
  return /^\d{1,3}$/.test(text) ? { kind: "reply", code: Number(text) } : null;
}

export function describeFault(fault: Fault): string {
  if (fault.kind === "reply") return String(fault.code);
  return fault.kind === "slow" ? `slow ${fault.ms / 1000}s` : fault.kind;
}

/** Parses `ok`, `warning`, `critical (no space)`, `hang`, `ok slow 30s`; `null`: it is none. */
export function parseOutcome(text: string): Outcome | null {
  if (text === "hang") return { condition: "unknown", output: "", durationMs: Infinity };
  const [, condition, slow, output] =
    /^(ok|warning|critical|unknown)(?: slow (\S+))?(?: \((.*)\))?$/.exec(text) ?? [];
  if (condition === undefined) return null;
  const durationMs = slow === undefined ? null : parseDuration(slow);
  if (slow !== undefined && durationMs === null) return null;
  return { condition: condition as Condition, output: output ?? `it is ${condition}`, durationMs };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses `30s`, `5min`, `2h`, `3d` or `250ms`; `null`: it is none. */
export function parseDuration(text: string): number | null {
  const [, count, unit = ""] = /^(\d+)(ms|s|min|h|d)$/.exec(text) ?? [];
  const ms = UNITS[unit];
  return count === undefined || ms === undefined ? null : Number(count) * ms;
}
