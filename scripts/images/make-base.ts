import { join } from "node:path";
import { baseFiles, writeBase } from "./base-files.ts";

/** `make-base.ts <root> <target>`, in the build of Dockerfile.base: makes a base of the Node image that was copied to `root`. */
const [root = "", target = ""] = process.argv.slice(2);
writeBase(baseFiles(root, join(root, "usr/local/bin/node")), target);
