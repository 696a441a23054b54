import { checkFile, decodeText, readTextFile } from "../../../shared/read-text-file.ts";

/** Reads a file or, for `-`, stdin. Rejects with a `FileProblem` or a system error; stdin is bounded as files are. */
export async function readSource(path: string): Promise<string> {
  if (path !== "-") return readTextFile(path);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    chunks.push(Buffer.from(chunk));
    size += chunk.length;
    checkFile({ isFile: () => true, size });
  }
  return decodeText(Buffer.concat(chunks));
}
