import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { catalogue } from "../../actions/catalogue.ts";
import { actionLibrary } from "../../cli/action-library.ts";
import { programCommands } from "../../cli/commands.ts";
import { completionHome } from "../support/completion.ts";
import { describeWithProgram } from "./programs.ts";

const TYPE_LINES = join(import.meta.dirname, "type-lines.zsh");
/** Every line starts the program once or twice, from its sources. */
const SLOW_TEST_MS = 120_000;

type Home = Awaited<ReturnType<typeof completionHome>>;

interface Completed {
  readonly offered: readonly string[];
  /** With one TAB. */
  readonly becomes: string;
}

/** Types lines into a shell on a terminal of its own, and presses TAB at the end of each. */
async function typeInto(shell: "zsh" | "bash", { home, env }: Home, lines: readonly string[]) {
  const { stdout } = await execa("zsh", [TYPE_LINES, shell], {
    cwd: home,
    env: { ...env, TERM: "dumb" },
    extendEnv: false,
    input: lines.map((line) => `${line}\n`).join(""),
    timeout: SLOW_TEST_MS - 10_000,
  });
  const completed: Completed[] = [];
  let offered: string[] = [];
  for (const line of stdout.split("\n")) {
    if (!line.startsWith("=> ")) {
      offered.push(line.trim());
      continue;
    }
    completed.push({ offered, becomes: line.slice(3) });
    offered = [];
  }
  return completed;
}

const becoming = (completed: readonly Completed[]) => completed.map(({ becomes }) => becomes);

/** Typed lines and their completions, for both shells. */
const LINES: readonly (readonly [string, string])[] = [
  ["pbnj-worker comp", "pbnj-worker completion "],
  ["pbnj-worker action power-of", "pbnj-worker action power-off "],
  ["pbnj-worker action power-off --mo", "pbnj-worker action power-off --mode "],
  ["pbnj-worker action power-off --mode ha", "pbnj-worker action power-off --mode hard "],
  ["pbnj-worker action power-off --mode=ha", "pbnj-worker action power-off --mode=hard "],
  ["pbnj-worker action power-off --mode 'ha", "pbnj-worker action power-off --mode 'hard' "],
  [
    "pbnj-worker action power-off --bmc-providers=redfish,am",
    "pbnj-worker action power-off --bmc-providers=redfish,amt ",
  ],
  [
    "pbnj-worker action power-off --bmc-password-file files/my\\ fi",
    "pbnj-worker action power-off --bmc-password-file files/my\\ file ",
  ],
  [
    "pbnj-worker action power-off --bmc-password-file=files/my\\ fi",
    "pbnj-worker action power-off --bmc-password-file=files/my\\ file ",
  ],
  [
    'pbnj-worker action power-off --bmc-password-file "files/my fi',
    'pbnj-worker action power-off --bmc-password-file "files/my file" ',
  ],
  ["pbnj-worker run files/t", "pbnj-worker run files/template.yaml "],
  [
    "pbnj-worker start --actions-directory files/",
    "pbnj-worker start --actions-directory files/my\\ folder/",
  ],
  [
    "pbnj-worker start --actions-directory=files/",
    "pbnj-worker start --actions-directory=files/my\\ folder/",
  ],
  [
    "pbnj-worker start --grpc-server localhost:42113 --runtime=do",
    "pbnj-worker start --grpc-server localhost:42113 --runtime=docker ",
  ],
  [
    "pbnj-worker action power-off --inventory files/racks.yaml --machine no",
    "pbnj-worker action power-off --inventory files/racks.yaml --machine node-01 ",
  ],
  [
    "pbnj-worker drift --inventory=files/racks.yaml --selector ra",
    "pbnj-worker drift --inventory=files/racks.yaml --selector rack=r1 ",
  ],
  [
    "pbnj-worker record --inventory files/racks.yaml no",
    "pbnj-worker record --inventory files/racks.yaml node-01 ",
  ],
  ["pbnj-worker nonsense ", "pbnj-worker nonsense "],
  ["pbnj-worker action power-off --bmc-host ", "pbnj-worker action power-off --bmc-host "],
];

describeWithProgram("zsh", "completion on a terminal", () => {
  it.each(["bash", "zsh"] as const)(
    "%s completes commands, actions, flags, values and files, and quotes as the user did",
    async (shell) => {
      await using home = await completionHome();

      const completed = await typeInto(
        shell,
        home,
        LINES.map(([typed]) => typed),
      );

      expect(becoming(completed)).toEqual(LINES.map(([, becomes]) => becomes));
    },
    SLOW_TEST_MS,
  );

  it(
    "zsh offers every word there is",
    async () => {
      await using home = await completionHome();

      const [commands, modes, files] = await typeInto("zsh", home, [
        "pbnj-worker ",
        "pbnj-worker action power-off --mode ",
        "pbnj-worker run files/my",
      ]);

      const words = (completed?: Completed) => completed?.offered.flatMap((line) => line.split(/ (?<!\\ )/));
      const own = { file: "pbnj-worker", actions: catalogue, library: actionLibrary };
      expect(words(commands)).toEqual([...programCommands(own).map(({ name }) => name), "help"]);
      expect(words(modes)?.toSorted()).toEqual(["hard", "soft", "soft-then-hard"]);
      expect(words(files)).toEqual(["my\\ file", "my\\ folder"]);
    },
    SLOW_TEST_MS,
  );

  it(
    "zsh shows nothing when the program fails",
    async () => {
      await using home = await completionHome();
      const script = await execa("pbnj-worker", ["completion", "zsh"], { env: home.env });
      await execa("tee", [join(home.home, "script")], { input: script.stdout, stdout: "ignore" });
      await home.setProgram('[ "$1" = completion ] && exec cat "$HOME/script"; echo broken >&2; exit 1');

      const completed = await typeInto("zsh", home, ["pbnj-worker act"]);

      expect(completed).toEqual([{ offered: [], becomes: "pbnj-worker act" }]);
    },
    SLOW_TEST_MS,
  );
});

describeWithProgram("fish", "completion in fish", () => {
  async function complete({ home, env }: Home, line: string): Promise<readonly string[]> {
    const script = 'pbnj-worker completion fish | source; complete -C "$argv"';
    const { stdout, stderr } = await execa("fish", ["--no-config", "-c", script, line], {
      cwd: home,
      env,
      extendEnv: false,
      timeout: 60_000,
    });
    expect(stderr).toBe("");
    return stdout === "" ? [] : stdout.split("\n");
  }

  it.each<[string, readonly string[]]>([
    [
      "pbnj-worker act",
      ["action\trun one action here, without a container", "actions\tlist the actions, one per line"],
    ],
    ["pbnj-worker action power-sta", ["power-status\tShow whether a machine is on"]],
    ["pbnj-worker action power-off --mode ", ["hard", "soft", "soft-then-hard\tthe default"]],
    ["pbnj-worker action power-off --mode=h", ["--mode=hard"]],
    ["pbnj-worker action power-off --bmc-providers redfish,am", ["redfish,amt"]],
    ["pbnj-worker action power-off --bmc-password-file files/my\\ fi", ["files/my file"]],
    ["pbnj-worker action power-off --bmc-password-file 'files/my fi", ["files/my file"]],
    ["pbnj-worker action power-off --mode 'ha", ["hard"]],
    ["pbnj-worker action power-off --bmc-password-file=files/t", ["--bmc-password-file=files/template.yaml"]],
    ["pbnj-worker run files/t", ["files/template.yaml"]],
    ["pbnj-worker start --actions-directory files/", ["files/my folder/\tDirectory"]],
    ["pbnj-worker action power-off --inventory files/racks.yaml --machine no", ["node-01"]],
    ["pbnj-worker drift --inventory=files/racks.yaml --selector rack=", ["rack=r1"]],
    ["pbnj-worker record --inventory files/racks.yaml no", ["node-01"]],
    ["pbnj-worker nonsense ", []],
    ["pbnj-worker action power-off --bmc-host ", []],
  ])("completes `%s`", async (line, expected) => {
    await using home = await completionHome();

    expect(await complete(home, line)).toEqual(expected);
  });

  it("shows nothing when the program fails", async () => {
    await using home = await completionHome();
    const script = await execa("pbnj-worker", ["completion", "fish"], { env: home.env });
    await execa("tee", [join(home.home, "script")], { input: script.stdout, stdout: "ignore" });
    await home.setProgram('[ "$1" = completion ] && exec cat "$HOME/script"; echo broken >&2; exit 1');

    expect(await complete(home, "pbnj-worker act")).toEqual([]);
  });
});
