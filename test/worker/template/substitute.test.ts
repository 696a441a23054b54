import { describe, expect, it } from "vitest";
import { substitute } from "../../../worker/template/substitute.ts";

describe("substitute", () => {
  it.each([
    ["a {{ .key }} b", "a VALUE b"],
    ["{{.key}}{{.key}}", "VALUEVALUE"],
    ["a\n  {{- .key }} b", "aVALUE b"],
    ["a {{ .key -}}\n\t b", "a VALUEb"],
    ["a {{- .key -}} b {{- .key }}", "aVALUEbVALUE"],
    ["{a: {b: {{ .key }}}}", "{a: {b: VALUE}}"],
    ["a }} b", "a }} b"],
    ["{ { .key } }", "{ { .key } }"],
  ])("renders %j as Go does", (source, text) => {
    expect(substitute(source, { key: "VALUE" })).toMatchObject({ text, problems: [] });
  });

  it("does not render what a value holds", () => {
    expect(substitute("{{ .key }}", { key: "{{ .key }}" }).text).toBe("{{ .key }}");
  });

  it.each([
    "{{-.key}}",
    "{{.key-}}",
    "{{ key }}",
    "{{ . }}",
    "{{}}",
    '{{ "text" }}',
    "{{ .a.b }}",
    "{{ .1a }}",
  ])("refuses %s", (source) => {
    expect(substitute(source, { key: "VALUE", a: "b" }).problems).toHaveLength(1);
  });

  it("knows where every character comes from", () => {
    const { text, sourceOffset } = substitute("ab {{- .key -}} cd", { key: "VALUE" });

    expect(text).toBe("abVALUEcd");
    expect([...text].map((_, offset) => sourceOffset(offset))).toEqual([0, 1, 3, 3, 3, 3, 3, 16, 17]);
  });

  it("refuses a template that its values make too large, before it is", () => {
    const { text, problems } = substitute("{{ .key }}".repeat(1_000), { key: "x".repeat(100_000) });

    expect(problems).toEqual([{ offset: expect.any(Number), message: "the rendered template is too large" }]);
    expect(text.length).toBeLessThan(2_000_000);
  });
});
