import { describe, expect, it } from "vitest";
import { EditError, editFingerprints } from "../../../cli/inventory/pin/edit-fingerprints.ts";

const FINGERPRINT = "ab".repeat(32);
const OTHER = "CD:".repeat(31).concat("CD");
const pin = (machine: string, verifies = true) => ({ machine, fingerprint: FINGERPRINT, verifies });

describe("fingerprints in an inventory", () => {
  it.each([
    [
      "after the host",
      "  - host: b\n    name: a",
      `  - host: b\n    tls: {fingerprint: "${FINGERPRINT}"}\n    name: a`,
    ],
    [
      "behind a comment",
      "  -   name: a   # first\n      host: b  # second\n\n  # last",
      `  -   name: a   # first\n      host: b  # second\n      tls: {fingerprint: "${FINGERPRINT}"}\n\n  # last`,
    ],
    [
      "in a map on one line",
      "  - {name: a,  host: b}",
      `  - {name: a,  host: b, tls: {fingerprint: "${FINGERPRINT}"}}`,
    ],
    [
      "in its tls",
      "  - name: a\n    host: b\n    tls:\n        caFile: x # y",
      `  - name: a\n    host: b\n    tls:\n        fingerprint: "${FINGERPRINT}"\n        caFile: x # y`,
    ],
    [
      "in its tls on one line",
      "  - {name: a, host: b, tls: { caFile: x }}",
      `  - {name: a, host: b, tls: { fingerprint: "${FINGERPRINT}", caFile: x }}`,
    ],
    [
      "in an empty tls",
      "  - {name: a, host: b, tls: {}}",
      `  - {name: a, host: b, tls: {fingerprint: "${FINGERPRINT}"}}`,
    ],
    [
      "in a tls without a value",
      "  - name: a\n    host: b\n    tls:\n",
      `  - name: a\n    host: b\n    tls: {fingerprint: "${FINGERPRINT}"}\n`,
    ],
    [
      "in place of another",
      `  - name: a\n    host: b\n    tls: {fingerprint: '${OTHER}'} # old`,
      `  - name: a\n    host: b\n    tls: {fingerprint: "${FINGERPRINT}"} # old`,
    ],
  ])("are written %s, and nothing else changes", (_, before, after) => {
    const around = (machine: string) =>
      `# a comment\ndefaults:    {}\nmachines:\n${machine}\n  - name:   z\n    host: 'y'\n`;

    expect(editFingerprints(around(before), [pin("a")])).toBe(around(after));
  });

  it("are written for many machines, with the file's line ends and without one at its end", () => {
    const before = "machines:\r\n- name: a\r\n  host: b\r\n- name: c\r\n  host: d";

    expect(editFingerprints(before, [pin("a"), pin("c")])).toBe(
      `machines:\r\n- name: a\r\n  host: b\r\n  tls: {fingerprint: "${FINGERPRINT}"}\r\n- name: c\r\n  host: d` +
        `\r\n  tls: {fingerprint: "${FINGERPRINT}"}`,
    );
  });

  it("turn verification on", () => {
    const before = "machines:\n  - {name: a, host: b, tls: {verify: false}}\n  - {name: c, host: d}\n";

    expect(editFingerprints(before, [pin("a", false), pin("c", false)])).toBe(
      `machines:\n  - {name: a, host: b, tls: {fingerprint: "${FINGERPRINT}", verify: true}}\n` +
        `  - {name: c, host: d, tls: {fingerprint: "${FINGERPRINT}", verify: true}}\n`,
    );
  });

  it.each([
    [
      "an alias for tls",
      "machines:\n  - {name: a, host: b, tls: &t {caFile: x}}\n  - {name: c, host: d, tls: *t}\n",
      "c",
    ],
    [
      "a tls that another machine uses",
      "machines:\n  - {name: a, host: b, tls: &t {caFile: x}}\n  - {name: c, host: d, tls: *t}\n",
      "a",
    ],
  ])("are not written into %s", (_, text, machine) => {
    expect(() => editFingerprints(text, [pin(machine)])).toThrow(EditError);
  });
});
