import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { openStdin } from "../../actions/harness/input/hidden-input.ts";

/** Types at a terminal and returns what the action reads, what the terminal shows, and its modes. */
async function type(text: string, isTTY = true) {
  const modes: boolean[] = [];
  const terminal = Object.assign(new PassThrough(), { isTTY, setRawMode: (raw: boolean) => modes.push(raw) });
  const screen = new PassThrough();
  terminal.write(text);
  if (!isTTY) terminal.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of openStdin(terminal, screen)) chunks.push(chunk);
  screen.end();
  return {
    read: Buffer.concat(chunks).toString(),
    shown: String(screen.read() ?? ""),
    modes,
  };
}

test.each([
  ["a password until Enter", "calvin\rmore", "calvin"],
  ["with corrections", "kal\x7f\b\bcalvin\r", "calvin"],
  ["a connection until its last brace", '{"host":\r"a"}\r', '{"host":\n"a"}'],
  ["anything until Ctrl+D", "{\r\x04", "{\n"],
])("typed input is not shown: %s", async (_, typed, expected) => {
  const { read, shown, modes } = await type(typed);

  expect(read).toBe(expected);
  expect(shown).toBe("input (hidden): \n");
  expect(modes).toEqual([true, false]);
});

test("piped input is read to its end, without a prompt", async () => {
  const { read, shown, modes } = await type("a\nb\n", false);

  expect([read, shown, modes]).toEqual(["a\nb\n", "", []]);
});
