/** Source files of the project, and their comments. */

/** Comments, texts and regular expressions. */
export const NO_CODE =
  /\/\*[\s\S]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|(?<=(?:[(=:,|?&]|return)\s*)\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\]|\\.)*\])+\//g;

/** Returns the text of each comment, without its marks. */
export function commentsOf(source: string): readonly string[] {
  const comments = (source.match(NO_CODE) ?? []).filter((text) => /^\/[*/]/.test(text));
  return comments.map((text) =>
    text.startsWith("//")
      ? text.slice(2).trim()
      : text.replaceAll(/^\/\*+|\*\/$/g, "").replaceAll(/^\s*\* ?/gm, "").trim()
  );
}

const NAME =
  /(?:(?:\bDeno\.test(?:\.\w+)?|\.step)\(\s*|\bname:\s*)(?:"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;

/** Returns the names of tests, steps and table rows; of these only those with several words, since others are data. */
export function testNamesOf(source: string): readonly string[] {
  return [...source.matchAll(NAME)].map(([, plain, template]) => plain ?? template ?? "")
    .filter((name) => name.includes(" "));
}

/** Returns the paths of TypeScript files below a directory, except for generated ones. */
export function sourceFiles(directory: string): readonly string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return name === "generated" ? [] : sourceFiles(path);
    return name.endsWith(".ts") ? [path] : [];
  });
}
