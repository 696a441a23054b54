import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exampleTemplate } from "../../../simulators/tink/example-template.ts";
import { connectTinkApi } from "../../../worker/sources/tink/tink-api.ts";

const never = new AbortController().signal;
const program = join(import.meta.dirname, "../../../simulators/tink/program.ts");

interface Line {
  readonly event: string;
  readonly address: string;
  readonly state: string;
}

describe("the tink simulator's command line", () => {
  let folder: string;
  let template: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pbnj-tink-"));
    template = join(folder, "template.yaml");
    await writeFile(template, exampleTemplate([{ worker: "{{ .agent }}", actions: ["power-off"] }]));
  });

  afterAll(() => rm(folder, { recursive: true }));

  /** Runs the simulator until its workflow's only action was reported as `state`. */
  async function runUntil(state: "success" | "failed") {
    const args = ["tink", "--port", "0", "--template", template, "--map", "agent=pbnj", "--until-done"];
    const child = execa("node", [program, ...args], { preferLocal: true, reject: false, timeout: 60_000 });
    const lines: Line[] = [];
    const output = createInterface({ input: child.stdout });
    output.on("line", (line) => lines.push(JSON.parse(line)));
    await once(output, "line");
    const transport = connectTinkApi({ server: lines[0]?.address ?? "", tls: false });
    const poll = await transport.next("pbnj", never);
    if (poll.kind !== "action") throw new Error(JSON.stringify(poll));
    const { action } = poll;
    const startedAt = new Date();
    await transport.report({ action, state: "running", startedAt, message: "" }, never);
    const acknowledgement = await transport.report(
      { action, state, startedAt, stoppedAt: new Date(), message: "" },
      never,
    );
    const { exitCode } = await child;
    await transport.close();
    return { exitCode, acknowledgement, states: lines.map(({ state }) => state).filter(Boolean) };
  }

  it("prints every change, acknowledges the last report and exits 0 when all succeeded", async () => {
    expect(await runUntil("success")).toEqual({
      exitCode: 0,
      acknowledgement: { kind: "acknowledged" },
      states: ["PENDING", "RUNNING", "POST", "SUCCESS"],
    });
  });

  it("has its workflows in the namespace that it is told", async () => {
    const args = ["--port", "0", "--template", template, "--map", "agent=pbnj", "--namespace", "team-a"];
    const child = execa("node", [program, "tink", ...args], { preferLocal: true, reject: false });
    const output = createInterface({ input: child.stdout });
    const submitted = new Promise<string>((resolve) => {
      output.on("line", (line) => {
        const { workflow } = JSON.parse(line);
        if (workflow !== undefined) resolve(workflow);
      });
    });

    expect(await submitted).toBe("team-a/workflow-1");

    child.kill("SIGTERM");
    await child;
  });

  it("exits 1 when a workflow failed", async () => {
    expect(await runUntil("failed")).toMatchObject({ exitCode: 1, states: ["PENDING", "RUNNING", "FAILED"] });
  });

  it.each([
    ["--until-done needs a --template", ["--until-done"]],
    ["no such file", ["--template", "/nonexistent"]],
    ["It is not a port.", ["--port", "x"]],
    ["Write it as key=value.", ["--map", "x"]],
    ["no value for agent", ["--port", "0", "--template", "TEMPLATE"]],
  ])("says %j instead of starting", async (message, flags) => {
    const args = flags.map((flag) => (flag === "TEMPLATE" ? template : flag));

    const { exitCode, stderr } = await execa("node", [program, "tink", ...args], {
      preferLocal: true,
      reject: false,
    });

    expect(exitCode).toBe(1);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("    at ");
  });

  it("ends with 0 on SIGTERM", async () => {
    const child = execa("node", [program, "tink", "--port", "0"], { preferLocal: true, reject: false });
    await once(createInterface({ input: child.stdout }), "line");

    child.kill("SIGTERM");

    expect(await child).toMatchObject({ exitCode: 0 });
  });
});
