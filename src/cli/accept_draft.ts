import { ConfigError, type PlacedProblem } from "../config/problem.ts";
import type { System } from "../domain/system.ts";
import { openConfig } from "./open_config.ts";
import { CONFIG_BYTES_MAX } from "../config/source.ts";
import { type ConfigDraft, ImportLimitError } from "../import/config_draft.ts";
import { renderConfig } from "../import/render_import.ts";

/**
 * Validates a draft as `monitor validate` does, and removes rejected parts, such as a regular expression that RE2
 * lacks. So the result always validates, and the list has the reason for each loss.
 */
export async function acceptDraft(draft: ConfigDraft, system: System): Promise<void> {
  for (;;) {
    const config = renderConfig(draft);
    if (config.length > CONFIG_BYTES_MAX) throw new ImportLimitError("its config would be too large");
    const problems = await findProblems(config, system);
    if (problems.length === 0) return;
    const dropped = problems.filter((problem) => dropFrom(draft, problem));
    if (dropped.length === 0) {
      const [{ path, message } = { path: "", message: "" }] = problems;
      throw new Error(`The imported config is invalid at ${path}: ${message}`);
    }
  }
}

async function findProblems(text: string, system: System): Promise<readonly PlacedProblem[]> {
  const bytes = new TextEncoder().encode(text);
  const reading: System = Object.create(system, { readStdin: { value: () => Promise.resolve(bytes) } });
  const invocation = { options: new Map([["config", "-"]]), operands: [] };
  try {
    await openConfig(invocation, reading, { withoutSecrets: true });
    return [];
  } catch (error) {
    if (error instanceof ConfigError && error.problems.length > 0) return error.problems;
    throw error;
  }
}

/** The section, the name as such or quoted, and the rest of a path. */
const PLACE = /^(checks|channels)(?:\.([\w$-]+)|\[("(?:[^"\\]|\\.)*")\])\.?(.*)$/s;

function dropFrom(draft: ConfigDraft, { path, message }: PlacedProblem): boolean {
  const [, section, plain, quoted = '""', rest] = PLACE.exec(path) ?? [];
  if (section !== "checks" && section !== "channels") return false;
  const reason = rest === "" ? message : `${rest}: ${message}`;
  return draft.drop(section, plain ?? JSON.parse(quoted), reason);
}
