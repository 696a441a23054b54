import { expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { DATA_FORMATS, formatData, formatEntry } from "../../shared/data-format.ts";

const UNSAFE = "a\u001b[31m: \u009b\nb";
const shared = { cause: UNSAFE };
const value = { machine: "node-1", none: null, list: [shared, shared] };

it.each(DATA_FORMATS)("%s is printable, and reads as the value that was written", async (format) => {
  const text = await formatData(format, value);

  for (const unsafe of [String.fromCharCode(0x1b), String.fromCharCode(0x9b)]) expect(text).not.toContain(unsafe);
  expect(text).not.toMatch(/[&*]/);
  expect(text.endsWith("\n")).toBe(true);
  expect(format === "json" ? JSON.parse(text) : parse(text)).toEqual(value);
});

it("entries are lines of JSON, or YAML documents", async () => {
  const lines = (await formatEntry("json", value)) + (await formatEntry("json", value));
  expect(
    lines
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([value, value]);

  const documents = (await formatEntry("yaml", value)) + (await formatEntry("yaml", value));
  expect([...parseAllDocuments(documents)].map((one) => one.toJS())).toEqual([value, value]);
});
