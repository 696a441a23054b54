import { describe, expect, it } from "vitest";
import { ActionRun, resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const UNTIL = { UNTIL: "iPXE", FAIL_ON: "No bootable device" };

describe("watch-console", () => {
  it("ends with the line that matches, logs what comes, and releases the console", async () => {
    await using there = await actionLab();
    const running = runAction("watch-console", { env: { ...there.env("ipmi"), ...UNTIL } });
    await expect.poll(() => there.ipmi.console.session, { interval: 20 }).toBeDefined();

    there.machine.print("Memory test calvin\r\n\u001b[1miPXE\u001b[0m 1.21 calvin\r\n");

    const ended = await running;
    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message: expect.stringMatching(
        /^console matched "iPXE" after [\d.]+ s: iPXE 1\.21 \[redacted\] via ipmi$/,
      ),
      changed: false,
      data: { pattern: "iPXE", line: "iPXE 1.21 [redacted]", lines: 2 },
    });
    expect(ended.stderr).toContain('"msg":"console: Memory test [redacted]"');
    expect(ended.stderr + ended.stdout).not.toContain("calvin");
    expect(there.ipmi.console.session).toBeUndefined();
    expect(there.ipmi.console.written).toHaveLength(0);
  });

  it("leaves another session's console alone, and takes it over if told", async () => {
    await using there = await actionLab({ ipmi: { sol: [1] } });
    const env = { ...there.env("ipmi"), ...UNTIL };

    expect(resultOf(await runAction("watch-console", { env }))).toMatchObject({
      class: "busy",
      message: expect.stringContaining("in use by user 3 from 192.0.2.77"),
    });
    expect([...there.ipmi.sol]).toEqual([1]);

    const dry = resultOf(
      await runAction("watch-console", { env: { ...env, TAKE_OVER: "true", DRY_RUN: "true" } }),
    );
    expect(dry.message).toContain("console in use by user 3 from 192.0.2.77, would send SOL deactivation");
    expect([...there.ipmi.sol]).toEqual([1]);

    there.machine.print("iPXE\r\n");
    expect(resultOf(await runAction("watch-console", { env: { ...env, TAKE_OVER: "true" } }))).toMatchObject({
      ok: true,
      changed: true,
    });
  });

  it("releases the console when it is cancelled, and when TIMEOUT has passed", async () => {
    await using there = await actionLab();
    const cancelled = new ActionRun("watch-console", { env: { ...there.env("ipmi"), ...UNTIL } });
    await expect.poll(() => there.ipmi.console.session, { interval: 20 }).toBeDefined();
    cancelled.kill("SIGTERM");
    expect((await cancelled.ended).code).toBe(143);
    expect(there.ipmi.console.session).toBeUndefined();

    const env = { ...there.env("ipmi"), ...UNTIL, TIMEOUT: "2s" };
    there.machine.print("Loading kernel\r\n");
    const late = await runAction("watch-console", { env });
    expect(resultOf(late)).toMatchObject({
      class: "timeout",
      message: "not finished within 2 s (TIMEOUT): its last lines were Loading kernel",
    });
    expect(late.stderr).not.toContain("console lost");
    expect(there.ipmi.console.session).toBeUndefined();
    expect(there.ipmi.log).toContain("Deactivate Payload");
  });

  it("uses SSH where Redfish offers it and the host key is pinned, else serial over LAN", async () => {
    await using there = await actionLab({ ssh: { password: "calvin" } });
    there.machine.print("iPXE\r\n");
    const env = { ...there.env("redfish", "ipmi"), ...UNTIL };

    expect(resultOf(await runAction("watch-console", { env }))).toMatchObject({
      ok: true,
      provider: "redfish",
    });
    const { REDFISH_SSH_HOST_KEY: key, ...without } = env;
    expect(resultOf(await runAction("watch-console", { env: without }))).toMatchObject({
      ok: true,
      provider: "ipmi",
    });
    const alone = { ...without, BMC_PROVIDERS: "redfish" };
    expect(resultOf(await runAction("watch-console", { env: alone }))).toMatchObject({
      class: "unsupported",
      message: expect.stringContaining(`accept it with REDFISH_SSH_HOST_KEY=${key}`),
    });
  });

  it("names all patterns that are none, before anything is sent", async () => {
    await using there = await actionLab();
    const env = { ...there.env("ipmi"), UNTIL: "(iPXE", FAIL_ON: "a(?=b)" };

    const { code, result } = await runAction("watch-console", { env });

    expect(code).toBe(2);
    expect(result?.message).toMatch(
      /UNTIL is not a regular expression: .*FAIL_ON is not a regular expression: /,
    );
    expect(there.ipmi.received).toBe(0);
  });
});
