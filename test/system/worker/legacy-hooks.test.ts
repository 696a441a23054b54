import { expect, test } from "vitest";
import { openLegacyLab, templateOf } from "../../support/lab.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

test("a worker that is killed in a hook reports the failure, and neither repeats nor keeps the hook", async () => {
  await using lab = await openLegacyLab({ machines: { "node-01": { power: "off" } } });
  const step = {
    name: "wait-for-power-state",
    command: ["--state=on", "--state-timeout=100ms"],
    onFailure: ["--state=on", "--state-timeout=10m"],
    environment: { MACHINE: "node-01" },
    timeout: 600,
  };
  const workflow = lab.server.submit({ name: "w", template: templateOf("pbnj", step) });
  {
    await using first = new WorkerProgram(lab.argv());
    await first.untilLogged("hook started", { hook: "on-failure" });
    // It is there for certain once it talks to the BMC.
    const before = lab.bmc().requests.length;
    await lab.server.until(() => lab.bmc().requests.length > before);
    first.kill("SIGKILL");
    await first.ended;
  }
  expect(workflow.state).toBe("RUNNING");

  await using second = new WorkerProgram(lab.argv());
  await lab.server.until(() => workflow.state === "FAILED");
  await second.untilLogged("orphans of earlier workers removed");

  expect(workflow.tasks[0]?.actions[0]?.message).toMatch(
    /^wait-for-power-state .*failed \(timeout, exit 16\)/,
  );
  expect(second.log.map(({ msg }) => msg)).not.toContain("hook started");
});
