/** Secrets, hostile texts and missing files. The cases mostly wait for timers, so they all run at the same time. */
import "./hostile_texts_cases.ts";
import "./lacks_cases.ts";
import "./secrets_cases.ts";
import "./unreadable_files_cases.ts";
