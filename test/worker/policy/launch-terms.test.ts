import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../shared/document/problem.ts";
import { launchTerms } from "../../../worker/policy/launch-terms.ts";
import { defaultPolicy, Policy } from "../../../worker/policy/policy.ts";
import { unenforced } from "../../../worker/policy/unenforced.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const OTHER = `sha256:${"b".repeat(64)}`;

const policy = Policy.parse({
  containers: [
    { images: ["acme/big", "acme/huge"], memory: "1Gi", pids: 200 },
    { images: ["acme/*"], pull: "never", memory: "64Mi", cpus: 0.25 },
  ],
  privileged: [`acme/tool@${DIGEST}`],
});

describe("the terms on which an image runs", () => {
  it.each([
    ["acme/huge:v1", { memoryBytes: 1_024 ** 3, pids: 200 }],
    ["acme/small", { pull: "never", memoryBytes: 64 * 1_024 ** 2, cpus: 0.25 }],
    ["other/small", {}],
    ["not an image", {}],
  ])("of %s are those of the first entry that fits: %j", (image, terms) => {
    expect(launchTerms(policy, image)).toEqual(terms);
  });

  it.each([
    [`acme/tool@${DIGEST}`, true],
    [`docker.io/acme/tool:v1@${DIGEST}`, true],
    [`acme/tool@${OTHER}`, undefined],
    ["acme/tool:v1", undefined],
    [`evil.example/acme/tool@${DIGEST}`, undefined],
  ])("of %s are privileged: %s", (image, privileged) => {
    expect(launchTerms(policy, image).privileged).toBe(privileged);
  });
});

describe("what a runtime cannot enforce", () => {
  it("is said of runtimes without containers, by rule", () => {
    expect(unenforced({ ...policy, digestOnly: true }, "process").map(formatProblem)).toEqual([
      "policy digestOnly: has no effect: the process runtime looks at the name of an image only and runs its own action of that name",
      "policy containers: has no effect: the process runtime pulls no images and sets no limits",
      "policy privileged: has no effect: the process runtime has no containers",
    ]);
  });

  it("is nothing with containers, or without such rules", () => {
    expect(unenforced(policy, "docker")).toEqual([]);
    expect(unenforced(defaultPolicy, "in-process")).toEqual([]);
  });
});
