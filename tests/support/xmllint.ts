import { runChild, tool } from "../../testing/tools.ts";

/** Returns the errors of Debian's `xmllint` for an XML text; none if it is well-formed. */
export async function xmllint(xml: string): Promise<string> {
  const { code, stderr } = await runChild(tool("xmllint"), ["--noout", "-"], { stdin: xml });
  return code === 0 ? stderr : `exit code ${code}: ${stderr}`;
}
