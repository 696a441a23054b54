import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
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

/** The files of a base by their paths in the image. */
export interface BaseFiles {
  /** Their sources. */
  readonly copied: ReadonlyMap<string, string>;
  /** Their texts. */
  readonly written: ReadonlyMap<string, string>;
}

/** From the system whose root folder is `root`. */
export function baseFiles(root: string, node: string): BaseFiles {
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
  const written = packageEntries(root, [...files.keys()]);
  // What the packages are of: a link to it would lead out of `root`.
  const release = ["usr/lib/os-release", "etc/os-release"].find((path) => existsSync(join(root, path)));
  if (release !== undefined) files.set("/etc/os-release", join(root, release));
  return { copied: files, written };
}

/** Debian's description of each package that has one of the files, where scanners look for it in images without dpkg. */
function packageEntries(root: string, paths: readonly string[]): ReadonlyMap<string, string> {
  const dpkg = join(root, "var/lib/dpkg");
  if (!existsSync(join(dpkg, "status"))) return new Map();
  const wanted = new Set(paths.map(withoutUsr));
  const owns = (list: string) =>
    readFileSync(join(dpkg, "info", list), "utf8")
      .split("\n")
      .some((path) => wanted.has(withoutUsr(path)));
  const owners = new Set(
    readdirSync(join(dpkg, "info"))
      .filter((name) => name.endsWith(".list") && owns(name))
      .map((name) => name.replace(/(:\w+)?\.list$/, "")),
  );
  const entries = readFileSync(join(dpkg, "status"), "utf8").split(/\n\n+/);
  const named = entries.map((entry) => [/^Package: (\S+)$/m.exec(entry)?.[1] ?? "", entry.trim()] as const);
  return new Map(
    named
      .filter(([name]) => owners.has(name))
      .map(([name, entry]) => [`/var/lib/dpkg/status.d/${name}`, `${entry}\n`]),
  );
}

/** `/lib` is `/usr/lib`. */
function withoutUsr(path: string): string {
  return path.replace(/^\/usr\//, "/");
}

/** Writes them, Node without its symbols, and the few other files that programs expect, below `target`. */
export function writeBase({ copied, written }: BaseFiles, target: string): void {
  for (const [path, text] of written) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), text);
  }
  for (const [path, source] of copied) {
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
