import type { System } from "../../domain/system.ts";
import { expectedText } from "../../rehearsal/expected_text.ts";
import type { Rehearsal } from "../../rehearsal/rehearse.ts";
import { printable } from "../../shared/text.ts";
import { rewriteText } from "../new_checks/add_checks.ts";

/**
 * Writes the messages of a rehearsal to its scenario.
 *
 * @throws {OutputError} If it can't be written.
 */
export async function writeExpected(rehearsal: Rehearsal, system: System): Promise<void> {
  const { scenario: { source }, isAsExpected } = rehearsal;
  const { label, path, text } = source;
  if (!isAsExpected && path !== null) {
    await rewriteText({ label, path, text }, expectedText(rehearsal), system);
  }
  system.stdout.write(`${printable(label)}: ${isAsExpected ? "unchanged" : "written"}\n`);
}
