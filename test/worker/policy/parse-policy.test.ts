import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../shared/document/problem.ts";
import { parsePolicy } from "../../../worker/policy/parse-policy.ts";
import { defaultPolicy } from "../../../worker/policy/policy.ts";

function problems(text: string): readonly string[] {
  const parsed = parsePolicy("/etc/pbnj/policy.yaml", text);
  return parsed.ok ? [] : parsed.problems.map(formatProblem);
}

describe("a policy file", () => {
  it("that is empty is the default policy", () => {
    expect(parsePolicy("p.yaml", "# nothing\n")).toEqual({ ok: true, value: defaultPolicy, warnings: [] });
  });

  it("gives volumes read-only unless it says otherwise, and tidies their paths", () => {
    const parsed = parsePolicy("p.yaml", "volumes: [{path: /srv//images/}, {path: /, access: rw}]");

    expect(parsed.ok && parsed.value.volumes).toEqual([
      { path: "/srv/images", access: "ro" },
      { path: "/", access: "rw" },
    ]);
  });

  it("is told everything that is wrong with it, by line", () => {
    const text = `images: []
digestOnly: 3
volumes:
  - path: srv
  - path: /a/../b
    acess: rw
  - path: /c
    access: write
networkNamespaces: host
environmentDenied: [A-B]
privileged: true
`;

    expect(problems(text)).toEqual([
      "policy.yaml:1: images is empty",
      "policy.yaml:2: digestOnly must be true or false",
      "policy.yaml:4: volumes.0.path must be an absolute path",
      "policy.yaml:5: volumes.1.path must not contain ..",
      "policy.yaml:6: volumes.1.acess is not known, did you mean access?",
      "policy.yaml:8: volumes.2.access must be one of ro, rw",
      "policy.yaml:9: networkNamespaces must be a list, not text",
      "policy.yaml:10: environmentDenied.0 must be the name of a variable, in which * may stand for a part",
      "policy.yaml:11: privileged is not known: no action runs privileged",
    ]);
  });

  it.each(["registry.example/acme/?", "a b", ""])("refuses the image pattern %j", (pattern) => {
    expect(problems(`images: ["${pattern}"]`)).toEqual([
      "policy.yaml:1: images.0 must be an image name, in which * and ** may stand for parts, such as registry.example/acme/*",
    ]);
  });
});
