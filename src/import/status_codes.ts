import type * as written from "../domain/generated/written_config.ts";

/** Comparisons of two numbers by their operators. */
export const COMPARISONS: Readonly<
  Record<"==" | "!=" | "<" | "<=" | ">" | ">=", (one: number, other: number) => boolean>
> = {
  "==": (one, other) => one === other,
  "!=": (one, other) => one !== other,
  "<": (one, other) => one < other,
  "<=": (one, other) => one <= other,
  ">": (one, other) => one > other,
  ">=": (one, other) => one >= other,
};

const LOWEST = 100;
const HIGHEST = 599;

/** Writes the statuses that a rule accepts in the shortest form; `undefined` if it accepts none. */
export function statusesThat(accepts: (status: number) => boolean): written.HttpExpectation["status_code"] {
  const statuses = Array.from({ length: HIGHEST - LOWEST + 1 }, (_, index) => LOWEST + index).filter(accepts);
  if (statuses.length === 0) return undefined;
  if (statuses.length === HIGHEST - LOWEST + 1) return null;
  const byClass = Map.groupBy(statuses, (status) => Math.floor(status / 100));
  const shortest = [...byClass].flatMap<number | string>(([first, members]) =>
    members.length === 100 ? [`${first}xx`] : members
  );
  const [only] = shortest;
  return shortest.length === 1 && only !== undefined ? only : shortest;
}
