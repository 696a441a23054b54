import { access, readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";

test("the threat model names a proof for every guarantee, and every attack is one of them", async () => {
  const page = await readFile("docs/explanation/security.md", "utf8");
  const attacks = (await readdir("test/attack/attacks")).map((file) => file.replace(/\.ts$/, ""));
  const rows = page.split("\n").filter((line) => /^\| (?!---|attempt)/.test(line));
  const proofs = rows.map((row) => row.split("|").at(-2)?.trim().split(", ") ?? []);

  const files = proofs.flat().filter((proof) => !attacks.includes(proof));

  expect(proofs.length).toBeGreaterThan(40);
  await expect(Promise.all(files.map((file) => access(file)))).resolves.toBeDefined();
  expect(files.filter((file) => !/^test\/\S+\.test\.ts$/.test(file))).toEqual([]);
  expect(attacks.filter((attack) => !proofs.flat().includes(attack))).toEqual([]);
});
