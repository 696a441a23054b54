import { once } from "node:events";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { actionLab } from "../../actions/lab.ts";
import { PROGRAM, runProgram } from "../../cli/program.ts";

describe("pbnj-worker action", () => {
  it("runs the action here and ends as it does", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });

    const { exitCode, stdout } = await runProgram(
      ["action", "power-off", "--mode", "hard"],
      lab.env("redfish"),
    );

    expect(parseResultLine(stdout)).toMatchObject({ action: "power-off", ok: true, after: "off" });
    expect(lab.done()).toEqual(["off"]);
    expect(exitCode).toBe(0);
  });

  it("gives the action's own exit code for its failure", async () => {
    await using lab = await actionLab();

    const { exitCode, stdout } = await runProgram(["action", "power-status"], {
      ...lab.env("redfish"),
      BMC_PASSWORD: "wrong",
    });

    expect(parseResultLine(stdout)).toMatchObject({ ok: false, class: "auth" });
    expect(exitCode).toBe(10);
  });

  it("hands stdin on: a connection as JSON", async () => {
    await using lab = await actionLab();

    const { stdout } = await execa(process.execPath, [PROGRAM, "action", "power-status"], {
      env: { BMC_CONNECTION_FILE: "-" },
      input: JSON.stringify(lab.connection("ipmi")),
    });

    expect(parseResultLine(stdout)).toMatchObject({ ok: true, provider: "ipmi" });
  });

  it("cleans up and exits 143 when it is told to stop", async () => {
    await using lab = await actionLab({ machine: { power: "on", powerOffMs: 60_000 } });
    const argv = ["action", "power-off", "--mode", "hard", "--log-level", "debug"];
    const child = execa(process.execPath, [PROGRAM, ...argv], {
      env: lab.env("redfish"),
      reject: false,
      stdin: "ignore",
    });
    await expect.poll(() => lab.done(), { timeout: 20_000 }).toEqual(["off"]);

    child.kill("SIGTERM");
    const { exitCode, stdout } = await child;

    expect(parseResultLine(stdout.split("\n").at(-1) ?? "")).toMatchObject({ ok: false, class: "cancelled" });
    expect(exitCode).toBe(143);
  });

  it.each([[[]], [["nonsense"]], [["constructor"]]])(
    "lists the actions, as a mistake, when it is given %j",
    async (names) => {
      const { exitCode, stdout, stderr } = await runProgram(["action", ...names]);

      expect(stderr.split("\n")).toEqual([
        expect.stringMatching(/^pbnj-worker action: (name an action|there is no action "\w+")$/),
        `Actions: ${catalogue.join(", ")}`,
      ]);
      expect(stdout).toBe("");
      expect(exitCode).toBe(2);
    },
  );

  it("survives a reader that goes away", async () => {
    const child = execa(process.execPath, [PROGRAM, "actions"], { reject: false, stdin: "ignore" });
    child.stdout.destroy();
    const [code] = await once(child.nodeChildProcess, "exit");

    expect(code).toBe(0);
  });
});
