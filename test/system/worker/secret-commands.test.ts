import { statSync } from "node:fs";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";
import { eventually } from "../../actions/lab.ts";
import { fileFolder } from "../../support/test-folder.ts";

const CANARY = "canary-7c1e";

const { folder: root } = await fileFolder();
interface Given {
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly commands?: SecretCommands;
  readonly entry?: Readonly<Record<string, unknown>>;
}

/** A machine whose credentials a program of JavaScript prints. */
function resolver(program: string, more: Readonly<Record<string, unknown>> = {}, given: Given = {}) {
  const command = [process.execPath, "-e", program, "--", "{machine}"];
  const entry = { name: "node-1", host: "192.0.2.1", credentials: { command, ...more }, ...given.entry };
  const parsed = parseInventory({
    path: join(root, "inventory.yaml"),
    text: stringify({ machines: [entry] }),
    env: { PATH: process.env["PATH"] ?? "", ...given.env },
    readFile: readTextFile,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const machine = parsed.value.find("node-1");
  if (!machine) throw new Error("no machine");
  const { commands = new SecretCommands(), signal = new AbortController().signal } = given;
  return () => parsed.value.resolveConnection(machine, { commands, signal });
}

const SHELL = "/bin/sh";
const print = (value: unknown) => `console.log(${JSON.stringify(JSON.stringify(value))})`;

async function failure(work: Promise<unknown>): Promise<BmcError> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof BmcError)) throw new Error(`expected a BmcError, got ${inspect(thrown)}`);
  return thrown;
}

/** What follows the machine and the command's name. */
async function reasonOf(work: Promise<unknown>, program = process.execPath): Promise<string> {
  const { class: errorClass, message } = await failure(work);
  const start = `machine node-1: credentials.command ${program} `;
  expect([errorClass, message.slice(0, start.length)]).toEqual(["usage", start]);
  return message.slice(start.length);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Hangs, with a child, and ignores SIGTERM as the child does. Both have written their process ID within milliseconds. */
const hanging = (file: string, timeout: string) => ({
  command: [SHELL, "-c", `trap "" TERM; sleep 600 & printf '%s\\n' $! $$ > ${file}; wait`],
  timeout,
});

async function pidsIn(file: string): Promise<readonly number[]> {
  return (await readFile(file, "utf8")).trim().split("\n").map(Number);
}

/** A process that was killed has its ID until the system has removed it. */
async function expectEnded(pids: readonly number[]): Promise<void> {
  await expect.poll(() => pids.filter(isAlive), { timeout: 5_000 }).toEqual([]);
}

describe("credentials from a command", () => {
  it("are what it prints, read anew at every call, for the requested machine", async () => {
    const program = `
      const { readFileSync } = require("node:fs");
      const password = readFileSync(${JSON.stringify(join(root, "vault"))}, "utf8");
      console.log(JSON.stringify({ username: process.argv[1], password, kg: "key" }));
    `;
    const resolve = resolver(program);

    await writeFile(join(root, "vault"), "first");
    const before = await resolve();
    await writeFile(join(root, "vault"), "second");
    const after = await resolve();

    expect([before.username, before.password?.reveal(), before.ipmi.kg?.reveal()]).toEqual([
      "node-1",
      "first",
      "key",
    ]);
    expect(after.password?.reveal()).toBe("second");
  });

  it("come through no shell and with no more of the worker's environment than is named", async () => {
    const program = `console.log(JSON.stringify({
      username: process.argv[1],
      password: Object.keys(process.env).sort().join(),
      kg: process.env.VAULT_ADDR,
    }))`;
    const env = { PATH: process.env["PATH"] ?? "", LANG: "C", VAULT_ADDR: "http://v", REGISTRY_PASS: CANARY };

    const { password, ipmi } = await resolver(program, { environment: ["VAULT_ADDR", "UNSET"] }, { env })();

    expect(password?.reveal()).toBe("LANG,PATH,VAULT_ADDR");
    expect(ipmi.kg?.reveal()).toBe("http://v");
  });

  it("may come from a program in the inventory's folder, or one in PATH", async () => {
    await writeFile(join(root, "vault.sh"), `#!/bin/sh\necho '{"username":"u","password":"'$0 $1'"}'\n`);
    await chmod(join(root, "vault.sh"), 0o755);
    const command = (program: string) => ({ credentials: { command: [program, "a b; c"] } });

    const relative = await resolver("", {}, { entry: command("./vault.sh") })();
    const found = await resolver(
      "",
      {},
      { entry: command("vault.sh"), env: { PATH: `${root}:/bin:/usr/bin` } },
    )();

    expect(relative.password?.reveal()).toBe(`${join(root, "vault.sh")} a b; c`);
    expect(found.password?.reveal()).toBe(`${join(root, "vault.sh")} a b; c`);
  });

  it("are a webhook's secrets if its list says so", async () => {
    const command = [process.execPath, "-e", print({ secrets: ["new", "old"] })];
    const rpc = {
      url: "http://hooks.example",
      signature: { secrets: { sha512: [{ command, timeout: "20s" }] } },
    };

    const connection = await resolver("", {}, { entry: { rpc, credentials: {} } })();

    expect(connection.rpc?.signature.secrets.sha512.map((secret) => secret.reveal())).toEqual(["new", "old"]);
  });
});

describe("a failed command is reported with the cause, without its output", () => {
  it.each([
    ["prints nothing", "", "printed nothing"],
    ["prints no JSON", `console.log("${CANARY}")`, "printed what is not JSON"],
    ["prints half of it", `console.log('{"password":"${CANARY}"')`, "printed what is not JSON"],
    ["prints a list", print([CANARY]), "printed JSON that is not an object"],
    [
      "prints other keys",
      print({ username: "u", password: CANARY, [CANARY]: "x" }),
      "printed JSON with keys other than username, password, kg and secrets",
    ],
    ["prints no user", print({ password: CANARY }), "printed no username"],
    ["prints no password", print({ username: CANARY }), "printed no password"],
    [
      "prints a number",
      print({ username: CANARY, password: 7_261 }),
      "printed JSON whose password is not text",
    ],
    [
      "prints two lines in one",
      print({ username: "u", password: `${CANARY}\nx` }),
      "printed a password that holds more than one line",
    ],
    [
      "prints an empty password",
      print({ username: CANARY, password: "" }),
      "printed a password that is empty",
    ],
    ["prints no text", "process.stdout.write(Buffer.from([0xff, 0xfe]))", "printed what is not UTF-8 text"],
    [
      "prints without end",
      `setInterval(() => console.log("${CANARY}".repeat(500)), 1)`,
      "printed more than 64 KiB",
    ],
    [
      "fails",
      `console.error("first\\nno such path: bmc/node-1\\n"); process.exitCode = 3`,
      "failed with exit code 3: no such path: bmc/node-1",
    ],
    ["fails without a word", "process.exit(1)", "failed with exit code 1"],
    ["is killed", "process.kill(process.pid, 'SIGKILL')", "was killed by SIGKILL"],
  ])("when it %s", async (_, program, expected) => {
    const reason = await reasonOf(resolver(program)());

    expect(reason).toBe(expected);
  });

  const withheld = "failed with exit code 1: its last output is withheld because it contains a secret";
  const failing = (stdout: string, stderr: string) =>
    `process.stdout.write(${JSON.stringify(stdout)}); process.stderr.write(${JSON.stringify(stderr)}); process.exitCode = 1`;

  it.each([
    ["what it printed", failing(JSON.stringify({ username: "u", password: CANARY }), `set ${CANARY}\n`)],
    ["what it printed half", failing(`{"password": "${CANARY}`, `bad: ${CANARY}`)],
    [
      "what it printed, in base64",
      failing(JSON.stringify({ data: [CANARY] }), Buffer.from(CANARY).toString("base64")),
    ],
    ["what it printed, in hex", failing(CANARY, Buffer.from(CANARY).toString("hex"))],
    ["what it printed, in a URL", failing('{"password":"a&b c/d-long"}', "GET /?p=a%26b%20c%2Fd-long")],
    ["a variable that it was given", failing("", "invalid: hvs.canary-token")],
    ["an assignment", failing("", `+ PASSWORD=${CANARY}`)],
    ["a header", failing("", `> Authorization: Bearer ${CANARY}`)],
  ])("when its last output is %s", async (_, program) => {
    const env = { VAULT_TOKEN: "hvs.canary-token", VAULT_ADDR: "https://vault.example:8200" };

    const reason = await reasonOf(resolver(program, { environment: Object.keys(env) }, { env })());

    expect(reason).toBe(withheld);
  });

  it("with the address that it could not reach, which is no secret", async () => {
    const env = { VAULT_ADDR: "https://vault.example:8200" };
    const program = failing("", "Get https://vault.example:8200/v1: connection refused");

    expect(await reasonOf(resolver(program, { environment: ["VAULT_ADDR"] }, { env })())).toBe(
      "failed with exit code 1: Get https://vault.example:8200/v1: connection refused",
    );
  });

  it("when it cannot be started", async () => {
    await writeFile(join(root, "no-program"), "x");
    const run = (program: string) =>
      failure(resolver("", {}, { entry: { credentials: { command: [program] } } })());

    expect((await run("./absent")).message).toBe(
      `machine node-1: credentials.command ${join(root, "absent")} does not exist`,
    );
    expect((await run("./no-program")).message).toBe(
      `machine node-1: credentials.command ${join(root, "no-program")} may not be run by this user`,
    );
    expect((await run("not-in-path")).message).toBe(
      "machine node-1: credentials.command not-in-path does not exist",
    );
  });
});

describe("a command that hangs is ended with all that it started", () => {
  it("when its time expires", async () => {
    const file = join(root, "late");

    const reason = await reasonOf(resolver("", hanging(file, "1500ms"))(), SHELL);
    const pids = await pidsIn(file);

    expect(reason).toBe("timed out after 1.5 s");
    expect(pids).toHaveLength(2);
    await expectEnded(pids);
  });

  it("when the worker stops, which it does not mistake for a failure", async () => {
    const file = join(root, "stopped");
    const stop = new AbortController();
    const resolved = resolver("", hanging(file, "5m"), { signal: stop.signal })();
    resolved.catch(() => undefined);
    await eventually(() => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0);

    stop.abort(new Error("the worker stops"));

    await expect(resolved).rejects.toThrow("the worker stops");
    await expectEnded(await pidsIn(file));
  });

  it("when it has printed and gone, and left a child behind", async () => {
    const file = join(root, "left");
    const program = `
      const { spawn } = require("node:child_process");
      const child = spawn("sleep", ["600"], { stdio: "inherit" });
      require("node:fs").writeFileSync(${JSON.stringify(file)}, String(child.pid));
      ${print({ username: "u", password: "p" })};
      child.unref();
    `;

    const { password } = await resolver(program)();
    const pids = await pidsIn(file);

    expect(password?.reveal()).toBe("p");
    await expectEnded(pids);
  });
});

describe("many machines at once", () => {
  /** Runs until it is released, and leaves a mark for as long as it runs. */
  const waiting = (name: string) => `
    const { appendFileSync, existsSync } = require("node:fs");
    appendFileSync(${JSON.stringify(join(root, `${name}.started`))}, "x");
    const timer = setInterval(() => {
      if (!existsSync(${JSON.stringify(join(root, `${name}.go`))})) return;
      clearInterval(timer);
      ${print({ username: "u", password: "p" })};
    }, 10);
  `;
  const started = async (name: string) =>
    (await readFile(join(root, `${name}.started`), "utf8").catch(() => "")).length;
  const untilStarted = async (name: string, count: number) => {
    let now = 0;
    const look = async () => {
      while (now < count) now = await started(name);
    };
    await look();
  };

  it("run a limited number of commands at a time, and all of them in the end", async () => {
    const commands = new SecretCommands(2);
    const machines = Array.from({ length: 5 }, (_, index) =>
      resolver(`/* ${index} */ ${waiting("bounded")}`, { timeout: "60s" }, { commands })(),
    );
    await untilStarted("bounded", 2);

    const whileTwoRun = await started("bounded");
    await writeFile(join(root, "bounded.go"), "");
    await Promise.all(machines);

    expect(whileTwoRun).toBe(2);
    expect(await started("bounded")).toBe(5);
  });

  it("share a run of the same command that has not begun, and never one that has", async () => {
    const commands = new SecretCommands();
    const resolve = resolver(waiting("shared"), { timeout: "60s" }, { commands });
    const first = resolve();
    await untilStarted("shared", 1);

    const others = Array.from({ length: 20 }, () => resolve());
    await writeFile(join(root, "shared.go"), "");
    const passwords = (await Promise.all([first, ...others])).map(({ password }) => password?.reveal());

    expect(new Set(passwords)).toEqual(new Set(["p"]));
    expect(await started("shared")).toBe(2);
  });

  it("leave a run that others wait for, and stop one without waiters", async () => {
    const commands = new SecretCommands();
    const stop = new AbortController();
    const program = waiting("left-alone");
    const blocking = resolver(program, { timeout: "60s" }, { commands })();
    await untilStarted("left-alone", 1);
    const leaving = resolver(program, { timeout: "60s" }, { commands, signal: stop.signal })();
    const staying = resolver(program, { timeout: "60s" }, { commands })();
    leaving.catch(() => undefined);

    stop.abort(new Error("gone"));
    await expect(leaving).rejects.toThrow("gone");
    await writeFile(join(root, "left-alone.go"), "");

    expect((await blocking).password?.reveal()).toBe("p");
    expect((await staying).password?.reveal()).toBe("p");
    expect(await started("left-alone")).toBe(2);
  });
});
