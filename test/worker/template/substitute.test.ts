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

  const data = {
    key: "VALUE",
    empty: "",
    list: ["a", "b", "c"],
    hardware: {
      metadata: { name: "node-1" },
      spec: {
        arch: "amd64",
        disks: [{ device: "/dev/nvme0n1" }],
        lease: 86_400,
        large: 1e6,
        off: false,
        nil: null,
      },
    },
    Hardware: { Disks: ["/dev/nvme0n1", "/dev/sda"] },
  };

  // Made with Go 1.26 and Sprig 3.3, which Tinkerbell's controller uses.
  it.each([
    ["{{ .hardware.metadata.name | upper | quote }}", '"NODE-1"'],
    ["{{ index .Hardware.Disks 0 }}", "/dev/nvme0n1"],
    ["{{ formatPartition ( index .Hardware.Disks 0 ) 1 }}", "/dev/nvme0n1p1"],
    ["{{ formatPartition (index .Hardware.Disks 1) 2 }}", "/dev/sda2"],
    ['{{ formatPartition "/dev/disk/by-id/x" 3 }}', "/dev/disk/by-id/x-part3"],
    ['{{ netmaskToPrefixLength "255.255.254.0" }}', "23"],
    ['{{ if eq .hardware.spec.arch "amd64" }}x{{ else }}y{{ end }}', "x"],
    ['{{ if eq .hardware.spec.arch "arm64" }}x{{ else if .key }}z{{ else }}y{{ end }}', "z"],
    ["{{ if not .hardware.spec.off }}on{{ end }}", "on"],
    ["{{- /* a comment }} in braces */ -}}x", "x"],
    ["{{ range $i, $d := .Hardware.Disks }}{{ $i }}={{ $d }};{{ end }}", "0=/dev/nvme0n1;1=/dev/sda;"],
    ['{{ range .list }}{{ . }}{{ if eq . "b" }}{{ break }}{{ end }}{{ end }}', "ab"],
    ["{{ range $k, $v := .hardware.metadata }}{{ $k }}:{{ $v }}{{ end }}", "name:node-1"],
    ["{{ range until 3 }}{{ . }}{{ end }}{{ range list }}x{{ else }}none{{ end }}", "012none"],
    ["{{ with .hardware.spec }}{{ .arch }}{{ $.key }}{{ end }}", "amd64VALUE"],
    ['{{ $x := .key }}{{ if true }}{{ $x = "b" }}{{ end }}{{ $x }}', "b"],
    [
      "{{ .hardware.spec.lease }} {{ .hardware.spec.large }} {{ 1000000 }} {{ 1.5 }}",
      "86400 1e+06 1000000 1.5",
    ],
    ["{{ .list }} {{ .hardware.metadata }}", "[a b c] map[name:node-1]"],
    ["{{ .hardware.spec.nil }}", "<no value>"],
    ['{{ default "d" .empty }}{{ .empty | default "e" }}{{ coalesce .empty "f" }}', "def"],
    [
      "{{ add 1 2 3 }} {{ sub 5 7 }} {{ mul 2 3 }} {{ div 7 2 }} {{ mod 7 2 }} {{ max 1 9 3 }}",
      "6 -2 6 3 1 9",
    ],
    [
      '{{ join "," .list }} {{ first .list }} {{ last .list }} {{ len .list }} {{ has "b" .list }}',
      "a,b,c a c 3 true",
    ],
    [
      '{{ splitList ":" "a:b" | join "-" }} {{ replace "a" "o" "banana" }} {{ trimSuffix ".x" "a.x" }}',
      "a-b bonono a",
    ],
    ['{{ printf "%s-%03d %q %v" .key 7 "q" .list }}', 'VALUE-007 "q" [a b c]'],
    ['{{ dict "a" 1 "b" "c" | toJson }} {{ get (dict "a" "x") "a" }}', '{"a":1,"b":"c"} x'],
    ["{{ toYaml .hardware.metadata | nindent 2 }}", "\n  name: node-1"],
    ['{{ (fromYaml "a: [1, 2]").a }} {{ (fromJson "{\\"b\\": 1}").b }}', "[1 2] 1"],
    [
      '{{ ternary "y" "n" true }} {{ "v" | b64enc }} {{ .key | lower | trunc 3 }} {{ repeat 2 "ab" }}',
      "y dg== val abab",
    ],
    ["{{ and .key .empty }}|{{ or .empty .key }}|{{ and .empty .none }}", "|VALUE|"],
    ['{{ define "t" }}[{{ . }}]{{ end }}{{ template "t" .key }}', "[VALUE]"],
    ["{{ `raw }}` }}{{ '\\n' }}", "raw }}10"],
    ['{{ regexReplaceAll "[^a-z]" "a1b2" "" }} {{ regexMatch "^a" "abc" }}', "ab true"],
  ])("renders %s as the controller does", (source, text) => {
    const { problems, text: rendered } = substitute(source, data);

    expect(problems).toEqual([]);
    expect(rendered).toBe(text);
  });

  it.each([
    ["{{ range until 90000 }}{{ range until 90000 }}{{ end }}{{ end }}", "takes too long"],
    ['{{ repeat 99999999 "x" }}', "is too large"],
    ['{{ define "t" }}{{ template "t" }}{{ end }}{{ template "t" }}', "nested too deeply"],
    ["{{ if true }}".repeat(500) + "{{ end }}".repeat(500), "nested too deeply"],
    [`{{ ${"(".repeat(500)}1${")".repeat(500)} }}`, "nested too deeply"],
    ["{{ untilStep 0 900000000000 1 }}", "too long"],
    ['{{ env "HOME" }}', "the tink server has no function env: it offers only the hermetic ones of Sprig"],
    ["{{ now }}", "the tink server has no function now"],
    ["{{ uuidv4 }}", "the tink server has no function uuidv4"],
  ])("ends with a problem at %s", (source, problem) => {
    const { problems } = substitute(source, data);

    expect(problems.map(({ message }) => message).join("\n")).toContain(problem);
  });

  it("does not render what a value holds", () => {
    expect(substitute("{{ .key }}", { key: "{{ .key }}" }).text).toBe("{{ .key }}");
  });

  it.each([
    "{{-.key}}",
    "{{.key-}}",
    "{{ key }}",
    "{{}}",
    "{{ if .key }}",
    "{{ end }}",
    "{{ else }}",
    "{{ .key | }}",
    "{{ (.key }}",
    '{{ "text }}',
    "{{ break }}",
    "{{ $x }}",
    "{{ env .key }}",
    "{{ .key.inner }}",
    "{{ index .list 5 }}",
    "{{ eq .key 1 }}",
    '{{ template "none" }}',
    '{{ fail "no" }}',
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
    const { text, problems } = substitute("{{ .key }}".repeat(1_000), { key: "é".repeat(50_000) });

    const message = "the rendered template exceeds 262144 bytes";
    expect(problems).toEqual([{ offset: expect.any(Number), message }]);
    expect(text.length).toBeLessThan(200_000);
  });
});
