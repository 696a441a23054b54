import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { catalogue } from "../../actions/catalogue.ts";
import { actionLibrary } from "../../cli/action-library.ts";
import { answer } from "../../cli/complete.ts";
import { testFolder } from "../support/test-folder.ts";

const own = { file: "pbnj-worker", actions: catalogue, library: actionLibrary };
const COMMANDS = [
  ...["start", "serve", "run", "doctor", "policy", "action", "actions", "machines"],
  ...["inventory", "discover", "drift", "record", "lab", "completion", "version", "help"],
];

const linesOf = async (shell: string, words: readonly string[]) =>
  (await answer(shell, words, own)).trimEnd().split("\n");

describe("completion for bash", () => {
  it.each<[readonly string[], readonly string[]]>([
    [[""], COMMANDS],
    [["act"], ["action", "actions"]],
    [["--"], ["--help", "--version"]],
    [["help", ""], COMMANDS.slice(0, -1)],
    [
      ["help", "action", "power-o"],
      ["power-off", "power-on"],
    ],
    [["action", ""], catalogue],
    [
      ["action", "power-o"],
      ["power-off", "power-on"],
    ],
    [["action", "power-off", "--mo"], ["--mode"]],
    [
      ["action", "power-off", "--mode", ""],
      ["hard", "soft", "soft-then-hard"],
    ],
    [
      ["action", "power-off", "--mode", "=", "so"],
      ["soft", "soft-then-hard"],
    ],
    [
      ["action", "power-off", "--mode", "="],
      ["hard", "soft", "soft-then-hard"],
    ],
    [["action", "power-off", "--dry-run", "=", "t"], ["true"]],
    [["action", "power-off", "--bmc-providers", "redfish,ipmit"], ["redfish,ipmitool"]],
    [["action", "power-off", "--bmc-pass"], ["--bmc-password-file"]],
    [
      ["actions", "--output", ""],
      ["table", "json"],
    ],
    [["start", "--runtime", "d"], ["docker"]],
    [["start", "--grpc-tls", "t"], ["true"]],
    [["run", "t.yaml", "--ta"], ["--task"]],
    [
      ["doctor", "--output", ""],
      ["text", "json", "yaml"],
    ],
    [["doctor", "--bm"], ["--bmc"]],
    [["doctor", "--runtime", "d"], ["docker"]],
    [["policy", ""], ["test"]],
    [["policy", "test", "t.yaml", "--name"], ["--namespace"]],
    [["policy", "test", "--pull-policy", "n"], ["never"]],
    [
      ["inventory", ""],
      ["pin", "import"],
    ],
    [["inventory", "pin", "--re"], ["--replace"]],
    [["inventory", "import", "m.csv", "--format", "m"], ["maas"]],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
  ])("offers for %j: %j", async (words, expected) => {
    const [, ...offered] = await linesOf("bash", words);

    expect(offered).toEqual(expected);
  });

  it.each<[readonly string[], readonly string[]]>([
    [
      ["action", "power-off", "--inventory", "FILE", "--machine", "node-0"],
      ["node-01", "node-02"],
    ],
    [["action", "power-off", "--inventory", "=", "FILE", "--machine", "node-02,r"], ["node-02,router"]],
    [
      ["drift", "--inventory", "FILE", "--selector", "rack"],
      ["rack=r1", "rack=r2"],
    ],
    [["drift", "--inventory", "FILE", "--selector", "rack", "=", "r2"], ["r2"]],
    [["doctor", "--inventory", "FILE", "--bmc", "ro"], ["router"]],
    [["record", "--inventory", "FILE", "ro"], ["router"]],
    [["record", "--inventory", "FILE.absent", "ro"], []],
  ])("knows the machines of the inventory: %j offers %j", async (words, expected) => {
    const { folder } = await testFolder();
    const file = join(folder, "inventory.yaml");
    const machines = ["node-01", "node-02", "router"].map((name, index) => ({
      ...{ name, host: `192.0.2.${index + 1}`, labels: { rack: index === 0 ? "r1" : "r2" } },
      credentials: { username: "admin", passwordFile: "absent" },
    }));
    await writeFile(file, JSON.stringify({ machines }));

    const [, ...offered] = await linesOf(
      "bash",
      words.map((word) => word.replace("FILE", file)),
    );

    expect(offered).toEqual(expected);
  });

  it.each([[["nonsense", ""]], [["action", "nonsense", "--"]], [["action", "power-off", "--bmc-host", ""]]])(
    "offers nothing for %j",
    async (words) => {
      expect(await linesOf("bash", words)).toEqual(["none"]);
    },
  );
});

describe("completion for zsh and fish", () => {
  it("has descriptions", async () => {
    const [kind, ...lines] = await linesOf("fish", ["action", ""]);

    expect(kind).toBe("none");
    expect(lines).toHaveLength(catalogue.length);
    expect(lines).toContainEqual(expect.stringMatching(/^power-off\tPower a machine off, g/));
  });

  it.each([
    [["action", "power-off", "--bmc-password-file", ""], "files"],
    [["action", "power-off", "--bmc-password-file="], "files"],
    [["run", ""], "files"],
    [["policy", "test", ""], "files"],
    [["inventory", "import", ""], "files"],
    [["inventory", "import", "--secrets", ""], "folders"],
    [["inventory", "pin", "--inventory", ""], "files"],
    [["start", "--actions-directory", ""], "folders"],
    [["start", "--docker-socket", ""], "files"],
    [["start", "--grpc-server", ""], "none"],
  ])("leaves paths to the shell: %j", async (words, expected) => {
    expect(await linesOf("zsh", words)).toEqual([expected]);
  });
});
