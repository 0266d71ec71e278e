/**
 * What the monitor is held against, as a program of its own:
 *
 *     bare_program rate WORK TARGET PER_SECOND AT_A_TIME
 *     bare_program checks STATE
 *     bare_program history STATE
 *     bare_program rows STATE TARGET AT_A_TIME (kept|sent)
 *     bare_program parse DOCUMENT
 */
const [mode, first = "", second = "", third, fourth] = Deno.args;

if (mode === "rate") {
  const { RATE_WORK, workAtRate } = await import("./bare_rate.ts");
  const rate = { perSecond: Number(third), atATime: Number(fourth) };
  workAtRate(RATE_WORK[first as keyof typeof RATE_WORK], second, rate);
} else if (mode === "checks") {
  const { printChecks } = await import("./bare_state.ts");
  printChecks(first);
} else if (mode === "history") {
  const { sumHistory } = await import("./bare_state.ts");
  sumHistory(first);
} else if (mode === "rows") {
  const { postRows } = await import("./bare_state.ts");
  await postRows(first, { target: second, atATime: Number(third), isKept: fourth === "kept" });
} else if (mode === "parse") {
  const { checks } = JSON.parse(await Deno.readTextFile(first));
  console.log(`${Object.keys(checks).length} checks`);
}
