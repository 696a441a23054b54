/**
 * The ports for simulators. They are below the ephemeral ports (on Linux from 32768, elsewhere from 49152), so that a
 * simulator that stops finds its port free when it listens again.
 */
const ALL = { first: 10_000, count: 22_000 };

let range = ALL;
let next = Math.floor(Math.random() * ALL.count);

/** Restricts this process to one of `shares` equal parts, so that the processes of a test run use different ports. */
export function usePortShare(share: number, shares: number): void {
  const count = Math.floor(ALL.count / shares);
  range = { first: ALL.first + (share % shares) * count, count };
}

/** Calls `listen` with `port`, or, if that is 0, with free ports until one is not in use. */
export async function listenOn(port: number, listen: (port: number) => Promise<void>): Promise<void> {
  if (port !== 0) return listen(port);
  for (let attempt = 1; ; attempt++) {
    try {
      return await listen(range.first + (next++ % range.count));
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "EADDRINUSE" || attempt === range.count) throw thrown;
    }
  }
}
