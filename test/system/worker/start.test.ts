import { describe, expect, test } from "vitest";
import type { Step } from "../../support/lab.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import { crashLab } from "./crash-lab.ts";

const softOff: Step = { name: "power-off", environment: { MODE: "soft" } };

describe.concurrent("pbnj-worker start", () => {
  test("cancels the running action at the second signal, reports that and exits with its code", async () => {
    await using lab = await crashLab({ machine: { softOffMs: "never" } });
    const worker = lab.startProcess();
    const workflow = lab.submit([softOff]);
    await worker.untilLogged("action started");

    worker.kill("SIGINT");
    await worker.untilLogged("stopping: draining running actions");
    worker.kill("SIGINT");
    const { code } = await worker.ended;

    expect(code).toBe(130);
    expect(workflow.state).toBe("FAILED");
    expect(workflow.tasks[0]?.actions[0]?.message).toMatch(/\(cancelled.*cancelled by the worker/);
    expect(lab.machine.count("off")).toBe(0);
  });

  test("exits with 143 when the running action outlasts the grace period", async () => {
    await using lab = await crashLab({
      machine: { softOffMs: "never" },
      argv: ["--shutdown-grace", "500ms"],
    });
    const worker = lab.startProcess();
    const workflow = lab.submit([softOff]);
    await worker.untilLogged("action started");

    worker.kill("SIGTERM");
    const { code } = await worker.ended;

    expect(code).toBe(143);
    expect(workflow.state).toBe("FAILED");
  });

  test("names every problem of its configuration, exits with 2 and starts nothing", async () => {
    await using program = new WorkerProgram([
      ...["start", "--runtime", "dokcer", "--grpc-sever", "x", "--stop-grace", "1d"],
    ]);

    const { code } = await program.ended;

    expect(code).toBe(2);
    expect(program.stdout).toBe("");
    for (const problem of [
      /unknown flag --grpc-sever, did you mean --grpc-server/,
      /--runtime: .*did you mean docker/,
      /--stop-grace/,
      /--agent-id: is missing/,
    ]) {
      expect(program.stderr).toMatch(problem);
    }
    expect(program.stderr).not.toContain("--grpc-server: is missing");
  });
});
