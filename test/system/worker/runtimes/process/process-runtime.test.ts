import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actionFolder } from "../../../../../worker/runtimes/process/action-program.ts";
import { ProcessRuntime } from "../../../../../worker/runtimes/process/process-runtime.ts";
import { canary, scriptedRequest } from "../../../../worker/runtimes/launch-request.ts";
import { itKeepsTheRuntimeContract } from "../../../../worker/runtimes/runtime-contract.ts";

const actionsDirectory = join(import.meta.dirname, "../../../../support/fixtures/actions");
const programs = actionFolder(actionsDirectory);
const never = new AbortController().signal;

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("the process runtime", () => {
  itKeepsTheRuntimeContract(async () => new ProcessRuntime({ programs, stopGraceMs: 3_000 }));

  it("leaves no grandchild behind, even one that ignores SIGTERM and holds the pipes", async () => {
    const runtime = new ProcessRuntime({ programs, stopGraceMs: 500 });
    const { request, lines } = scriptedRequest(["grandchild", "exit:0"]);

    const { outcome } = await runtime.run(request, never);

    const pid = Number(lines[0]?.line.replace("grandchild ", ""));
    expect(pid).toBeGreaterThan(1);
    expect(outcome).toMatchObject({ ok: true });
    await expect.poll(() => alive(pid) && !isZombie(pid)).toBe(false);
    await runtime.close();
  });

  it("stops what runs when it closes", async () => {
    const runtime = new ProcessRuntime({ programs, stopGraceMs: 2_000 });
    const up = Promise.withResolvers<void>();
    const { request } = scriptedRequest(["on-sigterm:143", "out:up\\n", "sleep:60000"]);
    const running = runtime.run({ ...request, onLog: () => up.resolve() }, never);
    await up.promise;

    await runtime.close();

    expect((await running).outcome).toMatchObject({ ok: false, class: "cancelled", exitCode: 143 });
  });

  it("passes the password neither in the child's environment nor in its arguments", async () => {
    const runtime = new ProcessRuntime({ programs, stopGraceMs: 500 });
    const controller = new AbortController();
    const seen = Promise.withResolvers<number>();
    const { request } = scriptedRequest(["grandchild", "sleep:60000"], { connected: true });
    const running = runtime.run(
      { ...request, onLog: ({ line }) => seen.resolve(Number(line.replace("grandchild ", ""))) },
      controller.signal,
    );
    const grandchild = await seen.promise;

    const parent = Number(/^PPid:\s+(\d+)$/m.exec(await readFile(`/proc/${grandchild}/status`, "utf8"))?.[1]);
    const files = [parent, grandchild].flatMap((pid) => [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`]);
    const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));

    controller.abort();
    await running;
    await runtime.close();
    expect(texts[0]).toContain("BMC_CONNECTION_FILE=-");
    expect(texts[1]).toContain("grandchild");
    for (const text of texts) expect(text).not.toContain(canary);
  });

  it("reports the signal when another process killed the action", async () => {
    const runtime = new ProcessRuntime({ programs });

    const { outcome } = await runtime.run(scriptedRequest(["err:working\\n", "kill:SIGKILL"]).request, never);
    await runtime.close();

    expect(outcome).toMatchObject({ ok: false, class: "internal", killed: true, timedOut: false });
    expect(outcome.message).toBe("killed by SIGKILL: working");
  });

  it.each([
    [{ volumes: ["/srv:/srv", "/etc:/host"] }, "source and target of the volume /etc:/host must be the same"],
    [{ volumes: ["srv:srv"] }, "source and target of the volume srv:srv must be the same"],
    [{ networkNamespace: "host" }, "namespaces"],
    [{ pidNamespace: "host" }, "namespaces"],
    [{ environment: { BMC_PASSWORD_FILE: "/etc/shadow" } }, "BMC_PASSWORD_FILE"],
    [{ command: ["--ipmitool-program", "/tmp/x"] }, "--ipmitool-program"],
  ])("refuses %j clearly", async (action, reason) => {
    const runtime = new ProcessRuntime({ programs });

    const { outcome } = await runtime.run(scriptedRequest(["exit:0"], { action }).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "unsupported" });
    expect(outcome.message).toContain(reason);
    await runtime.close();
  });

  it("runs an action with a volume of the same path on the host", async () => {
    const runtime = new ProcessRuntime({ programs });
    const volumes = ["/srv/images:/srv/images:ro", "/var/lib/x:/var/lib/x/"];

    const { outcome } = await runtime.run(
      scriptedRequest(["exit:0"], { action: { volumes } }).request,
      never,
    );

    expect(outcome).toMatchObject({ ok: true });
    await runtime.close();
  });

  it("names the unknown image and the known actions", async () => {
    const runtime = new ProcessRuntime({ programs });
    const image = "registry.example/tinkerbell/actions/image2disk:latest";

    const { outcome } = await runtime.run(scriptedRequest([], { action: { image } }).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "usage" });
    expect(outcome.message).toBe(
      `the process runtime has no action for the image ${image}: \`pbnj-worker actions\` lists them`,
    );
    await runtime.close();
  });

  it("reports a missing folder of actions, and continues", async () => {
    const runtime = new ProcessRuntime({ programs: actionFolder(join(actionsDirectory, "missing")) });

    const { outcome } = await runtime.run(scriptedRequest([]).request, never);

    expect(outcome).toMatchObject({ ok: false, class: "internal" });
    expect(outcome.message).toMatch(/the folder of actions .* does not exist$/);
    await runtime.close();
  });
});

/** A killed process that its new parent has not reaped yet; only Linux shows it. */
function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
