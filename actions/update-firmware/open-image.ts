import { createHash } from "node:crypto";
import { openAsBlob } from "node:fs";
import { basename } from "node:path";
import type { FirmwareImage } from "../../shared/bmc/operations/firmware-driver.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";

/** A generous limit: images are tens to hundreds of megabytes. */
const LARGEST_BYTES = 4 * 1024 ** 3;

/** Opens a file for upload, which is read when it is sent. Reading fails if the file has changed since. Throws `usage`. */
export async function openImage(
  file: string,
  sha256: string | undefined,
  signal: AbortSignal,
): Promise<FirmwareImage> {
  const content = await opened(file);
  if (content.size === 0) throw new BmcError("usage", `${file} is empty`);
  if (content.size > LARGEST_BYTES)
    throw new BmcError("usage", `${file} is larger than ${LARGEST_BYTES} bytes`);
  if (sha256 !== undefined) {
    const found = await digest(content, signal);
    if (found !== sha256.toLowerCase())
      // The actual digest is not shown, because the digest of a short secret would reveal the secret.
      throw new BmcError("usage", `${file} does not have the SHA-256 ${sha256}`);
  }
  return { name: basename(file), content };
}

async function opened(file: string): Promise<Blob> {
  try {
    return await openAsBlob(file);
  } catch (thrown) {
    const reason = thrown instanceof Error && "code" in thrown ? ` (${thrown.code})` : "";
    throw new BmcError("usage", `${file} cannot be read${reason}`);
  }
}

async function digest(content: Blob, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of content.stream()) {
    signal.throwIfAborted();
    hash.update(chunk);
  }
  return hash.digest("hex");
}
