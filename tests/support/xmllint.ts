import { runDebianProgram } from "./debian_program.ts";

/** What Debian's `xmllint` has to say against an XML text; nothing where it is well-formed. */
export async function xmllint(xml: string): Promise<string> {
  const program = { name: "xmllint", package: "libxml2-utils" };
  const { code, stderr } = await runDebianProgram(program, ["--noout", "-"], { stdin: xml });
  return code === 0 ? stderr : `exit code ${code}: ${stderr}`;
}
