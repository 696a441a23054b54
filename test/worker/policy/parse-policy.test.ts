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

  it("lists each folder of a folder with /* at the end, and no other wildcard", () => {
    const parsed = parsePolicy("p.yaml", "volumes: [{path: /srv//each/*}]");

    expect(parsed.ok && parsed.value.volumes).toEqual([{ path: "/srv/each/*", access: "ro" }]);
    for (const path of ["/srv/*/x", "/srv/a*", "/srv/**", "/*x"]) {
      expect(problems(`volumes: [{path: "${path}"}]`)).toEqual([
        "policy.yaml:1: volumes.0.path may contain * only as its last part",
      ]);
    }
  });

  it("names only folders for data as places of volumes", () => {
    expect(problems("volumeTargets: [/data, /srv/out]")).toEqual([]);
    for (const path of ["/", "/usr", "/usr/share", "/etc/x", "/run", "/var/run/x", "/action", "/proc/1"]) {
      expect(problems(`volumeTargets: [${path}]`)).toEqual([
        expect.stringMatching(/^policy.yaml:1: volumeTargets.0 is reserved for images and the system/),
      ]);
    }
  });

  it("warns of a volume below a folder that actions may write, which is never mounted", () => {
    const parsed = parsePolicy("p.yaml", "volumes:\n  - {path: /d, access: rw}\n  - {path: /d/sub}\n");

    expect(parsed.ok && parsed.warnings.map(formatProblem)).toEqual([
      "p.yaml:3: volumes.1 is never mounted: actions may write in /d, and so replace /d/sub with a link; list /d/* to mount the folders in it",
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
environmentDenied: [A]
environment: [{images: [a], names: ["*", A-B, "*_X", A*B, A_*]}]
trustedImages: ["a b"]
privileged: true
`;

    expect(problems(text)).toEqual([
      "policy.yaml:1: images is empty",
      "policy.yaml:2: digestOnly must be true, false or trusted",
      "policy.yaml:4: volumes.0.path must be an absolute path",
      "policy.yaml:5: volumes.1.path must not contain ..",
      "policy.yaml:6: volumes.1.acess is not known, did you mean access?",
      "policy.yaml:8: volumes.2.access must be one of ro, rw",
      "policy.yaml:9: networkNamespaces must be a list, not text",
      "policy.yaml:10: environmentDenied is not known: actions accept only their inputs; write the other variables that images may be given below environment",
      ...[0, 1, 2, 3].map(
        (index) =>
          `policy.yaml:11: environment.0.names.${index} must be the name of a variable, or the beginning of one followed by *, such as ACME_*`,
      ),
      "policy.yaml:12: trustedImages.0 must be an image name, in which * and ** match parts, such as registry.example/acme/*",
      "policy.yaml:13: privileged must be a list of images, each with its digest: nothing else runs privileged",
    ]);
  });

  it("is told of machines, tenants and containers in the same way", () => {
    const text = `ownConnections: denny
tenants:
  - namespace: [team-a]
    machines: []
  - namespaces: [Team A]
    machines: [node_1]
    images: [a b]
agents:
  - agentIds: ["a b"]
    machine: [node-1]
agnets: []
containers:
  - images: ["**"]
  - {images: [a], memory: 1k, cpus: 0, pids: many, pull: allways}
  - memory: 64Mi
privileged:
  - registry.example/acme/tool:v1
  - registry.example/acme/*
limits: {}
volumes:
  - {path: /a, namespaces: team-a}
`;

    expect(problems(text)).toEqual([
      "policy.yaml:1: ownConnections must be one of allow, deny, did you mean deny?",
      "policy.yaml:3: tenants.0.namespace is not known, did you mean namespaces?",
      "policy.yaml:4: tenants.0.machines is empty",
      "policy.yaml:5: tenants.1.namespaces.0 must be the name of a namespace, in which * matches a part, such as team-a-*",
      "policy.yaml:6: tenants.1.machines.0 must be a machine's name, in which * matches a part, such as rack-1-*",
      "policy.yaml:7: tenants.1.images.0 must be an image name, in which * and ** match parts, such as registry.example/acme/*",
      "policy.yaml:9: agents.0.agentIds.0 must be an agent ID, in which * matches a part, such as pbnj-*",
      "policy.yaml:10: agents.0.machine is not known, did you mean machines?",
      "policy.yaml:11: agnets is not known, did you mean agents?",
      "policy.yaml:13: containers.0 sets nothing for these images: add pull, memory, cpus or pids",
      "policy.yaml:14: containers.1.pull must be one of always, if-missing, never, did you mean always?",
      "policy.yaml:14: containers.1.memory must be a size such as 256Mi or 1Gi",
      "policy.yaml:14: containers.1.cpus must be a number from 0.01 to 1024",
      "policy.yaml:14: containers.1.pids must be a whole number from 1 to 4194304",
      "policy.yaml:15: containers.2.images is missing",
      "policy.yaml:17: privileged.0 must be one image with its digest, such as registry.example/acme/tool@sha256:…",
      "policy.yaml:18: privileged.1 must be one image with its digest, such as registry.example/acme/tool@sha256:…",
      "policy.yaml:19: limits is not known: limits belong to images, write them below containers",
      "policy.yaml:21: volumes.0.namespaces must be a list, not text",
    ]);
  });

  it.each([
    [
      "trustedImages: ['**']\ntenants: [{namespaces: [a], machines: ['*']}]",
      [
        "policy.yaml:2: tenants.0 may run any image, and trustedImages gives every image its machine's credentials: name the trusted ones",
      ],
    ],
    ["trustedImages: [a/*]\ntenants: [{namespaces: [a], machines: ['*']}]", []],
    ["tenants: [{namespaces: [a], machines: ['*'], images: [a/*]}]", []],
    [
      `images: [a/*]\ntenants: [{namespaces: [a], machines: ['*']}]\nprivileged: ["a/b@sha256:${"0".repeat(64)}"]`,
      ["policy.yaml:3: privileged gives every tenant who may run such an image the worker's host"],
    ],
  ])("with a way around its tenants is taken with a warning: %j", (text, expected) => {
    const parsed = parsePolicy("policy.yaml", text);

    expect(parsed.ok && parsed.warnings.map(formatProblem)).toEqual(expected);
  });

  it.each(["registry.example/acme/?", "a b", ""])("refuses the image pattern %j", (pattern) => {
    expect(problems(`images: ["${pattern}"]`)).toEqual([
      "policy.yaml:1: images.0 must be an image name, in which * and ** match parts, such as registry.example/acme/*",
    ]);
  });
});
