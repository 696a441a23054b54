import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { ErrorClass } from "../../../shared/contract/error-class.ts";
import { exitCodeOf } from "../../../shared/contract/exit-code.ts";
import { definitions } from "../../../worker/features/metrics/definitions.ts";
import { REFUSING } from "../../docs/failures/machines.ts";
import { Stage } from "../../docs/failures/stage.ts";
import { codeBlocks, headingAnchors } from "../../docs/markdown.ts";

const BACK_UP_PAGE = "docs/how-to/back-up-and-restore.md";
const alertPage = await readFile("docs/how-to/respond-to-alerts.md", "utf8");
const classPage = await readFile("docs/reference/error-classes.md", "utf8");
const backUpPage = await readFile(BACK_UP_PAGE, "utf8");

const Rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string().optional() }).loose()) }).loose()),
});

/** The text below a heading, up to the next heading. */
function section(page: string, heading: string): string {
  const [, rest = ""] = page.split(`\n### ${heading}\n`);
  return rest.split(/^#/m)[0] ?? "";
}

describe("the pages for operators", () => {
  it("have a section for each alert and for no other", async () => {
    const rules = Rules.parse(parse(await readFile("deploy/prometheus/alerts.yaml", "utf8")));
    const alerts = rules.groups.flatMap(({ rules: all }) => all.flatMap(({ alert }) => alert ?? []));

    expect(alerts.length).toBeGreaterThan(0);
    expect(headingAnchors(alertPage).filter((anchor) => anchor.startsWith("alert-"))).toEqual(
      alerts.map((alert) => `alert-${alert.toLowerCase()}`),
    );
    for (const alert of alerts) expect(section(alertPage, `Alert ${alert}`).trim()).toMatch(/\w.*\./s);
  });

  it("have a section for each error class, with its exit code", () => {
    for (const errorClass of ErrorClass.options) {
      expect(section(classPage, errorClass), errorClass).toMatch(
        new RegExp(`^\nExit code ${exitCodeOf(errorClass, "SIGINT")}\\b`),
      );
    }
    expect(classPage.match(/^### .+$/gm)).toEqual(ErrorClass.options.map((name) => `### ${name}`));
  });

  it("name metrics that exist", () => {
    const known = Object.values(definitions).map(({ name }) => String(name));
    const named = [...`${alertPage}${classPage}`.matchAll(/\b(?:pbnj|process|nodejs)_[a-z_]+\b/g)].map(
      ([name]) => name,
    );

    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe("the backup commands", () => {
  /** The marked commands, with the root of the file system in another place. */
  async function runBlock(index: number, root: string, folder: string): Promise<void> {
    const marked = codeBlocks(BACK_UP_PAGE, backUpPage).filter(({ exitCode }) => exitCode !== undefined);
    const text = marked[index]?.text;
    if (text === undefined) throw new Error(`${BACK_UP_PAGE} has no such command`);
    const script = text
      .replaceAll("--directory /", `--directory ${root}`)
      .replaceAll(" /var/lib/", ` ${root}/var/lib/`);
    await promisify(execFile)("bash", ["-euc", script], { cwd: folder });
  }

  it("restore the directory's ID, and no action in flight", { timeout: 120_000 }, async () => {
    await using stage = await Stage.open();
    const server = await stage.tink();
    const inventory = await stage.inventory(REFUSING);
    const root = join(stage.folder, "root");
    const state = join(root, "var/lib/pbnj-worker");
    const settings = join(root, "etc/pbnj-worker/worker.yaml");
    await mkdir(dirname(settings), { recursive: true });
    await writeFile(settings, "grpcServer: 192.0.2.1\n");
    const argv = ["--grpc-server", server.address, "--inventory", inventory, "--state-directory", state];
    const first = stage.start(argv);
    await first.untilLogged("worker started");
    first.kill("SIGTERM");
    await first.ended;
    const before = await readFile(join(state, "state.json"), "utf8");

    await runBlock(0, root, stage.folder);
    // The journal and the settings change after the backup.
    await writeFile(join(state, "journal", "0123456789abcdef0123456789abcdef.json"), "{}");
    await writeFile(join(state, "state.json"), "{}");
    await writeFile(settings, "");
    await runBlock(1, root, stage.folder);
    const second = stage.start(argv);
    await second.untilLogged("worker started", { unfinished: 0 });
    second.kill("SIGTERM");

    expect(await second.ended, second.stderr).toEqual({ code: 0, signal: null });
    expect(await readFile(join(state, "state.json"), "utf8")).toBe(before);
    expect(await readFile(settings, "utf8")).toBe("grpcServer: 192.0.2.1\n");
    expect(second.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    expect(second.log.map(({ msg }) => msg)).not.toContain(
      "journal entry damaged: outcome of its action unknown",
    );
  });
});
