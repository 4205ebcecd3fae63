import { ERRORS } from '../contract/error-codes.ts';
import {
  CategoryInUse,
  CategoryNotFound,
  Forbidden,
  IdempotencyConflict,
  InsufficientStock,
  InvalidId,
  InvalidInput,
  type Issue,
  OrderComplete,
  OrderNotFound,
  PetInUse,
  PetNotAvailable,
  PetNotFound,
  StaleInventory,
  StockLimitExceeded,
  type StoreError,
  Unauthenticated,
} from '../contract/errors.ts';
import { builder } from './builder.ts';

const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'All error codes, of `Error.code`, of `extensions.code` and of REST.',
  values: ERRORS,
});

const ErrorInterface = builder.interfaceRef<StoreError>('Error').implement({
  description: 'The fields that all errors have.',
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCodeEnum, description: 'The error code, for programs.' }),
    message: t.exposeString('message', { description: 'A description of the error, for people.' }),
    status: t.exposeInt('status', {
      description:
        'The HTTP status of the same error in REST. To select the status of a pet too, use an alias: ' +
        'httpStatus: status.',
    }),
  }),
});

const IssueType = builder.objectRef<Issue>('InputIssue').implement({
  description: 'An invalid value.',
  fields: (t) => ({
    path: t.exposeStringList('path', {
      description: 'The path of the value in the arguments, such as ["input", "name"].',
    }),
    message: t.exposeString('message', { description: 'Why the value is invalid.' }),
  }),
});

const types = [
  [Unauthenticated, 'UNAUTHENTICATED'],
  [CategoryNotFound, 'CATEGORY_NOT_FOUND'],
  [OrderNotFound, 'ORDER_NOT_FOUND'],
  [CategoryInUse, 'CATEGORY_IN_USE'],
  [PetInUse, 'PET_IN_USE'],
  [StockLimitExceeded, 'STOCK_LIMIT_EXCEEDED'],
  [OrderComplete, 'ORDER_COMPLETE'],
  [IdempotencyConflict, 'IDEMPOTENCY_CONFLICT'],
  [InvalidId, 'INVALID_ID'],
  [InvalidInput, 'INVALID_INPUT'],
  [Forbidden, 'FORBIDDEN'],
  [PetNotFound, 'PET_NOT_FOUND'],
  [PetNotAvailable, 'PET_NOT_AVAILABLE'],
  [InsufficientStock, 'INSUFFICIENT_STOCK'],
  [StaleInventory, 'STALE_INVENTORY'],
] as const;

for (const [type, code] of types) {
  builder.objectType(type, {
    name: type.name,
    description: ERRORS[code].description,
    interfaces: [ErrorInterface],
  });
}

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

for (const type of [InsufficientStock, StaleInventory]) {
  builder.objectField(type, 'available', (t) =>
    t.exposeInt('available', { description: 'The number of units in stock.' }),
  );
}

for (const type of [PetNotFound, PetNotAvailable, InsufficientStock]) {
  builder.objectField(type, 'line', (t) =>
    t.exposeInt('line', {
      nullable: true,
      description:
        'The index of the refused line in the `input` of placeOrders, from 0; null in other mutations.',
    }),
  );
}
