/** Filters and sorts the checks of a page, by its query (`?q=redis+tag:shop&sort=slowest`) or by its script. */
import type { CheckStatus } from "../../engine/check_status.ts";

/** The fields of a check for filtering and sorting. */
interface Filtered extends Pick<CheckStatus, "check" | "condition" | "record"> {
  /** Shares of the time in each span, the longest one at the end. */
  readonly spans: readonly { readonly shares: { readonly ok: number } | null }[];
}

export const SORTS = ["urgent", "name", "slowest", "worst"] as const;
export type Sort = typeof SORTS[number];

export interface PageFilter {
  /** Words to find in a check's name, title, tags, kind, condition or output; or `tag:`, `kind:`, `condition:`. */
  readonly words: string;
  readonly sort: Sort;
}

export const NO_FILTER: PageFilter = { words: "", sort: "urgent" };

const FIELDS = ["tag", "kind", "condition"] as const;
const WORDS_MAX = 200;

/** Returns the filter of a query; `?tag=shop` is `?q=tag:shop`. */
export function readFilter(query: URLSearchParams): PageFilter {
  const fields = FIELDS.flatMap((field) => query.getAll(field).map((value) => fieldWord(field, value)));
  const words = [...query.getAll("q"), ...fields].join(" ").trim().slice(0, WORDS_MAX);
  return { words, sort: SORTS.find((sort) => sort === query.get("sort")) ?? "urgent" };
}

/** Returns the word that matches exactly this value, without blanks. */
export function fieldWord(field: typeof FIELDS[number], value: string): string {
  return `${field}:${value.trim().replaceAll(/\s+/g, "_").toLowerCase()}`;
}

/** Returns the words that match fields of a check exactly. */
export function fieldWordsOf({ check, condition }: Pick<Filtered, "check" | "condition">): string {
  return [
    fieldWord("condition", condition),
    ...check.kind === null ? [] : [fieldWord("kind", check.kind)],
    ...check.tags.map((tag) => fieldWord("tag", tag)),
  ].join(" ");
}

/**
 * Returns whether the filter matches a check. Browsers run it, too: the page scripts include its source, so it uses no
 * outer variables.
 */
export function isFound(words: string, fields: string, text: string): boolean {
  return words.toLowerCase().split(/\s+/).every((word) =>
    /^(?:tag|kind|condition):/.test(word)
      ? fields.split(" ").includes(word)
      : `${text.toLowerCase()} ${fields}`.includes(word)
  );
}

type Order = (one: Filtered, other: Filtered) => number;

/** The sort keys of checks in a section; `null`: the original order. */
export const ORDERS: Readonly<Record<Sort, Order | null>> = {
  urgent: null,
  name: (one, other) => nameOf(one) < nameOf(other) ? -1 : nameOf(one) > nameOf(other) ? 1 : 0,
  slowest: (one, other) => durationOf(other) - durationOf(one),
  worst: (one, other) => shareOf(one) - shareOf(other),
};

function nameOf({ check: { title, name } }: Filtered): string {
  return title ?? name;
}

/** Returns the duration of the last run, in milliseconds; -1 without a run. */
export function durationOf({ record }: Filtered): number {
  return record?.last?.durationMs ?? -1;
}

/** Returns the share of ok in the longest span, from 0 to 1; 2 without data. */
export function shareOf({ spans }: Filtered): number {
  return spans.at(-1)?.shares?.ok ?? 2;
}

/** How many rows of a section a script shows before the reader asks for all. No small page has more. */
const ROWS_SHOWN_MAX = 250;

/** The part of both page scripts that filters and sorts the rows. `filter()` repeats this after the page is refreshed. */
export const FILTER_CODE = `  const isFound = ${isFound};
  const form = document.querySelector("form[role=search]");
  const orders = {
    name: (row) => row.querySelector("h3").textContent,
    slowest: (row) => -row.dataset.ms,
    worst: (row) => Number(row.dataset.share),
  };
  const lists = new WeakMap();
  const texts = new WeakMap();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, [...row.querySelectorAll("h3,.n,.l")].map((part) => part.textContent).join(" "));
    return texts.get(row);
  };
  // A list of thousands shows the first rows, since drawing all of them takes seconds.
  const wholeLists = new Set();
  const idOf = (list) => list.closest("section").getAttribute("aria-labelledby");
  const showRest = (list, count) => {
    const more = list.nextElementSibling ?? list.parentElement.appendChild(document.createElement("button"));
    more.hidden = count === 0;
    more.type = "button";
    more.textContent = "Show " + count + " more";
    more.onclick = () => {
      wholeLists.add(idOf(list));
      filter();
    };
  };
  const filter = () => {
    if (form === null) return;
    const target = location.hash.slice(1);
    const words = form.q.value;
    const order = orders[form.sort.value];
    let found = 0;
    let total = 0;
    for (const list of document.querySelectorAll("ul.r")) {
      const rows = [...list.children];
      if (!lists.has(list)) lists.set(list, rows);
      const sorted = lists.get(list).map((row) => [order?.(row), row]);
      if (order) sorted.sort(([one], [other]) => one < other ? -1 : one > other ? 1 : 0);
      if (order || rows.some((row, index) => row !== sorted[index][1])) list.append(...sorted.map(([, row]) => row));
      let shown = 0;
      let rest = 0;
      const max = wholeLists.has(idOf(list)) ? Infinity : ${ROWS_SHOWN_MAX};
      for (const [, row] of sorted) {
        const isMatch = isFound(words, row.dataset.f, textOf(row));
        const isRest = isMatch && shown >= max && row.id !== target;
        if (isMatch) shown++;
        if (isRest) rest++;
        if (row.hidden === (isMatch && !isRest)) row.hidden = !row.hidden;
      }
      if (rest > 0 || list.nextElementSibling) showRest(list, rest);
      const section = list.closest("section");
      section.hidden = false;
      section.classList.toggle("none", shown === 0);
      found += shown;
      total += rows.length;
    }
    document.getElementById("found").textContent = words.trim() === "" ? "" : found + " of " + total + " checks";
  };
  const filterBy = (words) => {
    form.q.value = words;
    const query = new URLSearchParams(words.trim() === "" ? [] : [["q", words.trim()]]);
    if (form.sort.value !== "urgent") query.set("sort", form.sort.value);
    try {
      history.replaceState(null, "", query.size === 0 ? location.pathname : "?" + query);
    } catch {
      // Browsers may reject replaceState() for a file URL.
    }
    filter();
  };
  if (form !== null) {
    const given = new URLSearchParams(location.search);
    form.hidden = false;
    if (given.has("sort")) form.sort.value = given.get("sort");
    if (form.q.value === "") {
      const fields = ["tag", "kind", "condition"].flatMap((field) => given.getAll(field).map((value) => field + ":" + value.trim().replace(/\\s+/g, "_")));
      form.q.value = [...given.getAll("q"), ...fields].join(" ").trim();
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => filterBy(form.q.value));
    document.addEventListener("click", (event) => {
      const words = event.target.closest("a[data-q]")?.dataset.q;
      if (words === undefined || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      filterBy(form.q.value.trim() === words ? "" : words);
    });
    addEventListener("hashchange", () => {
      filter();
      document.getElementById(location.hash.slice(1))?.scrollIntoView();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.target.closest("input,select,textarea")) {
        event.preventDefault();
        form.q.select();
      } else if (event.key === "Escape" && event.target === form.q) {
        filterBy("");
      }
    });
    filter();
  }
`;
