import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  childOf,
  childrenOf,
  escapeXml,
  findElement,
  parseXml,
  type XmlElement,
} from "../../../../../shared/bmc/providers/amt/xml.ts";
import { BmcError } from "../../../../../shared/contract/bmc-error.ts";

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

test("elements are known by their names without prefix, with text and attributes", () => {
  const root = parseXml(
    `\uFEFF<?xml version="1.0" encoding="UTF-8"?>\n<!-- a --><a:Envelope xmlns:a="urn:a">\n <b>1 &lt; 2 &#x41;&#66;</b><b c:Name='x "y"'/><![CDATA[<raw>]]></a:Envelope>`,
  );

  expect(root.name).toBe("Envelope");
  expect(root.attributes.size).toBe(0);
  expect(root.text).toBe("<raw>");
  expect(childrenOf(root, "b").map(({ text }) => text)).toEqual(["1 < 2 AB", ""]);
  expect(childrenOf(root, "b")[1]?.attributes.get("Name")).toBe('x "y"');
  expect(childOf(root, "c")).toBeUndefined();
});

test("an element is found at any depth", () => {
  const root = parseXml("<a><b><c>1</c></b><c>2</c></a>");

  expect(findElement(root, "c")?.text).toBe("1");
  expect(findElement(root, "d")).toBeUndefined();
});

test.each([
  ["nothing", "", /no element/],
  ["text alone", "text", /outside of the root/],
  ["an element that does not end", "<a>", /before the root element's/],
  ["the end of another element", "<a></b>", /unexpected end of b/],
  ["the end with another prefix", "<x:a></y:a>", /unexpected end of a/],
  ["an end alone", "</a>", /unexpected end/],
  ["two roots", "<a/><b/>", /more than one root/],
  ["text after the root", "<a/>text", /outside of the root/],
  ["an attribute twice", "<a b='1' b='2'/>", /attribute b twice/],
  ["an attribute without quotes", "<a b=1/>", /invalid markup/],
  ["an entity of HTML", "<a>&nbsp;</a>", /entity/],
  ["the character zero", "<a>&#0;</a>", /entity/],
  ["half a surrogate pair", "<a>&#xD800;</a>", /entity/],
  ["a lone ampersand", "<a>& b</a>", /entity/],
  ["a comment that does not end", "<a><!-- open</a>", /invalid markup/],
  ["an instruction", "<a><?php x ?></a>", /invalid markup/],
  ["a document type", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', /invalid markup/],
  ["too many levels", "<a>".repeat(40) + "</a>".repeat(40), /more elements than any answer has/],
  ["too many elements", `<a>${"<b/>".repeat(10_001)}</a>`, /more elements than any answer has/],
])("%s is refused", (_, text, reason) => {
  const error = thrownBy(() => parseXml(text));

  expect(error).toMatchObject({ class: "protocol", message: expect.stringMatching(reason) });
});

/** Trees of elements and the text that writes them. */
const tree: fc.Arbitrary<{ readonly text: string; readonly depth: number; readonly leaves: string[] }> =
  fc.letrec<{ node: { text: string; depth: number; leaves: string[] } }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.string().map((content) => ({
        text: `<n:leaf>${escapeXml(content)}</n:leaf>`,
        depth: 1,
        leaves: [content.trim()],
      })),
      fc.array(tie("node"), { maxLength: 4 }).map((children) => ({
        text: `<node>${children.map(({ text }) => text).join("\n")}</node>`,
        depth: 1 + Math.max(0, ...children.map(({ depth }) => depth)),
        leaves: children.flatMap(({ leaves }) => leaves),
      })),
    ),
  })).node;

const leavesOf = (element: XmlElement): string[] =>
  element.name === "leaf" ? [element.text] : element.children.flatMap(leavesOf);

describe("for any input", () => {
  test("what is written well is read back whole", () => {
    fc.assert(
      fc.property(tree, ({ text, leaves }) => {
        expect(leavesOf(parseXml(text))).toEqual(leaves);
      }),
    );
  });

  test.each([
    ["an unfinished comment", `<a><!--${"-".repeat(400_000)}`],
    ["an unfinished attribute", `<a ${"b".repeat(400_000)}`],
    ["spaces in a tag", `<a ${" ".repeat(400_000)}`],
    ["a name of many parts", `<a ${"b".repeat(200_000)}:c:d="1"/>`],
    ["many attributes", `<a ${"b='1' ".repeat(60_000)}`],
    ["many ampersands", `<a>${"&".repeat(400_000)}</a>`],
  ])("%s of half a megabyte is refused without much work", (_, text) => {
    const started = process.cpuUsage();

    expect(() => parseXml(text)).toThrowError(BmcError);

    // Anything that grows with the square would take minutes of this process, however busy the machine is.
    expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
  });
});
