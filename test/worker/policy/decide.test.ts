import { describe, expect, it } from "vitest";
import { decide } from "../../../worker/policy/decide.ts";
import { defaultPolicy, Policy } from "../../../worker/policy/policy.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const ACTION = { image: "registry.example/acme/power-on:v1", volumes: [], environment: {} };

type Asked = Parameters<typeof decide>[1];

function ask(policy: object, action: Partial<Asked>): string {
  const decision = decide(Policy.parse(policy), { ...ACTION, ...action });
  return decision.allowed ? "allowed" : decision.reason;
}

describe("without a policy", () => {
  it("every image may run", () => {
    for (const image of ["alpine", "localhost:5000/a/b", `registry.example/a/b@${DIGEST}`]) {
      expect(decide(defaultPolicy, { ...ACTION, image })).toEqual({ allowed: true });
    }
  });

  it("nothing of the host is shared", () => {
    expect(ask({}, { volumes: ["/etc:/host"] })).toBe("policy volumes: /etc:/host is not allowed");
    expect(ask({}, { networkNamespace: "host" })).toBe("policy networkNamespaces: host is not allowed");
    expect(ask({}, { pidNamespace: "host" })).toBe("policy pidNamespaces: host is not allowed");
    expect(decide(defaultPolicy, { ...ACTION, pidNamespace: "host" })).toMatchObject({
      rule: "pidNamespaces",
    });
  });

  it("what is no image reference does not run", () => {
    expect(ask({}, { image: "UPPER/case name" })).toBe(
      'policy images: "UPPER/case name" is not an image reference',
    );
  });
});

describe("the images rule", () => {
  it.each([
    ["registry.example/acme/*", "registry.example/acme/power-on", true],
    ["registry.example/acme/*", "registry.example/acme/power-on:v1", true],
    ["registry.example/acme/*", `registry.example/acme/power-on@${DIGEST}`, true],
    ["registry.example/acme/*", "registry.example/acme/team/power-on", false],
    ["registry.example/acme/**", "registry.example/acme/team/power-on", true],
    ["registry.example/acme/*", "registry.example/acme-evil/power-on", false],
    ["registry.example/acme/*", "evil.example/registry.example/acme/power-on", false],
    ["registry.example/acme/power-*", "registry.example/acme/power-on", true],
    ["registry.example/acme/power-*", "registry.example/acme/set-boot", false],
    ["registry.example/acme/power.on", "registry.example/acme/powerxon", false],
    ["*/acme/*", "registry.example/acme/power-on", true],
    ["*", "alpine", false],
    ["**", "alpine", true],
    ["alpine", "alpine", true],
    ["alpine", "docker.io/library/alpine:3", true],
    ["docker.io/library/*", "alpine", true],
    ["docker.io/*", "alpine", true],
    ["docker.io/*", "acme/power-on", false],
    ["acme/*", "acme/power-on", true],
    ["acme/*", "registry.example/acme/power-on", false],
    ["docker.io/**", "acme/power-on", true],
    ["localhost:5000/*", "localhost:5000/power-on", true],
    ["localhost:*/*", "localhost:5000/power-on", true],
    ["REGISTRY.example/acme/*", "registry.example/acme/power-on", true],
    ["registry.example/acme/power-on:v1", "registry.example/acme/power-on:v1", true],
    ["registry.example/acme/power-on:v1", "registry.example/acme/power-on:v2", false],
    ["registry.example/acme/power-on:v*", "registry.example/acme/power-on:v2", true],
    ["registry.example/acme/power-on:latest", "registry.example/acme/power-on", true],
    ["registry.example/acme/power-on:v1", "registry.example/acme/power-on", false],
    // The digest alone decides what runs, so the tag beside it proves nothing.
    ["registry.example/acme/power-on:v1", `registry.example/acme/power-on:v1@${DIGEST}`, false],
    [`registry.example/acme/power-on@${DIGEST}`, `registry.example/acme/power-on@${DIGEST}`, true],
    [
      `registry.example/acme/power-on@${DIGEST}`,
      `registry.example/acme/power-on@sha256:${"b".repeat(64)}`,
      false,
    ],
    [`registry.example/acme/power-on@${DIGEST}`, "registry.example/acme/power-on", false],
  ])("%s and the image %s: %s", (pattern, image, allowed) => {
    expect(ask({ images: [pattern] }, { image })).toBe(
      allowed ? "allowed" : `policy images: ${image} is not allowed`,
    );
  });

  it("lets any of several patterns allow an image", () => {
    expect(ask({ images: ["a/*", "registry.example/acme/*"] }, {})).toBe("allowed");
  });

  it("can demand a digest", () => {
    const policy = { digestOnly: true };

    expect(ask(policy, { image: `alpine@${DIGEST}` })).toBe("allowed");
    expect(ask(policy, { image: "alpine:3" })).toBe(
      "policy digestOnly: alpine:3 has no digest: name the image as alpine:3@sha256:…",
    );
  });
});

describe("the volumes rule", () => {
  const policy = {
    volumes: [{ path: "/srv/images/" }, { path: "/data", access: "rw" }, { path: "/run" }],
  };

  it.each([
    "/srv/images:/images:ro",
    "/srv/images/sub:/images:ro",
    "/srv//images/./sub/:/images:ro",
    "/data:/data",
    "/data/x:/data:rw",
    "/data:/data:ro",
  ])("allows %s", (volume) => {
    expect(ask(policy, { volumes: [volume] })).toBe("allowed");
  });

  it.each([
    ["/srv/images2:/i:ro", "is not allowed"],
    ["/srv:/i:ro", "is not allowed"],
    ["/srv/images:/i", "is not allowed: the path may only be mounted read-only, add :ro"],
    ["/srv/images:/i:rw", "is not allowed: the path may only be mounted read-only, add :ro"],
    ["/srv/images:/i:ro,rw", "is not allowed: the path may only be mounted read-only, add :ro"],
    ["/data/../etc:/i", "is not allowed: a path must not contain .."],
    ["/data:/i/../..", "is not allowed: a path must not contain .."],
    ["named:/i", "is not allowed: only absolute host paths can be mounted"],
    ["./data:/i", "is not allowed: only absolute host paths can be mounted"],
    ["/data:i", "is not allowed: the target must be an absolute path"],
    ["/data:/i:rshared", "is not allowed: the option rshared is none of ro, rw"],
    ["/data:/i:rw,Z", "is not allowed: the option Z is none of ro, rw"],
    ["/data", "is not source:target or source:target:options"],
    ["/data:/i:ro:x", "is not source:target or source:target:options"],
    [
      "/run/docker.sock:/s:ro",
      "is not allowed: it holds the container engine's socket /run/docker.sock, which the policy does not list",
    ],
    [
      "/var/run:/s:ro",
      "is not allowed: it holds the container engine's socket /run/docker.sock, which the policy does not list",
    ],
    [
      "/data/elsewhere/docker.sock:/s:ro",
      "is not allowed: it holds the container engine's socket /data/elsewhere/docker.sock, which the policy does not list",
    ],
  ])("refuses %s", (volume, reason) => {
    expect(ask(policy, { volumes: ["/data:/data", volume] })).toBe(`policy volumes: ${volume} ${reason}`);
  });

  it("allows the engine's socket only where it is itself listed", () => {
    const volume = "/var/run/docker.sock:/var/run/docker.sock";

    expect(ask({ volumes: [{ path: "/", access: "rw" }] }, { volumes: [volume] })).toContain(
      "is not allowed",
    );
    expect(ask({ volumes: [{ path: "/", access: "rw" }] }, { volumes: ["/:/host"] })).toContain(
      "engine's socket",
    );
    expect(ask({ volumes: [{ path: "/var/run/docker.sock", access: "rw" }] }, { volumes: [volume] })).toBe(
      "allowed",
    );
  });
});

describe("the other rules", () => {
  it("allow exactly the namespaces that are listed", () => {
    const policy = { networkNamespaces: ["host"], pidNamespaces: ["container:x"] };

    expect(ask(policy, { networkNamespace: "host", pidNamespace: "container:x" })).toBe("allowed");
    expect(ask(policy, { networkNamespace: "container:x" })).toContain("networkNamespaces");
    expect(ask(policy, { pidNamespace: "host" })).toContain("pidNamespaces");
  });

  it("refuse variables by name and by pattern", () => {
    const policy = { environmentDenied: ["HTTP_PROXY", "LD_*"] };

    expect(ask(policy, { environment: { LD_PRELOAD: "canary" } })).toBe(
      "policy environmentDenied: LD_PRELOAD must not be set",
    );
    expect(ask(policy, { environment: { HTTP_PROXY: "" } })).toContain("HTTP_PROXY");
    expect(ask(policy, { environment: { HTTP_PROXY_2: "x", OLD_LD_PATH: "x" } })).toBe("allowed");
  });
});
