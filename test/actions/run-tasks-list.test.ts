import { describe, expect, it } from "vitest";
import { parseTasks } from "../../actions/run-tasks/parse-tasks.ts";
import { formatProblem } from "../../shared/document/problem.ts";

const ISO = "https://images.example/rescue.iso";

function tasks(text: string) {
  const parsed = parseTasks("TASKS", text);
  if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join("\n"));
  return parsed.value;
}

function problems(text: string): readonly string[] {
  const parsed = parseTasks("TASKS", text);
  return parsed.ok ? [] : parsed.problems.map(formatProblem);
}

describe("a list of tasks", () => {
  it("is read with every kind of task", () => {
    const text = `
- powerAction: off
- powerAction: "status"
- bootDevice: {device: disk, persistent: true, efiBoot: true}
- bootDevice: {device: uefi-http}
- bootDevice: {device: uefi_http}
- oneTimeBootDeviceAction: {device: [sd_card]}
- bootDevice: {device: none, efiBoot: false}
- oneTimeBootDeviceAction: {device: [cdrom, pxe], efiBoot: true}
- virtualMediaAction: {mediaURL: "${ISO}", kind: CD}
- virtualMediaAction: {mediaURL: "", kind: CD}
- virtualMediaAction: {kind: CD}
`;

    expect(tasks(text)).toEqual([
      { kind: "power", verb: "off" },
      { kind: "status" },
      { kind: "boot", request: { device: "disk", persistent: true, mode: "uefi" } },
      { kind: "boot", request: { device: "uefi-http", persistent: false, mode: "keep" } },
      { kind: "boot", request: { device: "uefi-http", persistent: false, mode: "keep" } },
      { kind: "boot", request: { device: "sd-card", persistent: false, mode: "keep" } },
      { kind: "boot", request: { device: "none", persistent: false, mode: "legacy" } },
      { kind: "boot", request: { device: "cdrom", persistent: false, mode: "uefi" } },
      { kind: "media", url: ISO },
      { kind: "media", url: undefined },
      { kind: "media", url: undefined },
    ]);
  });

  it("is the same in JSON, and as tasks or spec.tasks of a document", () => {
    const list = [{ powerAction: "on" }];
    const job = { apiVersion: "bmc.tinkerbell.org/v1alpha1", kind: "Job", spec: { tasks: list }, status: {} };

    for (const written of [list, { tasks: list }, { spec: { tasks: list } }, job]) {
      expect(tasks(JSON.stringify(written))).toEqual([{ kind: "power", verb: "on" }]);
    }
  });

  it("reports everything that is wrong with it, by line and task", () => {
    const text = `- powerAction: Off
- powerAction: true
- powerAction: "on"
  bootDevice:
    device: pxe
- bootDevice:
    device: pexe
    persistant: true
    efiBoot: "yes"
- oneTimeBootDeviceAction:
    device: []
- oneTimeBootDeviceAction:
    device: [pxe, dsk]
- virtualMediaAction:
    mediaURL: http://user:hunter2@host/x.iso
    kind: Floppy
- reboot
- powerAction:
`;

    const reported = problems(text);

    expect(reported).toEqual([
      "TASKS:1: task 1: powerAction must be one of on, off, soft, soft-then-hard, cycle, reset, status, did you mean off?",
      "TASKS:2: task 2: powerAction is true or false: put on and off in quotes",
      "TASKS:3: task 3 names powerAction and bootDevice: a task does one thing",
      expect.stringMatching(
        /^TASKS:7: task 4: bootDevice\.device must be one of none, pxe, .*, did you mean pxe\?$/,
      ),
      "TASKS:8: task 4: bootDevice.persistant is not known, did you mean persistent?",
      "TASKS:9: task 4: bootDevice.efiBoot must be true or false, not text",
      "TASKS:11: task 5: oneTimeBootDeviceAction.device is empty",
      expect.stringMatching(
        /^TASKS:13: task 6: oneTimeBootDeviceAction\.device\[1\] must be one of .* mean disk\?$/,
      ),
      "TASKS:15: task 7: virtualMediaAction.mediaURL is not an http, https, nfs, cifs or smb URL of an image, host:/path or //host/share/path, without credentials",
      "TASKS:16: task 7: virtualMediaAction.kind must be CD",
      "TASKS:17: task 8 must be a map of keys, not text",
      "TASKS:18: task 9: powerAction is missing",
    ]);
    expect(reported.join()).not.toContain("hunter2");
  });

  it.each([
    ["[]", ["TASKS:1: the list of tasks is empty"]],
    ["tasks: []", ["TASKS:1: tasks is empty"]],
    ["taks: [{powerAction: on}]", ["TASKS:1: taks is not known, did you mean tasks?"]],
    ["just text", ["TASKS: must be a list of tasks, or a document whose tasks or spec.tasks is such a list"]],
    ["# nothing", ["TASKS: must be a list of tasks, or a document whose tasks or spec.tasks is such a list"]],
    ["- powerAction: on\n  powerAction: off", ["TASKS:2: map keys must be unique"]],
    ["- powerAction: !secret on", ["TASKS:1: unresolved tag: put text that begins with ! in quotes"]],
    [
      "- {powerAction: on}\n---\n- {powerAction: off}",
      [expect.stringMatching(/^TASKS:2: source contains multiple documents/)],
    ],
    ["tasks: [{powerAction: on}]\nspec: {tasks: [{powerAction: off}]}", ["TASKS:1: tasks is not known"]],
    [
      "apiVersion: bmc.tinkerbell.org/v1alpha2\nkind: Job\nspec:\n  operations:\n    - powerAction: off",
      [
        "TASKS:1: apiVersion must be bmc.tinkerbell.org/v1alpha1",
        "TASKS:3: spec.tasks is missing",
        "TASKS:4: spec.operations belongs to Rufio's v1alpha2: name the list tasks, with the fields of v1alpha1",
      ],
    ],
    [
      "kind: Machine\napiVersion: bmc.tinkerbell.org/v1alpha1",
      ["TASKS:1: kind must be Job", "TASKS:1: spec is missing"],
    ],
    [
      JSON.stringify(Array(101).fill({ powerAction: "status" })),
      ["TASKS:1: the list of tasks has more than 100 tasks"],
    ],
    [`# ${"x".repeat(65_536)}`, ["TASKS: is longer than 65536 characters"]],
  ])("is refused as %j", (text, expected) => {
    expect(problems(text)).toEqual(expected);
  });

  it("may repeat itself by aliases, and not without end", () => {
    const once = "- &off {powerAction: off}\n";

    expect(tasks(`${once}- *off\n`)).toHaveLength(2);
    expect(problems(`${once}${"- *off\n".repeat(101)}`)).toEqual([expect.stringContaining("alias")]);
  });

  it("that is nested beyond all sense is a problem like any other", () => {
    expect(problems("[".repeat(30_000))).not.toEqual([]);
    expect(problems("- ".repeat(20_000))).not.toEqual([]);
  });
});
