import { randomBytes } from "node:crypto";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BmcError } from "../../../contract/bmc-error.ts";

/** Memory first, where the system has it. */
const FOLDERS = ["/dev/shm", tmpdir()];

/**
 * A file that has no name any more when its content is written, so that only who inherits the descriptor can read it
 * and
 * nothing of it outlives the processes that have it. A pipe would do as well, but Node makes sockets, which
 * cannot be opened as /dev/fd/N. The caller closes the descriptor.
 */
export function openNamelessFile(content: string): number {
  const descriptor = openUnlinked();
  try {
    // At a position, which leaves the offset at the start for systems whose /dev/fd shares it.
    writeSync(descriptor, content, 0);
    return descriptor;
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
}

function openUnlinked(): number {
  const name = `pbnj-${randomBytes(16).toString("hex")}`;
  for (const folder of FOLDERS) {
    const path = join(folder, name);
    try {
      const descriptor = openSync(path, "wx+", 0o600);
      unlinkSync(path);
      return descriptor;
    } catch {
      // The next folder may be writable.
    }
  }
  throw new BmcError(
    "unsupported",
    `no temporary file can be made in ${FOLDERS.join(" or ")}, through which ipmitool gets its password: use the ipmi provider`,
  );
}
