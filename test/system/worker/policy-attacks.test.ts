import { readdir } from "node:fs/promises";
import { beforeAll, expect, test } from "vitest";
import { CommandInProcess } from "../../support/command-in-process.ts";
import {
  buildScriptedImage,
  describeWithDocker,
  dockerSocketPath,
  scriptedImage,
} from "../../support/docker.ts";
import { type Lab, messageOf, openLab, type Step } from "../../support/lab.ts";

/** Templates of adversaries, against a running worker. */

const CANARY = "canary-41f0e";
const OWN = "registry.example/pbnj-worker";

type Attack = Omit<Step, "name">;

/** How an action of that text ended, as reported to the server. */
async function run(lab: Lab, attack: Attack): Promise<string> {
  const workflow = lab.submit("pbnj-node-1", { name: "attack", ...attack });
  await lab.untilOver(workflow);
  lab.server.board.delete(workflow);
  return `${workflow.state}: ${messageOf(workflow)}`;
}

describeWithDocker("an image that is not trusted", () => {
  beforeAll(buildScriptedImage, 300_000);

  test("has nothing on its stdin, no password is read for it, and its result about the BMC is not trusted", {
    timeout: 60_000,
  }, async () => {
    const images = ["localhost/pbnj-worker/*"];
    await using lab = await openLab({
      machines: { "node-1": {} },
      policy: { images, trustedImages: [`${OWN}/*`] },
      argv: [
        ...["--runtime", "docker", "--docker-socket", dockerSocketPath],
        ...["--pull-policy", "never", "--docker-network", "none"],
      ],
    });
    // A vault that notes each time it is asked.
    const vault = `require("fs").writeFileSync(${JSON.stringify(lab.path("asked-"))} + process.pid, ""); console.log(JSON.stringify({ username: "admin", password: "${CANARY}" }))`;
    const credentials = { command: [process.execPath, "--eval", vault] };
    await lab.write("inventory.yaml", { machines: [{ name: "node-1", host: "192.0.2.77", credentials }] });
    const asked = async () => (await readdir(lab.folder)).filter((name) => name.startsWith("asked-")).length;
    await using worker = new CommandInProcess(lab.argv());
    const step = { image: scriptedImage, command: ["env", "host"] };

    const result = { action: "scripted", ok: true, message: "planted", durationMs: 1, roundTrips: 0 };
    const planting = {
      image: scriptedImage,
      command: [`result:${JSON.stringify({ ...result, hint: { system: "/evil" } })}`],
    };

    const untrusted = await run(lab, step);
    const planted = await run(lab, planting);
    const askedFirst = await asked();
    const withVariable = await run(lab, { ...step, environment: { NODE_OPTIONS: "--inspect" } });
    await lab.writePolicy({ images });
    await worker.untilLogged("policy reload failed, keeping the last valid one");
    const still = await run(lab, step);
    const askedSecond = await asked();
    await lab.writePolicy({ images, trustedImages: ["localhost/pbnj-worker/scripted"] });
    await worker.untilLogged("policy reloaded");
    const trusted = await run(lab, step);
    await run(lab, planting);
    const afterTrusted = await run(lab, step);
    // It removes its containers.
    worker.kill("SIGTERM");
    await worker.ended;

    expect([untrusted, still]).toEqual([
      expect.stringMatching(/^FAILED: .*Unexpected end of JSON input/),
      expect.stringMatching(/^FAILED: .*Unexpected end of JSON input/),
    ]);
    expect([askedFirst, askedSecond]).toEqual([0, 0]);
    expect(withVariable).toContain("policy environment: NODE_OPTIONS is not allowed for this image");
    expect(planted).toBe("SUCCESS: planted");
    expect(trusted).toBe("SUCCESS: reached 192.0.2.77");
    expect(afterTrusted).toBe('SUCCESS: reached 192.0.2.77 with the hint {"system":"/evil"}');
    expect(await asked()).toBeGreaterThan(0);
    expect(worker.stderr).not.toContain(CANARY);
  });
});
