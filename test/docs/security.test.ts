import { access, readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const page = await readFile("docs/explanation/security.md", "utf8");
const attacks = (await readdir("test/attack/attacks")).map((file) => file.replace(/\.ts$/, ""));

/** The rows below the head of each table of a section: what each says, and its proofs. */
function rowsOf(section: string): readonly { readonly row: string; readonly proofs: readonly string[] }[] {
  return section
    .split(/\n\|(?: --- \|)+\n/)
    .slice(1)
    .flatMap((table) => table.split("\n\n")[0]?.trimEnd().split("\n") ?? [])
    .map((row) => ({ row, proofs: row.split("|").at(-2)?.trim().split(", ") ?? [] }));
}

test("the threat model names a proof for every guarantee and every risk, and every attack is one of them", async () => {
  const proofs = rowsOf(page).flatMap((row) => row.proofs);
  const files = proofs.filter((proof) => !attacks.includes(proof));

  expect(rowsOf(page).length).toBeGreaterThan(80);
  await expect(Promise.all(files.map((file) => access(file)))).resolves.toBeDefined();
  expect(files.filter((file) => !/^test\/\S+\.test\.ts$/.test(file))).toEqual([]);
  expect(attacks.filter((attack) => !proofs.includes(attack))).toEqual([]);
});

test("each part of the threat model is a table, so that it promises nothing without a proof", () => {
  const [, ...sections] = page.split(/^## /m);

  expect(sections.filter((section) => rowsOf(section).length === 0)).toEqual([]);
  // Beside the tables: who the attacker is.
  const lists = sections.filter((section) => /^([-*]|\d+\.) /m.test(section));
  expect(lists).toEqual([]);
});
