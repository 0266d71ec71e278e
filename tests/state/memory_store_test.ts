import { createMemoryStore } from "../support/memory_store.ts";
import { testStore } from "./conformance.ts";

testStore("createMemoryStore()", (use) => use(createMemoryStore()));
