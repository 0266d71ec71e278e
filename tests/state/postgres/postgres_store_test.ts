import { openPostgresStore } from "../../../src/state/postgres/postgres_store.ts";
import { POSTGRES, sharedPostgres, storeOptions } from "../../support/postgres.ts";
import { testStore } from "../conformance.ts";

const postgres = sharedPostgres();

testStore("openPostgresStore()", async (use) => {
  const store = await openPostgresStore(postgres().place(), storeOptions());
  try {
    await use(store);
  } finally {
    await store.close();
  }
}, POSTGRES);
