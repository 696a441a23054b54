import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { catalogue, loadAction } from "../../actions/catalogue.ts";
import { fieldGroups } from "../../actions/harness/input/flags.ts";
import { flagOf } from "../../actions/harness/input/input.ts";
import { actionLibrary } from "../../cli/action-library.ts";
import { defineDiscover } from "../../cli/discover/define-discover.ts";
import { defineDrift } from "../../cli/drift/define-drift.ts";
import { defineLab } from "../../cli/lab/lab-command.ts";
import { defineRecord } from "../../cli/record/record-command.ts";
import { addConfigOptions, definePolicy } from "../../worker/commands/define-commands.ts";
import { settings } from "../../worker/main/settings.ts";
import { commandProblems } from "./command-line.ts";
import { codeBlocks, headingAnchors, inlineCode, localLinks } from "./markdown.ts";
import { shellCommands } from "./shell-words.ts";
import { yamlProblems } from "./yaml-blocks.ts";

const inDocs = (await readdir("docs", { recursive: true })).flatMap((name) =>
  name.endsWith(".md") ? [`docs/${name}`] : [],
);
const pages = await Promise.all(
  [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/README.md",

    ...inDocs,
  ].map(async (path) => ({ path, page: await readFile(path, "utf8") })),
);
const blocks = pages.flatMap(({ path, page }) => codeBlocks(path, page));
const ofLanguage = (...languages: readonly string[]) =>
  blocks.filter(({ language }) => languages.includes(language));

describe("a command in a manual", () => {
  it.each(ofLanguage("sh"))("at $at is one that the program understands", async ({ text }) => {
    const commands = shellCommands(text);
    const problems = await Promise.all(commands.map(commandProblems));

    expect(commands.length).toBeGreaterThan(0);
    expect(problems.flat()).toEqual([]);
  });

  it.each(ofLanguage("sh"))("at $at names files of this project that are there", ({ text }) => {
    const named = shellCommands(text)
      .flat()
      .filter((word) => /^(?:deploy|docs|examples|scripts|test)\//.test(word));

    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  it.each([
    ["pbnj-worker start --runtiem docker", ["unknown flag --runtiem, did you mean --runtime?"]],
    ["sudo -u pbnj-worker pbnj-worker dcotor", ["there is no command dcotor"]],
    ["npm run -s pbnj-worker -- action power-of", ["there is no action power-of"]],
    ["pbnj-worker action power-off --mode-of off", ["unknown flag --mode-of, did you mean --mode?"]],
    ["npm run simulatr", ["there is no script simulatr"]],
    ["systemclt start pbnj-worker", ["no program systemclt is known here"]],
  ])("would be found out when it were %s", async (text, problems) => {
    const [command = []] = shellCommands(text);

    expect(await commandProblems(command)).toEqual(problems);
  });
});

describe("a file in a manual", () => {
  it.each(ofLanguage("yaml"))("at $at is taken by the parser that it is for", ({ at, text }) => {
    const [path] = at.split(":");
    const own = blocks.filter((block) => block.at.startsWith(`${path}:`));
    const files = new Map(own.flatMap(({ file, text: held }) => (file ? [[file, held] as const] : [])));

    expect(yamlProblems(text, files)).toEqual([]);
  });

  it.each(ofLanguage("json"))("at $at is JSON", ({ text }) => {
    const lines = text.startsWith("{\n") ? [text] : text.trimEnd().split("\n");

    expect(lines.map((line) => typeof JSON.parse(line))).toEqual(lines.map(() => "object"));
  });

  it.each([
    ["machines:\n  - name: node-1\n    hots: x\n", /hots is not known/],
    ["images: [a]\ntenant: []\n", /tenant/],
    ["grpcServer: 192.0.2.1\nloglevel: info\n", /loglevel/],
    [
      'version: "0.1"\nname: t\nglobal_timeout: 1\ntasks:\n  - name: a\n    actions: []\n',
      /no actions|worker/,
    ],
  ])("would be found out when it were %j", (text, problem) => {
    expect(yamlProblems(text, new Map()).join("\n")).toMatch(problem);
  });
});

/** All that the program may say, as far as it is in one piece in the source. */
const source = (
  await Promise.all(
    ["actions", "cli", "shared", "simulators", "worker"].map(async (folder) =>
      Promise.all(
        (
          await readdir(folder, { recursive: true })
        )
          .filter((name) => /\.(?:ts|json)$/.test(name))
          .map((name) => readFile(join(folder, name), "utf8")),
      ),
    ),
  )
)
  .flat()
  .join("\n");

describe("the running text", () => {
  it.each(pages)("of $path quotes messages that the program has", ({ page }) => {
    const quoted = inlineCode(page).filter(
      (code) => /^[a-z][a-z',:]*(?: [a-z',:]+){2,}$/.test(code) && !/^(?:docker|npm|podman) /.test(code),
    );

    expect(quoted.filter((text) => !source.includes(text))).toEqual([]);
  });

  /** Every flag of every command, of the actions, and of the programs of others that are spoken of. */
  async function knownFlags(): Promise<ReadonlySet<string>> {
    const start = addConfigOptions(new Command(), settings);
    const policy = new Command();
    const own = { file: "", actions: [], library: actionLibrary };
    definePolicy(policy, own);
    const { defineDoctor } = await import("../../worker/commands/define-commands.ts");
    const doctor = new Command();
    defineDoctor(doctor, own);
    const discover = new Command();
    defineDiscover(discover);
    const drift = new Command();
    defineDrift(drift);
    const [record, lab] = [new Command(), new Command()];
    defineRecord(record);
    defineLab(lab, own);
    const commands = [start, doctor, discover, drift, record, lab, ...policy.commands];
    const actions = await Promise.all(catalogue.map(loadAction));
    const fields = actions.flatMap((action) =>
      action ? fieldGroups(action).flatMap(([, members]) => members) : [],
    );
    const tinkerbell = [
      "--tink-controller-max-concurrent-reconciles",
      "--backend-kube-qps",
      "--backend-kube-burst",
      "--enable-rufio-controller",
      "--rufio-controller-enable-leader-election",
      "--rufio-controller-leader-election-namespace",
      "--rufio-power-check-interval",
      "--rufio-inventory-refresh-interval",
      "--rufio-enable-inventory-collection",
      "--rufio-bmc-connect-timeout",
      "--rufio-max-concurrent-reconciles",
      "--tink-server-auto-enrollment-enabled",
      "--tink-server-auto-discovery-enabled",
    ];
    const pbnj = [
      ...["--port", "--metricsListenAddr", "--enableAuthz"],
      ...["--bmcTimeout", "--skipRedfishVersions", "--logLevel"],
    ];
    const others = [
      "--group-add",
      "--help",
      "--map",
      "--namespace",
      "--task",
      "--dry-run",
      "--even-if",
      "--version",
      "--push",
      "--save",
    ];
    return new Set([
      ...commands.flatMap(({ options }) => options.flatMap(({ long }) => long ?? [])),
      ...fields.map(flagOf),
      ...others,
      ...tinkerbell,
      ...pbnj,
    ]);
  }

  const mine = pages.filter(
    ({ path }) => /how-to|tutorial|troubleshooting/.test(path) && !/(release|find-defects)\.md$/.test(path),
  );

  it.each(mine)("of $path names flags that exist", async ({ page }) => {
    const known = await knownFlags();
    const named = inlineCode(page).flatMap((code) =>
      code.startsWith("--") ? [code.split(/[ =]/)[0] ?? ""] : [],
    );

    expect(named.filter((flag) => !known.has(flag))).toEqual([]);
  });

  it.each([...mine, ...pages.filter(({ path }) => path === "README.md")])(
    "of $path names variables of the worker that exist",
    ({ page }) => {
      const known = settings.map(({ env }) => env);
      const compose = ["PBNJ_WORKER_IMAGE", "PBNJ_FOLDER"];
      const named = [...page.matchAll(/\bPBNJ_[A-Z_]+\b/g)].map(([name]) => name);

      expect(named.filter((name) => ![...known, ...compose].includes(name))).toEqual([]);
    },
  );

  it.each(pages)("of $path leads to files and headings that are there", async ({ path, page }) => {
    const broken: string[] = [];
    for (const link of localLinks(page)) {
      const [file = "", fragment] = link.split("#");
      const target = file === "" ? path : join(dirname(path), file);
      if (!existsSync(target)) broken.push(link);
      else if (fragment && target.endsWith(".md")) {
        const anchors = headingAnchors(await readFile(target, "utf8"));
        if (!anchors.includes(fragment)) broken.push(link);
      }
    }

    expect(broken).toEqual([]);
  });
});
