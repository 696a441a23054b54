import { describe, expect, it } from "vitest";
import { type ParsedTemplate, parseTemplate } from "../../../worker/template/parse-template.ts";

const SOUND = `version: "0.1"
name: power
id: 9f2a
global_timeout: 1800
tasks:
  - name: reboot
    worker: pbnj-{{ .machine }}
    volumes:
      - /dev:/dev
    environment:
      MACHINE: "{{ .machine }}"
      RETRIES: 3
      VERBOSE: true
      RATIO: 1.10
      EMPTY:
    actions:
      - name: power-off
        image: registry.example/acme/power:v1
        timeout: 120
        command: ["off", "--mode", "soft"]
        on-timeout: [echo, late]
        on-failure: [echo, failed]
        volumes: [/tmp:/tmp:ro]
        environment: { RETRIES: "5" }
        pid: host
        namespaces: { network: host, pid: private }
`;

function problemsOf(parsed: ParsedTemplate): readonly string[] {
  if (parsed.ok) throw new Error("expected problems");
  return parsed.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

/** Tinkerbell's controller refuses both templates: its renderer knows no YAML. */
describe("what the controller renders before it reads YAML", () => {
  it("includes comments", () => {
    const parsed = parseTemplate(`# of {{ .key }}\n${SOUND}`, { machine: "node-01" });

    expect(problemsOf(parsed)).toEqual([
      "1:6 no value for key: add --map key=<value> (comments are rendered too)",
    ]);
  });

  it("has the quotes of `quote` within those of the template", () => {
    const parsed = parseTemplate(SOUND.replace('"{{ .machine }}"', '"{{ .machine | quote }}"'), {
      machine: "node-01",
    });

    expect(problemsOf(parsed)).toEqual([
      expect.stringMatching(/^11:\d+ quote adds quotes: remove those around \{\{ \}\}$/),
    ]);
  });

  it("has no hint about a comment or quotes for other problems", () => {
    const text = SOUND.replace("pbnj-{{ .machine }}", '"#{{ .key }}" # {{ .machine | quote }}');

    expect(problemsOf(parseTemplate(text, { machine: "node-01" }))).toEqual([
      "7:15 no value for key: add --map key=<value>",
    ]);
  });
});

function task(fields: string): string {
  return `version: "0.1"\nname: t\ntasks:\n  - name: one\n    worker: w\n    ${fields}`;
}

function action(fields: string): string {
  return task(`actions:\n      - name: a\n        image: i\n        ${fields}`);
}

describe("parseTemplate", () => {
  it("reads every field of a sound template", () => {
    const parsed = parseTemplate(SOUND, { machine: "rack1" });

    expect(parsed).toEqual({
      ok: true,
      keys: new Set(["machine"]),
      template: {
        version: "0.1",
        name: "power",
        id: "9f2a",
        globalTimeoutSeconds: 1_800,
        tasks: [
          {
            name: "reboot",
            worker: "pbnj-rack1",
            volumes: ["/dev:/dev"],
            environment: { MACHINE: "rack1", RETRIES: "3", VERBOSE: "true", RATIO: "1.10", EMPTY: "" },
            actions: [
              {
                name: "power-off",
                image: "registry.example/acme/power:v1",
                timeoutSeconds: 120,
                command: ["off", "--mode", "soft"],
                onTimeout: ["echo", "late"],
                onFailure: ["echo", "failed"],
                volumes: ["/tmp:/tmp:ro"],
                environment: { RETRIES: "5" },
                pid: "host",
                namespaces: { network: "host", pid: "private" },
              },
            ],
          },
        ],
      },
    });
  });

  it("names a hundred problems, and how many more there are", () => {
    const parsed = parseTemplate(`a: [${"{{ .b }},".repeat(150)}]`, {});

    if (parsed.ok) throw new Error("it was accepted");
    expect(parsed.problems).toHaveLength(100);
    expect(parsed.problems.at(-1)?.message).toBe(
      "no value for b: add --map b=<value> (and 50 more problems)",
    );
  });

  it("follows aliases", () => {
    const text = action(
      'environment: &common { A: "1" }\n      - { name: b, image: i, environment: *common }',
    );

    const parsed = parseTemplate(text, {});

    if (!parsed.ok) throw new Error(problemsOf(parsed).join("\n"));
    expect(parsed.template.tasks[0]?.actions.map(({ environment }) => environment)).toEqual([
      { A: "1" },
      { A: "1" },
    ]);
  });

  it("says every broken rule at once, in the order of the source", () => {
    const text = `name: ${"n".repeat(200)}
global_timeout: -1
colour: red
tasks:
  - name: same
    worker: ""
    actions:
      - name: twice
        image: Not An Image
        timeout: "60"
      - name: twice
        image: fine:v1
        comand: [x]
        command: x
  - name: same
    worker: w
    environment: [A=1]
    actions: []
`;

    expect(problemsOf(parseTemplate(text, {}))).toEqual([
      "1:1 the template has no version",
      "1:7 name is longer than 199 bytes",
      "2:17 global_timeout must be a whole number of seconds, 0 or more",
      '3:1 the template has no field "colour"',
      "6:13 worker is empty",
      '9:16 "Not An Image" is not an image reference',
      "10:18 timeout must be a whole number of seconds, 0 or more",
      "11:15 two actions of a task are named twice",
      '13:9 the action has no field "comand"',
      "14:18 command must be a list",
      "15:11 two tasks are named same",
      "17:18 environment must be a map",
      "18:14 the task has no actions: the workflow would never get past it",
    ]);
  });

  it("counts the length of a name in bytes", () => {
    const fits = parseTemplate(action("").replace("name: t", `name: ${"n".repeat(199)}`), {});
    const tooLong = parseTemplate(action("").replace("name: t", `name: ${"ü".repeat(100)}`), {});

    expect(fits.ok).toBe(true);
    expect(problemsOf(tooLong)).toEqual(["2:7 name is longer than 199 bytes"]);
  });

  it.each<readonly [text: string, problem: string]>([
    ["", "1:1 the template must be a map"],
    ["- a", "1:1 the template must be a map"],
    ['version: "0.1"\nname: t', "1:1 the template has no tasks"],
    ['version: "0.1"\nname: t\ntasks: []', "3:8 the template has no tasks"],
    ['version: "0.1"\nname: t\ntasks: [1]', "3:9 the task must be a map"],
    [task("actions: {}"), "6:14 actions must be a list"],
    [action("timeout: 1.5"), "9:18 timeout must be a whole number of seconds, 0 or more"],
    [action("timeout: 9007199254740993"), "9:18 timeout must be a whole number of seconds, 0 or more"],
    [action("namespaces: { net: host }"), '9:23 namespaces has no field "net"'],
    [action("environment: { A=B: x }"), '9:22 "A=B" is not a variable name'],
    [action("environment: { A: [x] }"), "9:27 A must be text"],
    [action("command: [{ a: b }]"), "9:19 each item of command must be text"],
    [action("name: b"), "9:9 this key is there twice"],
    [action("command: !secret [x]"), "9:18 Unresolved tag: !secret"],
    [`${action("")}\n---\n${action("")}`, "10:1 a template is one YAML document"],
  ])("refuses %j with %j", (text, problem) => {
    expect(problemsOf(parseTemplate(text, {}))).toEqual([problem]);
  });

  it("maps positions behind substituted values back to the source", () => {
    const text = action("").replace(
      "image: i",
      'pid: "{{ .long }}{{- .empty -}}  "\n        image: {{ .image }}',
    );
    const values = { long: "x".repeat(500), empty: "", image: "No Image" };

    expect(problemsOf(parseTemplate(text, values))).toEqual(['9:16 "No Image" is not an image reference']);
  });

  it("substitutes before it reads YAML, as the controller does", () => {
    const parsed = parseTemplate(action("{{ .more }}"), { more: "timeout: 7" });

    expect(parsed.ok && parsed.template.tasks[0]?.actions[0]?.timeoutSeconds).toBe(7);
  });

  it("says where a template cannot be rendered", () => {
    const text =
      "a: {{ .known }}\nb: {{ .missing }} {{ if .known }}\nc: {{ .Hardware.Disks | first }}\nd: {{/* x */}}{{ .known";

    expect(problemsOf(parseTemplate(text, { known: "1" }))).toEqual(
      expect.arrayContaining([
        "2:4 no value for missing: add --map missing=<value>",
        "2:19 an {{ end }} is missing",
        "3:4 no value for Hardware: add --hardware <file>",
        "4:15 {{ without }}",
      ]),
    );
  });

  it("takes no value from an object's prototype", () => {
    expect(problemsOf(parseTemplate("{{ .constructor }}", {}))).toEqual([
      "1:1 no value for constructor: add --map constructor=<value>",
    ]);
  });

  it.each([
    ["nested flow", "[".repeat(200_000)],
    ["nested lists", "- ".repeat(100_000)],
    [
      "aliases of aliases",
      `version: v\nname: n\ntasks:\n${"  - &t { name: x, actions: [*a] }\n".repeat(10)}`,
    ],
    ["a thousand aliases", `a: &a {name: x}\ntasks: [${"*a,".repeat(1_100)}]`],
    ["an alias of itself", "tasks: &t [*t]"],
    ["too much text", "#".repeat(2_000_000)],
  ])("survives %s", (_, text) => {
    const parsed = parseTemplate(text, {});

    expect(parsed.ok).toBe(false);
  });
});
