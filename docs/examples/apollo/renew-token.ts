import { type ApolloLink, CombinedGraphQLErrors } from '@apollo/client';
import { ErrorLink } from '@apollo/client/link/error';
import { from, switchMap } from 'rxjs';

/** Creates the link that gets a new token when the gateway rejects the old one, and repeats the request once. */
export const createRenewLink = (renew: () => Promise<unknown>): ApolloLink =>
  new ErrorLink(({ error, operation, forward }) => {
    const errors = CombinedGraphQLErrors.is(error) ? error.errors : [];
    const isRejected = errors.some(({ extensions }) => extensions?.['code'] === 'UNAUTHENTICATED');
    return isRejected ? from(renew()).pipe(switchMap(() => forward(operation))) : undefined;
  });
