import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { catalogue } from "../../actions/catalogue.ts";
import { testFolder } from "../support/test-folder.ts";
import { type Peer, provenWith } from "./compatibility/peer.ts";

const TITLE = "Artifact Hub's linter";
const root = join(import.meta.dirname, "../..");
const linter = process.env["ARTIFACT_HUB_LINTER"];
if (!linter) process.stderr.write(`skipped, ARTIFACT_HUB_LINTER is not set: ${TITLE}\n`);
const peer: Peer = { name: "Artifact Hub's linter", version: [linter ?? "", "version"] };

async function lint(kind: string, path: string) {
  const argv = ["lint", "--kind", kind, "--path", path];
  return execa(linter ?? "", argv, { all: true, reject: false, timeout: 100_000 });
}

describe.skipIf(!linter)(TITLE, provenWith(peer), () => {
  it("takes the chart", async () => {
    const { exitCode, all } = await lint("helm", join(root, "deploy/chart"));

    expect(all).toContain("1 package(s) found, 0 package(s) with errors");
    expect(exitCode).toBe(0);
  });

  it("takes the package of each action, and refuses one without a version", async () => {
    const { folder: output } = await testFolder();
    const script = join(root, "scripts/catalogue.ts");
    const owner = ["--home-url", "https://bmc.example/", "--maintainer", "Ada Example <ada@example.org>"];
    const options = [
      "--output",
      output,
      "--registry",
      "registry.example/bmc",
      "--provider",
      "Example",
      ...owner,
    ];
    await execa(process.execPath, [script, ...options], { cwd: root });

    expect((await lint("tbaction", output)).all).toContain(
      `${catalogue.length} package(s) found, 0 package(s) with errors`,
    );
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const metadata = join(output, "power-on", version, "artifacthub-pkg.yml");
    const text = await readFile(metadata, "utf8");
    await writeFile(metadata, text.replace(/^version: .*$/m, ""));
    expect((await lint("tbaction", output)).exitCode).toBe(1);
  });
});
