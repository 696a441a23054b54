/** What may import what (docs/architecture.md); `npm run lint` checks it. */
export default {
  forbidden: [
    { name: "no-cycle", severity: "error", from: {}, to: { circular: true } },
    { name: "no-folder-cycle", severity: "error", scope: "folder", from: {}, to: { circular: true } },
    {
      name: "shared-is-the-bottom",
      severity: "error",
      from: { path: "^shared/" },
      to: { path: "^(worker|actions|cli)/" },
    },
    {
      name: "worker-and-actions-are-apart",
      comment: "They tell each other only what shared/contract/ describes.",
      severity: "error",
      from: { path: "^(worker|actions)/" },
      to: { path: "^(worker|actions|cli)/", pathNot: "^$1/" },
    },
    {
      name: "core-is-the-bottom",
      comment: "What it needs of others is an interface in core/ports/.",
      severity: "error",
      from: { path: "^worker/core/" },
      to: { path: "^worker/", pathNot: "^worker/core/" },
    },
    {
      name: "features-are-on-top",
      comment: "Only the table in main/ knows them, and what reads it.",
      severity: "error",
      from: {
        path: "^worker/(machines|policy|config|sources|runtimes|kubernetes|listener|template|document)/",
      },
      to: { path: "^worker/(features|main|doctor|commands)/" },
    },
    {
      name: "features-are-apart",
      comment: "What two of them need is a service, or an offer (worker/features/feature.ts).",
      severity: "error",
      from: { path: "^worker/features/([^/]+)/" },
      to: {
        path: "^worker/(features/[^/]+|main|doctor|commands)/",
        pathNot: "^worker/features/($1|shared)/",
      },
    },
    {
      name: "simulators-are-for-the-lab",
      severity: "error",
      from: { path: "^(worker|shared|actions|cli)/", pathNot: "^cli/lab/" },
      to: { path: "^simulators/" },
    },
  ],
  options: {
    parser: "swc",
    includeOnly: "^(worker|shared|actions|cli|simulators)/",
    exclude: "/gen/",
  },
};
