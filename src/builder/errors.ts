import {
  CategoryInUse,
  CategoryNotFound,
  ERRORS,
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
  description: 'Every code an error can have, here, in `extensions.code` and in REST.',
  values: ERRORS,
});

const ErrorInterface = builder.interfaceRef<StoreError>('Error').implement({
  description: 'What every error tells, whatever its type.',
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCodeEnum, description: 'What went wrong, for programs.' }),
    message: t.exposeString('message', { description: 'What went wrong, for people.' }),
    status: t.exposeInt('status', {
      description:
        "The HTTP status REST answers with. Beside a pet's own status it needs an alias: httpStatus: status.",
    }),
  }),
});

const IssueType = builder.objectRef<Issue>('InputIssue').implement({
  description: 'One bad value.',
  fields: (t) => ({
    path: t.exposeStringList('path', {
      description: 'Where it stands in the arguments: ["input", "name"].',
    }),
    message: t.exposeString('message', { description: 'What is wrong with it.' }),
  }),
});

const simpleErrors = [
  [Unauthenticated, 'UNAUTHENTICATED'],
  [CategoryNotFound, 'CATEGORY_NOT_FOUND'],
  [PetNotFound, 'PET_NOT_FOUND'],
  [OrderNotFound, 'ORDER_NOT_FOUND'],
  [CategoryInUse, 'CATEGORY_IN_USE'],
  [PetInUse, 'PET_IN_USE'],
  [PetNotAvailable, 'PET_NOT_AVAILABLE'],
  [StockLimitExceeded, 'STOCK_LIMIT_EXCEEDED'],
  [OrderComplete, 'ORDER_COMPLETE'],
  [IdempotencyConflict, 'IDEMPOTENCY_CONFLICT'],
] as const;

for (const [type, code] of simpleErrors) {
  builder.objectType(type, {
    name: type.name,
    description: ERRORS[code].description,
    interfaces: [ErrorInterface],
  });
}

for (const [type, code] of [
  [InvalidId, 'INVALID_ID'],
  [InvalidInput, 'INVALID_INPUT'],
] as const) {
  builder.objectType(type, {
    name: type.name,
    description: ERRORS[code].description,
    interfaces: [ErrorInterface],
    fields: (t) => ({
      issues: t.field({
        type: [IssueType],
        description: 'Each bad value.',
        resolve: ({ issues }) => [...issues],
      }),
    }),
  });
}

builder.objectType(Forbidden, {
  name: 'Forbidden',
  description: ERRORS.FORBIDDEN.description,
  interfaces: [ErrorInterface],
  fields: (t) => ({
    scope: t.exposeString('scope', { description: 'The scope that the token lacks.' }),
  }),
});

builder.objectType(InsufficientStock, {
  name: 'InsufficientStock',
  description: ERRORS.INSUFFICIENT_STOCK.description,
  interfaces: [ErrorInterface],
  fields: (t) => ({
    available: t.exposeInt('available', { description: 'The units that are in stock.' }),
  }),
});

builder.objectType(StaleInventory, {
  name: 'StaleInventory',
  description: ERRORS.STALE_INVENTORY.description,
  interfaces: [ErrorInterface],
  fields: (t) => ({
    available: t.exposeInt('available', { description: 'The units that are in stock.' }),
    quantity: t.exposeInt('available', { description: 'The same as `available`.' }),
  }),
});
