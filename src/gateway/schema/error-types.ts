import type { OutputRef } from '@pothos/core';

import { type ErrorCodes, ERRORS, withGatewayErrors } from '../contract/error-codes.ts';
import {
  Forbidden,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  type Issue,
  type ErrorType,
  type GatewayError,
  Unauthenticated,
} from '../contract/gateway-error.ts';
import type { Builder, StoreTypes } from './builder-types.ts';

const GATEWAY_TYPES = [
  [Unauthenticated, 'UNAUTHENTICATED'],
  [Forbidden, 'FORBIDDEN'],
  [InvalidId, 'INVALID_ID'],
  [InvalidInput, 'INVALID_INPUT'],
  [IdempotencyConflict, 'IDEMPOTENCY_CONFLICT'],
] as const;

// The arguments of the constructors differ.
// oxlint-disable-next-line typescript/no-explicit-any
type ErrorClass = new (...args: any[]) => GatewayError;

/** Defines the fields that some errors of the gateway have. */
function defineFields<Types extends StoreTypes>(builder: Builder<Types>): void {
  const IssueType = builder.objectRef<Issue>('InputIssue').implement({
    description: 'An invalid value.',
    fields: (t) => ({
      path: t.exposeStringList('path', {
        description: 'The path of the value in the arguments, such as ["input", "name"].',
      }),
      message: t.exposeString('message', { description: 'Why the value is invalid.' }),
    }),
  });

  for (const type of [InvalidId, InvalidInput]) {
    builder.objectField(type, 'issues', (t) =>
      t.field({
        type: [IssueType],
        description: 'The invalid values.',
        resolve: ({ issues }) => [...issues],
      }),
    );
  }

  builder.objectField(Forbidden, 'scope', (t) =>
    t.exposeString('scope', { description: 'The scope that the token lacks.' }),
  );
}

/** Defines the interface `Error`, and the types of the errors that mutations return. */
export function defineErrors<Types extends StoreTypes>(builder: Builder<Types>) {
  // Pothos finds it by its name when the schema is built, as it is defined last.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const ErrorCodeEnum = 'ErrorCode' as unknown as OutputRef<string>;

  const ErrorInterface = builder.interfaceRef<GatewayError>('Error').implement({
    description: 'The fields that all errors have.',
    fields: (t) => ({
      code: t.expose('code', { type: ErrorCodeEnum, description: 'The error code, for programs.' }),
      message: t.exposeString('message', {
        description: 'A description of the error, for people.',
      }),
      status: t.exposeInt('status', {
        description:
          'The HTTP status of the same error in REST. To select a field `status` of another type too, use an ' +
          'alias: httpStatus: status.',
      }),
    }),
  });

  const define = (type: ErrorClass, description: string): void =>
    void builder.objectType(type, { name: type.name, description, interfaces: [ErrorInterface] });
  for (const [type, code] of GATEWAY_TYPES) define(type, ERRORS[code].description);

  defineFields(builder);
  const types = new Set<ErrorType>();
  let isComplete = false;
  return {
    /** Defines the types of the errors that a store declares. */
    addErrors: (added: readonly ErrorType[]): void => {
      if (isComplete) throw new Error('Call fieldsOf before the fields of types are made.');
      for (const type of added) {
        if (!types.has(type)) define(type, type.kind.description);
        types.add(type);
      }
    },
    /** Defines the enum of all codes, when all types are known; returns the codes of the store. */
    defineErrorCodes: (): ErrorCodes => {
      isComplete = true;
      const codes = Object.fromEntries(
        Array.from(types, ({ kind: { code, ...kind } }) => [code, kind]),
      );
      builder.enumType('ErrorCode', {
        description: 'All error codes, of `Error.code`, of `extensions.code` and of REST.',
        values: withGatewayErrors(codes),
      });
      return codes;
    },
  };
}
