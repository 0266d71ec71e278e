import assert from "node:assert/strict";
import { hideValues } from "../../src/scheduler/trace/hidden_values.ts";
import { testRows } from "../support/rows.ts";

Deno.test("hideValues() hides the values of names of credentials, in every form", async (t) => {
  /** Without another text, each `Hunter2` is hidden. */
  const rows: Readonly<Record<string, string | readonly [text: string, shown: string]>> = {
    "a query": "location: /next?page=2&token=Hunter2&x=1",
    "a query with an escaped name": "location: /?to%6ben=Hunter2",
    "a query in HTML": "<a href='/?a=1&amp;token=Hunter2'>",
    "a fragment": "location: http://a/#access_token=Hunter2&b=1",
    "a token as user": "see http://Hunter2@a",
    "a Link": 'link: </?sig=Hunter2>; rel="next"',
    "a Refresh": "refresh: 0; url=/?password=Hunter2",
    "a form": "user=me&password=Hunter2",
    "arguments of a command": 'run "curl" "--token=Hunter2"',
    "a text": '{"password": "Hunter2", "a": 1}',
    "an escaped name": '{"pass\\u0077ord":"Hunter2"}',
    "JSON in JSON": '{"body":"{\\"token\\": \\"Hunter2\\"}"}',
    "a literal of a program": "{'secret': 'Hunter2', 'a': 1}",
    "XML": "<Password kind='x'>Hunter2</Password>",
    "YAML": "user: me\n  - password: Hunter2\nx: y",
    "a query with brackets": "location: /?user[password]=Hunter2",
    "a URL in a query": "location: /?next=%2F%3Fa%3D1%26token%3DHunter2%26b%3D2",
    "a text with a wide margin": `{"token":${" ".repeat(40)}"Hunter2"}`,
    "a field in JSON": '{"name":"password","value":"Hunter2"}',
    "a field in JSON in JSON with its value first":
      '"{\\"value\\":\\"Hunter2\\",\\"name\\":\\"auth_token\\"}"',
    "a header in JSON": '{"header":"authorization","content":"Hunter2"}',
    "pairs in JSON in JSON": '"[[\\"token\\",\\"Hunter2\\"]]"',
    "pairs of a program": "[('password', 'Hunter2')]",
    "a form in parts with more headers":
      'Content-Disposition: form-data; name="key"; filename="a"\nContent-Type: text/plain\n\nHunter2',
    "a form in parts with an encoded name":
      "Content-Disposition: form-data; name=\"k\"; name*=UTF-8''pass%77ord\r\n\r\nHunter2\r\n--b\r\n",
    "a form in parts with an encoded name first":
      "Content-Disposition: form-data; name*=utf-8'en'p%77d; name=k\n\nHunter2",
    "a form in parts with spaces in a name": 'Content-Disposition: form-data; name="my password"\n\nHunter2',
    "user information": ["location: https://user:Hunter2@a/b", "location: https://(hidden)@a/b"],
    "parameters of a header": ['x: a; token="Hunter2 b"; c=d', "x: a; token=(hidden); c=d"],
    "a text with quotes": ['{"password":"Hun\\"ter2","a":1}', '{"password":"(hidden)","a":1}'],
    "a text that is cut": ['{"password":"Hunter', '{"password":"(hidden)"'],
    "a number": ['{"token":12345678,"a":1}', '{"token":"(hidden)","a":1}'],
    "a list": ['{"password":["Hunter2","]"],"a":1}', '{"password":"(hidden)","a":1}'],
    "an object": ['{"session":{"a":{"b":"Hunter2}"}},"a":1}', '{"session":"(hidden)","a":1}'],
    "a name without quotes": ["{a: 'b', password: 'Hunter2'}", "{a: 'b', password: (hidden)}"],
    "a field of a form": [
      '<input type="hidden" name="csrf_token" value="Hunter2"><input name="a" value="b">',
      '<input type="hidden" name="csrf_token" value=(hidden)><input name="a" value="b">',
    ],
    "a field with its value first": [
      "<input type=hidden value=Hunter2 name=auth><input value='Hun>ter2' class=a name='token'><input value=b name=a>",
      "<input type=hidden value=(hidden) name=auth><input value=(hidden) class=a name='token'><input value=b name=a>",
    ],
    "an element of metadata": [
      '<meta name="csrf-token" content="Hunter2"><meta content="Hunter2" name="csrf-token">',
      '<meta name="csrf-token" content=(hidden)><meta content=(hidden) name="csrf-token">',
    ],
    "a field in JSON with its value first": [
      '{"value":"Hun}\\"ter2","a":1,"name":"auth_token"},{"value":"b","name":"a"}',
      '{"value":"(hidden)","a":1,"name":"auth_token"},{"value":"b","name":"a"}',
    ],
    "a field in JSON with another name in front": [
      '{"key":"a","name":"token","Value":"Hunter2"}',
      '{"key":"(hidden)","name":"token","Value":"(hidden)"}',
    ],
    "a field in JSON with several values": [
      '[{"name":"Authorization","values":["Hunter2", "Hunter2"]},{"values":["Hunter2"],"name":"Cookie"}]',
      '[{"name":"Authorization","values":"(hidden)"},{"values":"(hidden)","name":"Cookie"}]',
    ],
    "a key in JSON": ['{"key":"secret","val":"Hunter2"}', '{"key":"(hidden)","val":"(hidden)"}'],
    "a list in JSON": [
      '[["token",null,"Hunter2"],["session", {"a":1}, ["Hunter2"]],["a",null,"b"]]',
      '[["token","(hidden)"],["session", "(hidden)"],["a",null,"b"]]',
    ],
    "pairs in JSON": [
      '[["user","me"],["password", "Hun\\"ter2"],["token",123]]',
      '[["user","me"],["password", "(hidden)"],["token","(hidden)"]]',
    ],
    "a form in parts": [
      '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nHunter2\r\n2\r\n--b--\r\nrest',
      '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n(hidden)\r\n--b--\r\nrest',
    ],
    "XML with CDATA": ["<token><![CDATA[Hunter2<]]></token>", "<token>(hidden)</token>"],
    "a name of something else": [
      'page=2 {"count": 7} x: y http://a/b?c=d <b>text</b> ratio = 5',
      'page=2 {"count": 7} x: y http://a/b?c=d <b>text</b> ratio = 5',
    ],
  };
  await testRows(t, rows, (row) => {
    const [text, shown] = typeof row === "string" ? [row, row.replaceAll("Hunter2", "(hidden)")] : row;
    assert.equal(hideValues(text), shown);
    assert.equal(hideValues(shown), shown, "hiding twice changes nothing");
  });
});
