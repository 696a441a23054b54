import { expect, it } from "vitest";
import { readBashWords } from "../../cli/complete.ts";

it.each([
  [[""], [], "", 0],
  [["action", "power-o"], ["action"], "power-o", 0],
  [["--mode", "=", "so"], [], "--mode=so", 7],
  [["--mode", "="], [], "--mode=", 7],
  [["--mode=so"], [], "--mode=so", 0],
  [["--mode", "=", "hard", ""], ["--mode=hard"], "", 0],
  [["--mode", "=", "--dry-run"], ["--mode="], "--dry-run", 0],
  [["--map", "machine", "=", "n1", "--task", ""], ["--map", "machine=n1", "--task"], "", 0],
  [["--grpc-server", "[", "::", "1]"], ["--grpc-server"], "[::1]", 3],
  [["--bmc-host", "h", ":", "1", "--mo"], ["--bmc-host", "h:1"], "--mo", 0],
  [["--mode", "'so"], ["--mode"], "so", 0],
  [["run", "my\\ file", "--ma"], ["run", "my file"], "--ma", 0],
])("%j is read as %j and then %j", (pieces, earlier, current, ownLength) => {
  expect(readBashWords(pieces)).toEqual({ earlier, current, ownLength });
});
