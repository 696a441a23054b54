import { describe, expect, it } from "vitest";
import { catalogue, loadAction } from "../../../actions/catalogue.ts";
import type { Labels } from "../../../worker/document/labels.ts";
import { decide, decideFile, decideMachine, refusals } from "../../../worker/policy/decide.ts";
import { cleanPath } from "../../../worker/policy/path.ts";
import { EVERY_IMAGE, Policy } from "../../../worker/policy/policy.ts";
import { circumstances } from "../../support/circumstances.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const ACTION = {
  workflowId: "default/w",
  image: "registry.example/acme/power-on:v1",
  command: [],
  volumes: [],
  environment: {},
};

type Asked = Parameters<typeof decide>[2];

const TRUSTING = Policy.parse({ trustedImages: EVERY_IMAGE });

function ask(policy: object, action: Partial<Asked>): string {
  const decision = decide(
    Policy.parse({ images: EVERY_IMAGE, trustedImages: EVERY_IMAGE, ...policy }),
    circumstances,
    { ...ACTION, ...action },
  );
  return decision.allowed ? "allowed" : decision.reason;
}

describe("a policy that trusts every image", () => {
  it("every image may run", () => {
    for (const image of ["alpine", "localhost:5000/a/b", `registry.example/a/b@${DIGEST}`]) {
      expect(decide(TRUSTING, circumstances, { ...ACTION, image })).toEqual({ allowed: true });
    }
  });

  it("nothing of the host is shared", () => {
    expect(ask({}, { volumes: ["/etc:/host"] })).toBe("policy volumes: /etc:/host is not allowed");
    expect(ask({}, { networkNamespace: "host" })).toBe("policy networkNamespaces: host is not allowed");
    expect(ask({}, { pidNamespace: "host" })).toBe("policy pidNamespaces: host is not allowed");
    expect(decide(TRUSTING, circumstances, { ...ACTION, pidNamespace: "host" })).toMatchObject({
      rule: "pidNamespaces",
    });
  });

  it("what is not an image reference does not run", () => {
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
    volumes: [
      { path: "/srv/images/" },
      { path: "/data", access: "rw" },
      { path: "/run" },
      { path: "/each/*", access: "rw" },
    ],
    volumeTargets: ["/data", "/i", "/s"],
  };

  it.each([
    "/srv/images:/data/images:ro",
    "/srv/images/sub:/i:ro",
    "/srv//images/./sub/:/i/./sub/:ro",
    "/srv/images/sub:/srv/images/sub:ro",
    "/data:/data",
    "/data:/i/data:rw",
    "/data:/data:ro",
    "/each/node-1:/data",
    "/each/node-1/:/each/node-1",
  ])("allows %s", (volume) => {
    expect(ask(policy, { volumes: [volume] })).toBe("allowed");
  });

  it.each([
    ["/srv/images2:/i:ro", "is not allowed"],
    ["/srv:/i:ro", "is not allowed"],
    ["/each:/i", "is not allowed"],
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

  it.each(["/data/x", "/data/x/y", "/data/./x", "//data//x/", "/each/node-1/x"])(
    "refuses the source %s, which an action may have replaced with a link",
    (source) => {
      for (const options of ["", ":ro"]) {
        expect(ask(policy, { volumes: [`${source}:/i${options}`] })).toMatch(
          /is not allowed: actions may write in \/(data|each\/node-1), so that a part of the path may be a link/,
        );
      }
    },
  );

  it("refuses such a source also where only another namespace may write", () => {
    const shared = [{ path: "/d", access: "rw", namespaces: ["team-a"] }, { path: "/d/sub" }];

    expect(ask({ volumes: shared }, { volumes: ["/d/sub:/data:ro"] })).toMatch(/actions may write in \/d,/);
  });

  it.each([
    ...[
      "/",
      "/action",
      "/action/",
      "/action/x",
      "//action",
      "/./action",
      "/program",
      "/worker",
      "/node_modules",
    ],
    ...[
      "/bin",
      "/dev/shm",
      "/etc",
      "/etc/ssl/certs",
      "/lib/x86_64-linux-gnu",
      "/lib64",
      "/nodejs/bin",
      "/proc",
    ],
    ...["/root", "/run", "/run/secrets", "/sbin", "/sys", "/usr/local/bin", "/var/run/secrets"],
  ])("refuses the target %s, whatever prefix and source are", (target) => {
    const wide = { volumes: [{ path: "/d", access: "rw" }, { path: cleanPath(target) }] };

    expect(ask(wide, { volumes: [`/d:${target}`] })).toMatch(/the target .* is not allowed: \S+ is reserved/);
    expect(ask(wide, { volumes: [`${target}:${target}:ro`] })).toMatch(/is not allowed/);
  });

  it.each(["/opt/tool", "/var/lib", "/database", "/home/app"])(
    "refuses the target %s outside of the prefix",
    (target) => {
      expect(ask({ volumes: [{ path: "/d", access: "rw" }] }, { volumes: [`/d:${target}`] })).toBe(
        `policy volumes: the target ${target} is not allowed: mount below /data, or at the same path as on the host`,
      );
    },
  );

  it.each([
    ["/data:/data", "/each/node-1:/data/x"],
    ["/data:/data", "/each/node-1:/data/./x/y:ro"],
    ["/data:/data", "/each/node-1:/data"],
    ["/srv/images:/i:ro", "/data:/i/sub"],
  ])("refuses a target within that of another volume, where a link may be: %s and %s", (outer, inner) => {
    const expected = `${inner} is not allowed: its target is within that of ${outer}`;

    expect(ask(policy, { volumes: [outer, inner] })).toContain(expected);
    expect(ask(policy, { volumes: [inner, outer] })).toContain("its target is within that of");
    expect(ask(policy, { volumes: [outer, "/each/node-1:/data2", "/each/node-1:/s"] })).not.toContain(
      "within",
    );
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

describe("arguments of trusted images", () => {
  const trusting = (trustedImages: readonly string[]) => ({ images: ["**"], trustedImages });
  const OURS = "registry.example/pbnj-worker";

  it.each(["worker", "base"])("do not matter to %s, which runs anything: no wildcard trusts it", (name) => {
    const image = `${OURS}/${name}:v1`;
    const refused = `policy trustedImages: ${image} is not an action: images named ${name} must be listed without a wildcard`;

    for (const pattern of [`${OURS}/*`, "registry.example/**", `${OURS}/*:v1`]) {
      expect(ask(trusting([pattern]), { image, command: [] })).toBe(refused);
      expect(ask(trusting([pattern]), { image, command: ["-e", "steal()"] })).toBe(refused);
    }
    expect(ask(trusting([`registry.example/acme/${name}`]), { image: `registry.example/acme/${name}` })).toBe(
      "allowed",
    );
  });

  it("come from a template only if the policy names the image", () => {
    const image = `${OURS}/tool:v1`;
    const command = ["-e", "steal()"];

    expect(ask(trusting([`${OURS}/*`]), { image, command })).toMatch(/takes no arguments from a template/);
    expect(ask(trusting([`${OURS}/t*`]), { image, command })).toMatch(/takes no arguments from a template/);
    expect(ask(trusting([`${OURS}/*`]), { image, command: [] })).toBe("allowed");
    expect(ask(trusting([`${OURS}/*`]), { image, command: ["--help"] })).toBe("allowed");
    expect(ask(trusting([`${OURS}/*`, `${OURS}/tool:v1`]), { image, command })).toBe("allowed");
    expect(ask(trusting([]), { image, command })).toBe("allowed");
    expect(ask(trusting(["**"]), { image, command })).toBe("allowed");
  });
});

describe("the other rules", () => {
  it("allow exactly the namespaces that are listed", () => {
    const policy = { networkNamespaces: ["host"], pidNamespaces: ["container:x"] };

    expect(ask(policy, { networkNamespace: "host", pidNamespace: "container:x" })).toBe("allowed");
    expect(ask(policy, { networkNamespace: "container:x" })).toContain("networkNamespaces");
    expect(ask(policy, { pidNamespace: "host" })).toContain("pidNamespaces");
  });

  it("allow the volumes of a namespace to its workflows alone", async () => {
    const policy = Policy.parse({
      trustedImages: EVERY_IMAGE,
      volumes: [
        { path: "/data", access: "rw" },
        { path: "/a", access: "rw" },
        { path: "/team", access: "rw", namespaces: ["team-a-*"] },
      ],
    });
    const volumes = ["/team:/data"];
    const file = { name: "RESULT_FILE", path: "/team/x" };

    for (const [workflowId, allowed] of [
      ["team-a-1/w", true],
      ["team-a/w", false],
      ["team-b/team-a-1/w", false],
      ["team-a-1", false],
    ] as const) {
      expect(decide(policy, circumstances, { ...ACTION, workflowId, volumes }).allowed, workflowId).toBe(
        allowed,
      );
      expect((await decideFile(policy, { workflowId }, file)).allowed, workflowId).toBe(allowed);
      expect(decide(policy, circumstances, { ...ACTION, workflowId, volumes: ["/a:/a"] }).allowed).toBe(true);
    }
  });
});

describe("connections that actions bring themselves", () => {
  const own = { environment: { BMC_HOST: "192.0.2.1" } };
  const tenants = [{ namespaces: ["default"], machines: ["*"] }];

  it("are allowed, unless the policy denies them or has tenants", () => {
    const denied = "policy ownConnections: BMC_HOST must not be set: name a machine with MACHINE";

    expect(ask({}, own)).toBe("allowed");
    expect(ask({ ownConnections: "deny" }, own)).toBe(denied);
    expect(ask({ tenants }, own)).toBe(denied);
    expect(ask({ tenants, ownConnections: "allow" }, own)).toBe("allowed");
  });

  it.each([
    [{ environment: { RPC_URL: "http://x" } }],
    [{ environment: { IPMI_PORT: "6230" } }],
    [{ command: ["--bmc-host", "192.0.2.1"] }],
    [{ command: ["--bmc-host=192.0.2.1"] }],
    [{ command: ["--mode", "hard", "--homeassistant-url", "http://x"] }],
    [{ command: ["--bmc-host="] }],
    [{ command: ["--machine", "--bmc-host=192.0.2.1"] }],
    [{ command: ["--mode", "hard", "--bmc-host", "192.0.2.1"], environment: { "--bmc-host": "" } }],
  ])("are seen wherever they are: %j", (action) => {
    const policy = Policy.parse({ trustedImages: EVERY_IMAGE, ownConnections: "deny" });
    const found = refusals(policy, circumstances, { ...ACTION, ...action });

    expect(found.map(({ reason }) => reason)).toContainEqual(
      expect.stringMatching(/^policy ownConnections: [A-Z_]+ must not be set/),
    );
  });

  it("are none where the variable is empty, or about something else", () => {
    const action = {
      environment: { BMC_HOST: "", MODE: "soft", MACHINE: "node-1" },
      command: ["--mode=soft"],
    };

    expect(ask({ ownConnections: "deny" }, action)).toBe("allowed");
  });
});

describe("the timeout of an action", () => {
  const tenants = [{ namespaces: ["default"], machines: ["*"] }];
  const day = 24 * 60 * 60_000;

  it.each([
    [{}, 100 * day, "allowed"],
    [{ tenants }, day, "allowed"],
    [{ tenants }, 2 * day, "policy maxTimeout: the timeout of 172800 s is more than 86400 s"],
    [{ tenants, maxTimeout: "72h" }, 2 * day, "allowed"],
    [{ maxTimeout: "10m" }, 601_000, "policy maxTimeout: the timeout of 601 s is more than 600 s"],
    [{ maxTimeout: "10m" }, 0, "allowed"],
  ])("with %j is limited: %d ms", (policy, timeoutMs, verdict) => {
    expect(ask(policy, { timeoutMs })).toBe(verdict);
  });
});

describe("RETRIES", () => {
  const flag = (...command: string[]) => ({ command });
  const variable = (RETRIES: string) => ({ environment: { RETRIES } });

  it.each([
    [{}, variable("3"), "allowed"],
    [{}, variable(""), "allowed"],
    [{}, variable("4"), "policy maxRetries: RETRIES is 4, more than 3"],
    [{}, variable(" 04 "), "policy maxRetries: RETRIES is 4, more than 3"],
    [{ maxRetries: 10 }, variable("10"), "allowed"],
    [{ maxRetries: 0 }, variable("0"), "allowed"],
    [{ maxRetries: 0 }, variable("1"), "policy maxRetries: RETRIES is 1, more than 0"],
    [{}, variable("-1"), "policy maxRetries: RETRIES is not a whole number"],
    [{}, variable("1e1"), "policy maxRetries: RETRIES is not a whole number"],
    [{}, flag("--retries=4"), "policy maxRetries: --retries is 4, more than 3"],
    [{}, flag("--retries"), "policy maxRetries: --retries is not a whole number"],
    // Like the action: the last flag counts, and takes precedence over a variable.
    [{}, flag("--retries", "9", "--retries", "2"), "allowed"],
    [{}, { ...variable("2"), ...flag("--retries", "9") }, "policy maxRetries: --retries is 9, more than 3"],
  ])("with %j is limited for an idempotent action: %j", (policy, asked, verdict) => {
    expect(ask(policy, asked)).toBe(verdict);
  });

  it("is denied for every action that is not idempotent, whatever the limit", async () => {
    for (const name of catalogue) {
      const image = `registry.example/acme/${name}:v1`;
      const loaded = await loadAction(name);
      const once = ask({ maxRetries: 10, eraseDrives: ["*"] }, { image, ...variable("1") });
      const never = ask({ maxRetries: 10, eraseDrives: ["*"] }, { image, ...variable("0") });

      expect(once, name).toBe(
        loaded?.idempotent
          ? "allowed"
          : `policy maxRetries: ${name} is not idempotent, so it is never repeated: remove RETRIES or set it to 0`,
      );
      expect(never, name).toBe("allowed");
    }
  });

  it("is a variable of its own for the images of others", () => {
    const image = "registry.example/acme/report:v1";
    const environment = [{ images: [image], names: ["RETRIES"] }];

    expect(ask({ environment }, { image, ...variable("100") })).toBe("allowed");
    expect(ask({}, { image, ...variable("1") })).toBe(
      "policy environment: RETRIES is not allowed for this image",
    );
  });
});

describe("erase-drives", () => {
  const image = "registry.example/acme/erase-drives:v1";
  const eraseDrives = ["rack-1-*"];

  it("runs only if the policy names machines, and with none of its own", () => {
    const own = { image, environment: { BMC_HOST: "192.0.2.1" } };

    expect(ask({}, { image })).toBe(
      "policy eraseDrives: erase-drives needs the names or labels of the machines whose drives may be erased",
    );
    expect(ask({ eraseDrives }, { image })).toBe("allowed");
    expect(ask({ eraseDrives }, own)).toBe(
      "policy eraseDrives: erase-drives needs a machine's name, not BMC_HOST",
    );
    expect(ask({ eraseDrives }, { image, command: ["--bmc-host", "192.0.2.1"] })).toContain("not BMC_HOST");
    expect(ask({ eraseDrives: [] }, {})).toBe("allowed");
  });

  it("erases drives only of these machines", () => {
    const policy = Policy.parse({ eraseDrives });
    const on = (machine: string, name = image) =>
      decideMachine(policy, { ...ACTION, agentId: "pbnj", image: name }, { name: machine });

    expect(on("rack-1-7")).toEqual({ allowed: true });
    expect(on("rack-2-7")).toEqual({
      allowed: false,
      rule: "eraseDrives",
      reason: "policy eraseDrives: the drives of machine rack-2-7 must not be erased",
    });
    expect(on("rack-2-7", ACTION.image)).toEqual({ allowed: true });
  });
});

describe("tenants", () => {
  const policy = Policy.parse({
    trustedImages: EVERY_IMAGE,
    tenants: [
      { namespaces: ["ops"], machines: ["*"] },
      { namespaces: ["team-a", "team-a-*"], machines: ["rack-1-*", "node-7"], images: ["**/power-*"] },
      { namespaces: ["team-a"], machines: ["lab.*"] },
      { namespaces: ["team-c"], machines: [{ selector: "rack=r12,role!=spare" }] },
    ],
  });
  const power = "registry.example/acme/power-on:v1";
  const users = "registry.example/acme/create-user:v1";

  function use(namespace: string, machine: string, image = power, labels?: Labels): string {
    const action = { ...ACTION, workflowId: `${namespace}/w`, agentId: "pbnj", image };
    const first = decide(policy, circumstances, action);
    const decision = first.allowed ? decideMachine(policy, action, { name: machine, labels }) : first;
    return decision.allowed ? "allowed" : decision.reason;
  }

  it.each([
    ["ops", "node-7", users, "allowed"],
    ["team-a", "node-7", power, "allowed"],
    ["team-a", "rack-1-2", power, "allowed"],
    ["team-a-dev", "rack-1-2", power, "allowed"],
    ["team-a", "lab.x", users, "allowed"],
    ["team-a", "node-8", power, "namespace team-a may not use machine node-8"],
    ["team-a", "node-77", power, "namespace team-a may not use machine node-77"],
    ["team-a", "rack-10-2", power, "namespace team-a may not use machine rack-10-2"],
    ["team-a-dev", "lab.x", power, "namespace team-a-dev may not use machine lab.x"],
    ["team-a", "node-7", users, `namespace team-a may not run the image ${users} on machine node-7`],
    ["team-a-dev", "node-7", users, `namespace team-a-dev may not run the image ${users}`],
    ["team-b", "node-7", power, "namespace team-b does not belong to a tenant"],
    ["team-ab", "node-7", power, "namespace team-ab does not belong to a tenant"],
    ["", "node-7", power, "the workflow has no namespace"],
  ])("%s and %s with %s: %s", (namespace, machine, image, verdict) => {
    expect(use(namespace, machine, image)).toBe(
      verdict === "allowed" ? verdict : `policy tenants: ${verdict}`,
    );
  });

  it.each([
    [{ rack: "r12" }, "allowed"],
    [{ rack: "r12", role: "worker" }, "allowed"],
    [{ rack: "r12", role: "spare" }, "policy tenants: namespace team-c may not use machine node-7"],
    [{ rack: "r13" }, "policy tenants: namespace team-c may not use machine node-7"],
    [undefined, "policy tenants: namespace team-c may not use machine node-7"],
  ])("choose machines by their labels: %j is %s", (labels, verdict) => {
    expect(use("team-c", "node-7", power, labels)).toBe(verdict);
  });

  it("never come into the reach of a workflow whose ID has no namespace", () => {
    const action = { ...ACTION, agentId: "pbnj" };
    const open = Policy.parse({
      trustedImages: EVERY_IMAGE,
      tenants: [{ namespaces: ["*"], machines: ["*"] }],
    });

    for (const workflowId of ["w", "/w", ""]) {
      expect(decide(open, circumstances, { ...action, workflowId })).toMatchObject({
        allowed: false,
        rule: "tenants",
      });
      expect(decideMachine(open, { ...action, workflowId }, { name: "node-1" }).allowed).toBe(false);
    }
    expect(decide(open, circumstances, { ...action, workflowId: "any/w" })).toEqual({ allowed: true });
  });
});

describe("agent IDs", () => {
  const policy = Policy.parse({
    trustedImages: EVERY_IMAGE,
    agents: [
      { agentIds: ["pbnj-lab"], machines: ["lab-*"] },
      { agentIds: ["edge/*", "pbnj-node-*"], machines: ["node-*"] },
    ],
  });

  it.each([
    ["pbnj-lab", "lab-1", true],
    ["pbnj-lab", "node-1", false],
    ["pbnj-node-1", "node-1", true],
    ["edge/a/b", "node-1", true],
    ["pbnj", "node-1", false],
  ])("%s and machine %s: %s", (agentId, machine, allowed) => {
    const decision = decideMachine(policy, { ...ACTION, agentId }, { name: machine });

    expect(decision).toEqual(
      allowed
        ? { allowed: true }
        : {
            allowed: false,
            rule: "agents",
            reason: `policy agents: agent ID ${agentId} may not act on machine ${machine}`,
          },
    );
  });

  it("act on every machine without such a rule", () => {
    expect(decideMachine(TRUSTING, { ...ACTION, agentId: "any" }, { name: "node-1" })).toEqual({
      allowed: true,
    });
  });
});
