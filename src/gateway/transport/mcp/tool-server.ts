import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';

import { toError } from '../../contract/gateway-error.ts';

type Answer = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

// The first of the values that the SDK's validator lists, as JSON, in the message of its error.
const FIRST_ISSUE = /"path": \[([^\]]*)\],\s+"message": "([^"]*)"/;

/** The SDK's server, which would report invalid params as an internal error, with a list of everything that is wrong. */
// The SDK (2.x) deprecates it for all but advanced use, such as this: McpServer has no hook for invalid params.
// oxlint-disable-next-line typescript/no-deprecated
export class ToolServer extends Server {
  protected override _wrapHandler(method: string, handler: Answer): Answer {
    // oxlint-disable-next-line typescript/no-deprecated, eslint/no-underscore-dangle
    const answer = super._wrapHandler(method, handler);
    return async (request, context) => {
      try {
        return await answer(request, context);
      } catch (error) {
        const [, path = '', problem] = FIRST_ISSUE.exec(toError(error).message) ?? [];
        if (problem === undefined) throw error;
        const place = path.replaceAll(/[\s"]/g, '').replaceAll(',', '.');
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${place}: ${problem}`);
      }
    };
  }
}
