const OTHER_USER = 65_534;

/** Runs `work` without the rights of root, which may do everything: tests in containers are root's. */
export async function asOtherUser<T>(work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work();
  process.setegid?.(OTHER_USER);
  process.seteuid?.(OTHER_USER);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}
