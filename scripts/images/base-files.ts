import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { interpreterOf, neededLibraries, withoutSymbols } from "./elf.ts";

/** The files of a base image: Node and its shared libraries, and nothing else. Imports built-in modules only. */
const NODE_PATH = "/usr/local/bin/node";
const CERTIFICATES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/cert.pem",
];
/** Loaded by name at run time for resolving host names, so no program names them. */
const NAME_SERVICES = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];
const FOLDERS = [
  ...["x86_64", "aarch64"].flatMap((cpu) => [`/lib/${cpu}-linux-gnu`, `/usr/lib/${cpu}-linux-gnu`]),
  ...["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"],
];

/** The source of each file by its path in the image, from the system whose root folder is `root`. */
export function baseFiles(root: string, node: string): ReadonlyMap<string, string> {
  const program = readFileSync(node);
  const files = new Map([[NODE_PATH, node]]);
  const loader = interpreterOf(program);
  if (loader !== undefined) files.set(loader, join(root, loader));
  const named = new Set([...neededLibraries(program), ...NAME_SERVICES]);
  for (const name of named) {
    if (loader !== undefined && basename(loader) === name) continue;
    const path = FOLDERS.map((folder) => join(folder, name)).find((each) => existsSync(join(root, each)));
    if (path === undefined) {
      if (NAME_SERVICES.includes(name)) continue;
      throw new Error(`${node} needs ${name}, which is not there`);
    }
    files.set(path, join(root, path));
    for (const next of neededLibraries(readFileSync(join(root, path)))) named.add(next);
  }
  const certificates = CERTIFICATES.find((path) => existsSync(join(root, path)));
  if (certificates !== undefined) files.set(CERTIFICATES[0] ?? "", join(root, certificates));
  return files;
}

/** Writes them, Node without its symbols, and the few other files that programs expect, below `target`. */
export function writeBase(files: ReadonlyMap<string, string>, target: string): void {
  for (const [path, source] of files) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    if (path === NODE_PATH)
      writeFileSync(join(target, path), withoutSymbols(readFileSync(source)), { mode: 0o755 });
    else copyFileSync(source, join(target, path));
  }
  mkdirSync(join(target, "etc"), { recursive: true });
  mkdirSync(join(target, "tmp"));
  // The engine uses this mode for a tmpfs over the folder; mkdir alone would apply the umask.
  chmodSync(join(target, "tmp"), 0o1777);
  writeFileSync(
    join(target, "etc/passwd"),
    "root:x:0:0:root:/:/none\nnonroot:x:65532:65532:nonroot:/tmp:/none\n",
  );
  writeFileSync(join(target, "etc/group"), "root:x:0:\nnonroot:x:65532:\n");
  writeFileSync(join(target, "etc/nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n");
}
