/** Runs a step of a test for each row of a table, under the name of the row. */
export async function testRows<Row>(
  t: Deno.TestContext,
  rows: Readonly<Record<string, Row>>,
  run: (row: Row, name: string) => void | Promise<void>,
): Promise<void> {
  for (const [name, row] of Object.entries(rows)) await t.step(name, () => run(row, name));
}
