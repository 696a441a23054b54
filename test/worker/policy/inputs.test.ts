import { describe, expect, it } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { decide, refusals } from "../../../worker/policy/decide.ts";
import { Policy } from "../../../worker/policy/policy.ts";
import { circumstances } from "../../support/circumstances.ts";

const OWN = "registry.example/pbnj-worker/power-off:v1";
const THIRD_PARTY = "registry.example/acme/report:v1";
const TRUSTED = { images: ["registry.example/**"], trustedImages: ["registry.example/pbnj-worker/*"] };

interface Asked {
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
}

/** What the policy says of the variables and flags of an action. */
function judge({ image = OWN, environment = {}, command = [] }: Asked, policy: object = {}) {
  const action = { workflowId: "default/w", image, environment, command, volumes: [] };
  return refusals(Policy.parse({ ...TRUSTED, ...policy }), circumstances, action).map(({ reason }) => reason);
}

function refused(problem: string): readonly string[] {
  return [`policy environment: ${problem}`];
}

const REMOVE = "remove it, the image runs the action by itself";

describe("an action of this project", () => {
  it("accepts the inputs of every action, because a task's environment reaches all of its actions", () => {
    const environment = { MODE: "hard", DEVICE: "pxe", MACHINE: "node-1", TIMEOUT: "1m", USER_NAME: "a" };
    const command = ["--mode=hard", "--dry-run", "--timeout", "1m", "--help"];

    for (const name of catalogue) {
      const image = `registry.example/pbnj-worker/${name}:v1`;
      expect(judge({ image, environment, command }, { eraseDrives: ["*"] }), name).toEqual([]);
    }
  });

  it.each([
    [{ MDOE: "hard" }, "MDOE is not an input of power-off: did you mean MODE?"],
    [{ mode: "hard" }, "mode is not an input of power-off: did you mean MODE?"],
    [{ NODE_OPTIONS: "--import=data:text/javascript,0" }, "NODE_OPTIONS is not an input of power-off"],
    [{ LOCALDOMAIN: "evil.example" }, "LOCALDOMAIN is not an input of power-off"],
    [{ RES_OPTIONS: "ndots:9" }, "RES_OPTIONS is not an input of power-off"],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://evil.example" },
      "OTEL_EXPORTER_OTLP_ENDPOINT is not an input of power-off",
    ],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=b" }, "OTEL_EXPORTER_OTLP_HEADERS is not an input of power-off"],
    [{ LD_PRELOAD: "" }, "LD_PRELOAD is not an input of power-off"],
    [{ PATH: "/x" }, "PATH is not an input of power-off"],
    [{ PBNJ_WORKER_STATE: "x" }, "PBNJ_WORKER_STATE is not an input of power-off"],
    [{ "--bmc-host": "" }, '"--bmc-host" is not the name of a variable'],
    [{ "MODE=x\nLD_PRELOAD": "" }, '"MODE=x\\nLD_PRELOAD" is not the name of a variable'],
    [{ "": "x" }, '"" is not the name of a variable'],
  ])("is refused the variable in %j", (environment, problem) => {
    expect(judge({ environment })).toEqual(refused(problem));
  });

  it.each([
    [
      ["--mdoe", "hard"],
      "--mdoe in the template's command is not an input of power-off: did you mean --mode?",
    ],
    [
      ["--mode", "soft", "--nonsense-altogether=x"],
      "--nonsense-altogether in the template's command is not an input of power-off",
    ],
    [
      ["--MODE=hard"],
      `"--MODE" in the template's command is not an input of power-off: did you mean --mode?`,
    ],
    [["/bin/sh", "-c"], `"/bin/sh" in the template's command is not a flag of power-off: ${REMOVE}`],
    [["--", "power-off"], `"power-off" in the template's command is not a flag of power-off: ${REMOVE}`],
    [["--summary", "--mdoe"], "--summary in the template's command is not an input of power-off"],
  ])("is refused the flag in %j", (command, problem) => {
    expect(judge({ command })[0]).toBe(refused(problem)[0]);
  });

  it("is told every problem in one reason, and no more than ten of them", () => {
    const environment = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`X${index}`, ""]));
    const action = { workflowId: "default/w", image: OWN, environment, command: [], volumes: [] };
    const decision = decide(Policy.parse(TRUSTED), circumstances, action);

    expect(decision).toMatchObject({ allowed: false, rule: "environment" });
    expect(!decision.allowed && decision.reason).toMatch(
      /^policy environment: X0 is not an input of power-off; X1 is .*X9 is not an input of power-off; 2 more are not allowed either$/,
    );
  });

  it("accepts what the policy adds for its image, by name or by a beginning", () => {
    const environment = [{ images: ["**/power-*"], names: ["HTTPS_PROXY", "ACME_*"] }];

    expect(judge({ environment: { HTTPS_PROXY: "x", ACME_A: "x", ACME_: "x" } }, { environment })).toEqual(
      [],
    );
    expect(judge({ environment: { ACME: "x", HTTPS_PROXY_2: "x" } }, { environment })).toHaveLength(2);
    expect(
      judge({ image: "registry.example/pbnj-worker/check", environment: { ACME_A: "x" } }, { environment }),
    ).toHaveLength(1);
  });
});

describe("any other image", () => {
  it("accepts the variables that the policy lists for it and no others, whatever its arguments mean", () => {
    const environment = [{ images: [THIRD_PARTY], names: ["REPORT_*"] }];
    const asked = { image: THIRD_PARTY, command: ["--nonsense", "--mdoe=x", "-v"] };

    expect(judge({ ...asked, environment: { REPORT_TITLE: "x" } }, { environment })).toEqual([]);
    expect(judge({ ...asked, environment: { MODE: "x" } }, { environment })).toEqual(
      refused("MODE is not allowed for this image"),
    );
    expect(judge({ ...asked, environment: { MACHINE: "node-1" } })).toEqual(
      refused("MACHINE is not allowed for this image"),
    );
  });

  it("accepts MACHINE if it is trusted, because that names the connection it receives", () => {
    const policy = { trustedImages: ["registry.example/**"] };

    expect(judge({ image: THIRD_PARTY, environment: { MACHINE: "node-1" } }, policy)).toEqual([]);
    expect(judge({ image: THIRD_PARTY, environment: { MODE: "x" } }, policy)).toHaveLength(1);
  });

  it("does not run under the name of an action, which could not reach a BMC", () => {
    for (const trustedImages of [[], ["registry.example/pbnj-worker/power-on"], undefined]) {
      expect(judge({ environment: { MDOE: "x" } }, { trustedImages })).toEqual([
        `policy trustedImages: ${OWN} is not trusted with BMC connections`,
      ]);
    }
    expect(judge({ image: THIRD_PARTY }, { trustedImages: [] })).toEqual([]);
  });
});

describe("digestOnly: trusted", () => {
  it("needs digests of the images that receive connections alone", () => {
    const digest = `sha256:${"a".repeat(64)}`;
    const policy = { digestOnly: "trusted" };

    expect(judge({}, policy)).toEqual([expect.stringContaining("policy digestOnly: ")]);
    expect(judge({ image: `registry.example/pbnj-worker/power-off@${digest}` }, policy)).toEqual([]);
    expect(judge({ image: THIRD_PARTY }, policy)).toEqual([]);
  });
});
