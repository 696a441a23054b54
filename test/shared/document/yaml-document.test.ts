import { describe, expect, it } from "vitest";
import { parseYaml } from "../../../shared/document/yaml-document.ts";

function problems(text: string): readonly string[] {
  const parsed = parseYaml("/etc/some/file.yaml", text);
  return parsed.ok ? [] : parsed.problems.map(({ source, message }) => `${source}: ${message}`);
}

describe("a YAML document", () => {
  const text = "first: 1\nlist:\n  - name: a\n    inner: {deep: x}\n  - b\n";

  it("is a value whose parts know their lines", () => {
    const parsed = parseYaml("/etc/some/file.yaml", text);

    if (!parsed.ok) throw new Error("it was refused");
    const { value, sourceOf } = parsed.value;
    expect(value).toEqual({ first: 1, list: [{ name: "a", inner: { deep: "x" } }, "b"] });
    expect(sourceOf([])).toBe("file.yaml:1");
    expect(sourceOf(["list"])).toBe("file.yaml:2");
    expect(sourceOf(["list", 0, "inner", "deep"])).toBe("file.yaml:4");
    expect(sourceOf(["list", 1])).toBe("file.yaml:5");
  });

  it("places what is absent where it would belong", () => {
    const parsed = parseYaml("file.yaml", text);

    expect(parsed.ok && parsed.value.sourceOf(["list", 0, "absent"])).toBe("file.yaml:3");
    expect(parsed.ok && parsed.value.sourceOf(["absent", "below"])).toBe("file.yaml:1");
  });

  it("may be JSON, and reads on and off as text", () => {
    const parsed = parseYaml("file.json", '{"a": [on, off, "x", true]}');

    expect(parsed.ok && parsed.value.value).toEqual({ a: ["on", "off", "x", true] });
  });

  it.each([
    ["a: 1\nb: 2\na: 3\n", ["file.yaml:3: map keys must be unique"]],
    ["a: {b: 1, b: 2}\nc: [{d: 1}, {d: 2}]", ["file.yaml:1: map keys must be unique"]],
    ["a: 1\n? [canary]\n: b\n", ["file.yaml:2: a key must be text"]],
    [`a: [${"&a 1, *a, ".repeat(1_001)}]`, ["file.yaml: has more than 1000 aliases"]],
    ["a: !canary x", ["file.yaml:1: unresolved tag: put text that begins with ! in quotes"]],
    ["a: *canary", ["file.yaml: unresolved alias: put text that begins with * in quotes"]],
    ["%canary x\n---\n", ["file.yaml:1: unknown directive: put text that begins with % in quotes"]],
    ['a: "\\qcanary"', ["file.yaml:1: invalid escape sequence: put text with backslashes in single quotes"]],
    [
      "a: |canary\n",
      ["file.yaml:1: a block of text has more than | or > in its first line: put it in quotes"],
    ],
    ["a: [1,\nb: 2", [expect.stringMatching(/^file\.yaml:\d: /), expect.stringMatching(/^file\.yaml:\d: /)]],
    ["a: 1\n---\nb: 2\n", [expect.stringMatching(/^file\.yaml:2: source contains multiple documents/)]],
  ])("is refused with lines as %j", (broken, expected) => {
    expect(problems(broken)).toEqual(expect.arrayContaining(expected));
  });

  it("finds the lines of ten thousand wrong keys in the time of one walk", () => {
    const parsed = parseYaml("file.yaml", Array.from({ length: 10_000 }, (_, at) => `k${at}: 1`).join("\n"));

    if (!parsed.ok) throw new Error("it was refused");
    const { sourceOf } = parsed.value;
    expect(Array.from({ length: 10_000 }, (_, at) => sourceOf([`k${at}`]))).toEqual(
      Array.from({ length: 10_000 }, (_, at) => `file.yaml:${at + 1}`),
    );
  });

  it("does not grow without end by aliases", () => {
    const levels = Array.from({ length: 9 }, (_, level) => {
      const below = level === 0 ? "x" : `*l${level - 1}`;
      return `l${level}: &l${level} [${Array(9).fill(below).join(", ")}]`;
    });

    expect(problems(levels.join("\n"))).toEqual([expect.stringContaining("alias")]);
  });

  it.each(["[", "- ", "{a: "])("is refused when it nests %j without end", (opening) => {
    expect(problems(opening.repeat(30_000))).not.toEqual([]);
  });
});
