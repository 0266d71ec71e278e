import type { System } from "../domain/system.ts";
import { type Included, readIncluded } from "./include.ts";
import { type ValidatedFile, validateFile } from "./check_rules.ts";
import { channelNames, openConfigFile } from "./config_file.ts";
import { openSchema, type Shape } from "./profile_schemas.ts";
import { createConfigPlacer, findRepeatedNames, inTextOrder } from "./source_location.ts";
import { ConfigError, countErrors, type PlacedProblem, type Problem } from "./problem.ts";
import type { SchemaReader } from "./schema_view.ts";
import { type ConfigLocation, readSource } from "./source.ts";
import type { Source } from "./source_text.ts";
import { withoutRepeats } from "./templates.ts";

export interface ReadOptions {
  /** The schema that validates the config; its meaning is the same with any of them. @default "monitor" */
  readonly shape?: Shape;
  /**
   * Whether placeholders stay as they are and commands are not looked up: for reading a config on a machine that is
   * not its own. Its checks cannot be run then. @default false
   */
  readonly withoutSecrets?: boolean;
}

export interface ReadConfig {
  readonly source: Source;
  readonly included: Included;
  /** In the order of `included`. */
  readonly validated: readonly ValidatedFile[];
  /** The first of them: the config itself. */
  readonly main: ValidatedFile;
  readonly others: readonly ValidatedFile[];
  readonly lacks: readonly Problem[];
  /** The names in the files of the checks that `for_each` made, by their own. */
  readonly templates: ReadonlyMap<string, string>;
  /** Of the default schema: it defines the meaning of every profile. */
  readonly reader: SchemaReader;
  place(problem: Problem): PlacedProblem;
  /** Throws a {@linkcode ConfigError} if there are problems. */
  refuse(problems: readonly Problem[]): void;
}

/**
 * Reads a config with its included files, and validates each.
 *
 * @throws {ConfigError} If it can't be read or has errors.
 */
export async function readConfig(
  location: ConfigLocation,
  system: System,
  { withoutSecrets = false, shape = "monitor" }: ReadOptions,
): Promise<ReadConfig> {
  const source = await readSource(location, system);
  const config = await openConfigFile(source, system, { withoutSecrets, keepsForEach: shape !== "monitor" });
  const included = await readIncluded(config, { system, named: location.named, withoutSecrets });
  const { files } = included;
  const place = createConfigPlacer(files);
  const templates = new Map(files.flatMap((file) => [...file.templates]));
  const refuse = (found: readonly Problem[]): void => {
    if (found.length === 0) return;
    const problems = withoutRepeats(found, templates);
    throw new ConfigError(`cannot use config "${source.label}": ${countErrors(problems.length)}`, {
      source,
      problems: inTextOrder(problems.map(place), files.map((file) => file.source)),
    });
  };
  const schema = await openSchema(shape);
  // A name may be in a file that can't be read.
  const isReadable = included.problems.length === 0 && files.every(({ written }) => written !== undefined);
  const names = isReadable ? new Set(files.flatMap(channelNames)) : null;
  const judging = { schema, system, withoutSecrets, config, channelNames: names };
  const main = await validateFile(config, judging);
  const others: ValidatedFile[] = [];
  for (const file of files.slice(1)) others.push(await validateFile(file, judging));
  const validated = [main, ...others];
  refuse([
    ...included.problems,
    ...validated.flatMap((file) => file.problems),
    ...findRepeatedNames(files, place),
  ]);
  const lacks = validated.flatMap((file) => file.lacks);
  const reader = schema.wider ?? schema.reader;
  return { source, included, validated, main, others, lacks, templates, reader, place, refuse };
}
