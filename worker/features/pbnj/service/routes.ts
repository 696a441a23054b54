import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { z } from "zod";
import { BMC } from "../api/gen/bmc_pb.ts";
import { Diagnostic } from "../api/gen/diagnostic_pb.ts";
import { Machine } from "../api/gen/machine_pb.ts";
import { Task } from "../api/gen/task_pb.ts";
import { required } from "./authn.ts";
import type { Requests } from "./requests.ts";
import type { EndedTask } from "./tasks.ts";
import * as work from "./work.ts";

export const SERVICES: readonly DescService[] = [Machine, BMC, Diagnostic, Task];

/** PBnJ's services. */
export function pbnjRoutes(requests: Requests): (router: ConnectRouter) => void {
  const submit = async (...asked: Parameters<Requests["submit"]>) => {
    const { id: taskId } = await requests.submit(...asked);
    return { taskId };
  };
  return (router) => {
    router.service(Machine, {
      power: (request, context) => submit(request, work.powerWork(request), context),
      bootDevice: (request, context) => submit(request, work.bootDeviceWork(request), context),
    });
    router.service(BMC, {
      networkSource() {
        throw new ConnectError("NetworkSource is not implemented, as in PBnJ", Code.Unimplemented);
      },
      reset: (request, context) => submit(request, work.resetWork(request), context),
      createUser: (request, context) => submit(request, work.createUserWork(request), context),
      updateUser: (request, context) => submit(request, work.updateUserWork(request), context),
      deleteUser: (request, context) => submit(request, work.deleteUserWork(request), context),
      deactivateSOL: (request, context) => submit(request, work.deactivateSolWork(), context),
    });
    router.service(Diagnostic, {
      screenshot: async (request, context) =>
        imageOf(await requests.complete(request, work.screenshotWork(), context)),
      clearSystemEventLog: (request, context) => submit(request, work.clearSelWork(), context),
      async sendNMI(request, context) {
        await requests.complete(request, work.nmiWork(), context);
        return {};
      },
    });
    router.service(Task, {
      status({ taskId }, context) {
        const { id, description, messages, end } = requests.find(required("task_id", taskId), context);
        if (end?.error) throw new ConnectError(end.error.message, end.error.code);
        const state = end ? "complete" : "running";
        return { id, description, messages, state, complete: end !== undefined, result: end?.result ?? "" };
      },
    });
  };
}

const Picture = z.object({ mediaType: z.string(), image: z.base64() });

function imageOf({ outcome }: EndedTask) {
  const picture = Picture.safeParse(outcome?.result?.data);
  if (!picture.success) throw new ConnectError("the image is not available any more", Code.Unavailable);
  const { mediaType, image } = picture.data;
  return { image: new Uint8Array(Buffer.from(image, "base64")), filetype: mediaType.replace(/^image\//, "") };
}
