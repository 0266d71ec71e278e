import type { System } from "../domain/system.ts";
import { type ConfigFile, openConfigFile, readIncluded } from "./config_file.ts";
import { createPlacer } from "./positions.ts";
import { ConfigError, quoteValue, type Source } from "./problem.ts";
import { childOf, createSchemaReader, isObject, membersOf, MONITOR_SCHEMA } from "./schema_view.ts";
import { findSecrets } from "./secrets.ts";
import { absolutePath, type ConfigLocation, readSource } from "./source.ts";
import { postgresIn, type PostgresSettings } from "./postgres_settings.ts";

interface JobIndex {
  readonly source: Source;
  /** The kinds of the checks by name, as written and not validated. */
  readonly kinds: ReadonlyMap<string, unknown>;
  /** Absolute path of the state file, if the config names one. */
  readonly statePath: string | null;
  readonly postgres: PostgresSettings | null;
  /** Values that must never be shown, as far as they can be read from here. */
  readonly secrets: readonly string[];
}

/**
 * Reads the names of a config's checks, including those of included files, and the location of its state. It ignores
 * other errors: an invalid setting, or a command or secret that is missing in a crontab's environment, must not lose a
 * check-in.
 *
 * @throws {ConfigError} If it can't be read, or its `state` has no value here.
 */
export async function readJobIndex(location: ConfigLocation, system: System): Promise<JobIndex> {
  const source = await readSource(location, system);
  const config = await openConfigFile(source, system, { withoutSecrets: false });
  refuseUnusable(config);
  const { files } = await readIncluded(config, { system, named: location.named, withoutSecrets: false });
  const reader = createSchemaReader(MONITOR_SCHEMA);
  const state = childOf(config.value, "state");
  return {
    source,
    // The first of duplicate names counts; validate reports them.
    kinds: new Map(
      files.toReversed().flatMap(({ value }) => membersOf(childOf(value, "checks")))
        .map(([name, check]) => [name, childOf(check, "kind")]),
    ),
    statePath: typeof state === "string" && state !== "" ? absolutePath(state, source.directory) : null,
    postgres: postgresIn(config.written, source.directory),
    secrets: files.flatMap(({ value, substitutions }) =>
      value === undefined ? [] : findSecrets(value, substitutions, reader).values
    ),
  };
}

function refuseUnusable({ source, written, problems, isUnresolved }: ConfigFile): void {
  const what = `cannot use config ${quoteValue(source.label)}`;
  if (written === undefined) {
    throw new ConfigError(`${what}: it is not JSON`, {
      source,
      problems: problems.flat().map(createPlacer(source.text)),
    });
  }
  const hint = "see: monitor validate";
  if (!isObject(written)) throw new ConfigError(`${what}: it is not a JSON object`, { hint });
  if (isUnresolved(["state"])) {
    throw new ConfigError(`${what}: a placeholder in "state" has no value here`, { hint });
  }
}
