import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { messageOf, openLab, type Step } from "../../support/lab.ts";

const RIGHT = "calvin";
const WRONG = "a-wrong-one";

type Entry = Readonly<Record<string, unknown>>;

/** One BMC behind Redfish, and a worker that has more agent IDs than machines. */
async function standing(options: {
  readonly credentials: (directory: string) => Entry;
  readonly machines?: readonly Entry[];
  readonly runtime?: "process" | "in-process";
  readonly policy?: (directory: string) => Entry;
  readonly providers?: readonly ["redfish" | "ipmi"];
}) {
  const agentIds = ["--agent-id", "one,two,three,four,five"];
  const { runtime = "in-process", providers = ["redfish"] } = options;
  const lab = await openLab({ providers, argv: [...agentIds, "--runtime", runtime] });
  const [own] = lab.inventoryOf().machines;
  const inventory = {
    defaults: { credentials: options.credentials(lab.folder) },
    machines: (options.machines ?? [{}]).map((entry) => ({ ...own, ...entry })),
  };
  await lab.write("inventory.yaml", inventory);
  const policy = await lab.writePolicy(options.policy?.(lab.folder) ?? {});
  return {
    ...lab,
    inventory,
    start: () => lab.own(new CommandInProcess(lab.argv("--policy", policy))),
    /** Each on an agent ID of its own, as the server gives one workflow at a time to each. */
    submit: (
      agentIds: readonly string[],
      steps: readonly Step[] = [{ name: "power-status" }],
      name = "node-01",
    ) =>
      agentIds.map((agentId) =>
        lab.submit(
          agentId,
          ...steps.map((step) => ({ ...step, environment: { MACHINE: name, ...step.environment } })),
        ),
      ),
  };
}

const inFile = (directory: string): Entry => ({
  username: "admin",
  passwordFile: join(directory, "password"),
});

describe.each(["process", "in-process"] as const)("a refused password with the %s runtime", (runtime) => {
  test("is offered to the BMC once, whatever the workflows, and a corrected one without a restart", async () => {
    await using lab = await standing({ credentials: inFile, runtime });
    await lab.write("password", WRONG);
    lab.start();

    const refused = lab.submit(["one", "two", "pbnj-node-01"], [{ name: "power-off" }]);
    await lab.untilOver(...refused);
    const refusals = lab.bmc().refusedCredentials;
    await lab.write("password", RIGHT);
    const accepted = lab.submit(["three"]);
    await lab.untilOver(...accepted);

    expect(refusals).toBe(1);
    expect(refused.map(({ state }) => state)).toEqual(["FAILED", "FAILED", "FAILED"]);
    const said = refused.map(messageOf).toSorted();
    const gated =
      /^power-off failed \(auth\): machine node-01: the BMC refused its credentials via redfish at 20\d\d-\S+Z; because accounts lock, they are not offered again before 20\d\d-\S+Z\. To retry at once, correct them where the inventory has them, change the machine's entry or touch the inventory file$/;
    expect(said).toEqual([
      expect.stringMatching(/^power-off failed \(auth\): machine node-01/),
      expect.stringMatching(gated),
      expect.stringMatching(/^power-off node-01 failed \(auth, exit 10\): redfish: .*401/),
    ]);
    expect(accepted.map(({ state }) => state)).toEqual(["SUCCESS"]);
    expect(lab.bmc().refusedCredentials).toBe(1);
    expect(lab.machine().commands).toEqual([]);
  });
});

describe("the gate of a real worker", () => {
  test("allows an action that changes its own user's password, and the next one with it", async () => {
    await using lab = await standing({
      credentials: inFile,
      // The action writes the file.
      runtime: "process",
      policy: (directory) => ({ volumes: [{ path: directory, access: "rw" }] }),
    });
    await lab.write("password", `${RIGHT}\n`);
    lab.start();
    const file = join(lab.folder, "password");
    const environment = { USER_NAME: "admin", PASSWORD_GENERATE: "true", PASSWORD_GENERATE_FILE: file };

    // All are there at once: those that wait for their turn must not have read the old password.
    const rotated = lab.submit(
      ["one"],
      [
        { name: "update-user", environment, volumes: [`${lab.folder}:${lab.folder}`] },
        { name: "power-status" },
      ],
    );
    const beside = lab.submit(["two", "three"]);
    await lab.untilOver(...rotated, ...beside);

    expect([...rotated, ...beside].map(messageOf)).toEqual(Array.from({ length: 3 }, () => "on via redfish"));
    expect((await readFile(file, "utf8")).trim()).not.toBe(RIGHT);
    expect(lab.bmc().refusedCredentials).toBe(0);
  });
});
