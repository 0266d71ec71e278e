import { runChild, tool } from "../../testing/tools.ts";

/** What Debian's `xmllint` has to say against an XML text; nothing where it is well-formed. */
export async function xmllint(xml: string): Promise<string> {
  const { code, stderr } = await runChild(tool("xmllint"), ["--noout", "-"], { stdin: xml });
  return code === 0 ? stderr : `exit code ${code}: ${stderr}`;
}
