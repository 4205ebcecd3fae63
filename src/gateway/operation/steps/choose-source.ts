import type { IncomingHttpHeaders } from 'node:http';

import type { ExecutionResult } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { Context } from '../../context.ts';
import { toGatewayError } from '../../database/database-errors.ts';
import type { DataSource } from '../../model/loaders.ts';
import { mapResult } from '../json-text.ts';
import type { Call } from '../request.ts';

/** A header of responses. Reads that send it back are at least as recent as the response. */
export const POSITION_HEADER = 'Store-Position';

/** Returns a position. Clients compare positions as strings, to keep the latest; the gateway only checks for one. */
const currentPosition = (): string => (Date.now() * 1000).toString(16).padStart(16, '0');

/** Returns the source for a read, by the headers of its request. */
export const sourceFor = (
  { source, olderSource = source }: Pick<Context, 'source' | 'olderSource'>,
  headers: IncomingHttpHeaders,
): DataSource => (headers['store-position'] === undefined ? olderSource : source);

/** Whether every root field failed because the database is unavailable, so that nothing was read or written. */
const isUnavailable = ({ data, errors }: ExecutionResult): boolean =>
  errors !== undefined &&
  Object.values(data ?? {}).every((value) => value === null) &&
  errors.every(({ originalError }) => toGatewayError(originalError).code === 'SERVICE_UNAVAILABLE');

/** Chooses the source that a query reads. What makes or reads changes uses the current rows, and returns their position. */
export const chooseSource = (context: Context): Plugin<Call> => ({
  onExecute({ args: { contextValue: call }, executeFn, setExecuteFn }) {
    const { operation, req, res, requestLog, readsCurrent } = call;
    // Others may lack the latest changes, or the objects that they changed.
    if (!operation.usesChanges) {
      if (!readsCurrent) call.source = sourceFor(context, req.headers);
      return;
    }
    setExecuteFn((args) =>
      mapResult(executeFn(args), (result) => {
        // Without a primary, reads with a position would fail.
        if (requestLog.hasWritten || !isUnavailable(result)) {
          res?.setHeader(POSITION_HEADER, currentPosition());
        }
        return result;
      }),
    );
  },
});
