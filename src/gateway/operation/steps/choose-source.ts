import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { toGatewayError } from '../../database/database-errors.ts';
import { currentPosition, POSITION_HEADER, type SourceFor } from '../../model/source-for.ts';
import { usesChanges } from '../accept/usage.ts';
import { type Call, mapResult } from '../request.ts';

/** Whether every root field failed because the database is unavailable, so that nothing was read or written. */
const isUnavailable = ({ data, errors }: ExecutionResult): boolean =>
  errors !== undefined &&
  Object.values(data ?? {}).every((value) => value === null) &&
  errors.every(({ originalError }) => toGatewayError(originalError).code === 'SERVICE_UNAVAILABLE');

/** Whether a mutation took too long, so that it may still write. */
const isUnknown = ({ data, errors: [error] = [] }: ExecutionResult): boolean =>
  !data && toGatewayError(error?.originalError).code === 'OUTCOME_UNKNOWN';

/**
 * Chooses the source that a query reads. Mutations and queries of the change log use the current rows; reads that
 * send back the position of their response see at least these.
 */
export const chooseSource = (sourceFor: SourceFor): Plugin<Call> => ({
  onExecute({ args: { contextValue: call }, executeFn, setExecuteFn }) {
    const { schema, operation, req, res, readsCurrent } = call;
    // Others may lack the latest changes, or the objects that they changed.
    if (!usesChanges(schema, operation)) {
      if (!readsCurrent) call.source = sourceFor(req.headers);
      return;
    }
    setExecuteFn((args) =>
      mapResult(executeFn(args), (result) => {
        // Without a primary, reads with a position would fail.
        if ((result.data && !isUnavailable(result)) || isUnknown(result)) {
          res?.setHeader(POSITION_HEADER, currentPosition());
        }
        return result;
      }),
    );
  },
});
