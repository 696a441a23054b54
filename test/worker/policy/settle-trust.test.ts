import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../worker/main/load-config.ts";

const START = { grpcServer: "tink", agentId: ["a"] };

interface Given {
  readonly policy?: string;
  readonly flags?: Readonly<Record<string, unknown>>;
}

/** What `start` and `run` make of a policy; they must agree. */
function load({ policy, flags = {} }: Given) {
  const readFile = () => policy ?? "";
  const given = { ...(policy === undefined ? {} : { policy: "/etc/policy.yaml" }), ...flags };
  const started = loadConfig({ flags: { ...START, ...given }, env: {}, readFile });
  const run = loadConfig({ flags: given, env: {}, readFile }, "run");
  expect(run.ok).toBe(started.ok);
  return started;
}

function problemsOf(given: Given): readonly string[] {
  const loaded = load(given);
  return loaded.ok
    ? []
    : loaded.problems.map(({ source, message, fix = "" }) => `${source}: ${message}${fix}`);
}

function policyOf(given: Given) {
  const loaded = load(given);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { images, trustedImages } = loaded.config.policy;
  return { images, trustedImages };
}

const trusting = "trustedImages:\n  - registry.example/pbnj-worker/*\n";

describe.each(["docker", "kubernetes"])("with the runtime %s", (runtime) => {
  const flags = { runtime };

  it.each([undefined, "", "images: ['**']\n"])("policy %j is refused, with the lines to add", (policy) => {
    const [problem = "", ...more] = problemsOf({ flags, ...(policy === undefined ? {} : { policy }) });

    expect(more).toEqual([]);
    expect(problem).toMatch(
      /^(--policy|\/etc\/policy\.yaml): trustedImages is missing: the (docker|kubernetes) runtime needs/,
    );
    expect(problem).toContain("\n    trustedImages:\n      - registry.example/pbnj-worker/*\n");
    expect(problem).toContain("--unsafe-any-image");
  });

  it("those two lines are a whole policy: these images run, and receive connections", () => {
    const images = ["registry.example/pbnj-worker/*"];

    expect(policyOf({ flags, policy: trusting })).toEqual({ images, trustedImages: images });
  });

  it("an empty list is one: images run, and none receives a connection", () => {
    const policy = "images: [a/*]\ntrustedImages: []\n";

    expect(policyOf({ flags, policy })).toEqual({ images: ["a/*"], trustedImages: [] });
  });

  it("--unsafe-any-image trusts every image, with a warning, and not beside a list of them", () => {
    const unsafe = { ...flags, unsafeAnyImage: true };
    const loaded = load({ flags: unsafe });

    expect(policyOf({ flags: unsafe })).toEqual({ images: ["**"], trustedImages: ["**"] });
    expect(policyOf({ flags: unsafe, policy: "images: [a/*]" })).toEqual({
      images: ["a/*"],
      trustedImages: ["**"],
    });
    expect(loaded.ok && loaded.warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^trusts every image: .* receives the machine's BMC password$/),
    ]);
    expect(problemsOf({ flags: unsafe, policy: trusting })).toEqual([
      "/etc/policy.yaml: trustedImages contradicts --unsafe-any-image, which trusts every image: remove one of them",
    ]);
  });

  it("what does Rufio's work must be trusted", () => {
    const rufio = { ...flags, rufio: true, rufioImage: "registry.example/other/{action}:v{version}" };

    expect(problemsOf({ flags: rufio, policy: trusting })).toEqual([
      "/etc/policy.yaml: trustedImages lacks registry.example/other/{action}:v{version}, which does Rufio's work: add registry.example/other/*",
    ]);
    expect(problemsOf({ flags: rufio, policy: `${trusting}  - registry.example/other/*\n` })).toEqual([]);
  });
});

it.each(["process", "in-process"])(
  "the runtime %s runs the worker's own actions, which are trusted",
  (runtime) => {
    expect(policyOf({ flags: { runtime } })).toEqual({ images: ["**"], trustedImages: ["**"] });
    expect(policyOf({ flags: { runtime }, policy: trusting })).toEqual({
      images: ["registry.example/pbnj-worker/*"],
      trustedImages: ["**"],
    });
  },
);

it.each(["docker", "in-process"])("what answers PBnJ's requests must be allowed: %s", (runtime) => {
  const serving = { runtime, pbnjAddress: "127.0.0.1:50051", stateDirectory: "/tmp/state" };

  expect(problemsOf({ flags: serving, policy: trusting })).toEqual([
    "/etc/policy.yaml: trustedImages lacks pbnj-worker/{action}:v{version}, which does what PBnJ's API is asked for: add pbnj-worker/*",
  ]);
  expect(problemsOf({ flags: serving, policy: `${trusting}  - pbnj-worker/*\n` })).toEqual([]);
});
