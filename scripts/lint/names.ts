import { placedRule } from "./place.ts";

const SNAKE_CASE = /^[a-z0-9]+(_[a-z0-9]+)*$/;

/** Names that do not describe the contents of a file, and so attract everything. */
const EMPTY_NAMES: ReadonlySet<string> = new Set([
  "common",
  "helper",
  "helpers",
  "index",
  "misc",
  "util",
  "utils",
]);

/** `names`: files are in snake_case and named for their exports. */
export const names: Deno.lint.Rule = placedRule((context, path) => ({
  Program(node) {
    const file = path.slice(path.lastIndexOf("/") + 1);
    const name = file.replace(/(\.d)?\.\w+$/, "");
    // At the first character: to show the whole file as the place would bury the message.
    const range: Deno.lint.Range = [node.range[0], node.range[0]];
    if (EMPTY_NAMES.has(name.replace(/_test$/, ""))) {
      context.report({
        range,
        message: `File name ${file} says nothing of what is in it`,
        hint: "name the file for the concept it exports; a directory's door is mod.ts",
      });
    } else if (!SNAKE_CASE.test(name)) {
      context.report({
        range,
        message: `File name ${file} is not snake_case`,
        hint: "use small letters, digits and single underscores: file_timestamp_test.ts",
      });
    }
  },
}));
