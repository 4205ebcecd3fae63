import {
  defaultFieldResolver,
  getNamedType,
  type GraphQLScalarType,
  type GraphQLSchema,
  isInterfaceType,
  isScalarType,
} from 'graphql';

import { MAX_SORTED_LENGTH } from '../list/listing.ts';
import type { Model } from '../model/stored-table.ts';
import { TEXT_LENGTH } from './cost-directives.ts';
import type { FieldArguments, ListSize } from './field-extensions.ts';
import { fieldsIn } from './fields-in.ts';

// A control character is written as `\u0001`; no other character takes more bytes.
const BYTES_PER_CHARACTER = 6;
const QUOTES_BYTES = 2;
// Room for the sort field's name and an id.
const POSITION_BYTES = 100;

/** The maximum size of a cursor. It contains, as JSON in base64, the value that its list is sorted by. */
export const CURSOR_BYTES = Math.ceil(
  ((BYTES_PER_CHARACTER * MAX_SORTED_LENGTH + POSITION_BYTES) * 4) / 3,
);

/**
 * Sets the maximum size of each field that exposes a text column, so that the size of every response can be estimated.
 * Also sets the cost of a field whose strings can be long.
 */
export function setTextSizes(schema: GraphQLSchema, tables: Readonly<Record<string, Model>>): void {
  for (const { type, field } of fieldsIn(schema)) {
    const { maxBytes, pothosExposedField = '', directives } = field.extensions;
    const maxLength = tables[type.name]?.columns[pothosExposedField]?.maxLength;
    if (maxBytes !== undefined || maxLength == null) continue;
    const weight = Math.ceil(maxLength / TEXT_LENGTH);
    field.extensions = {
      ...field.extensions,
      maxBytes: BYTES_PER_CHARACTER * maxLength + QUOTES_BYTES,
      ...(weight > 1 && { directives: { cost: { weight: String(weight) }, ...directives } }),
    };
  }
}

type Check = (value: unknown, args: FieldArguments) => unknown;
const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value;

/** Returns the maximum number of items, as it is estimated before the execution (operation/accept/cost.ts). */
function maxItems({ slicingArguments, assumedSize }: ListSize, args: FieldArguments): number {
  const sizes = slicingArguments.flatMap((name): number[] => {
    const value = args[name];
    if (Array.isArray(value)) return [value.length];
    return typeof value === 'number' ? [value] : [];
  });
  return sizes.length > 0 ? Math.max(...sizes) : assumedSize;
}

const checkItems =
  (place: string, listSize: ListSize): Check =>
  (value, args) => {
    if (!isIterable(value)) return value;
    const items = [...value];
    const max = maxItems(listSize, args);
    if (items.length <= max) return items;
    throw new Error(`${place} returned ${items.length} items, but declares at most ${max}.`);
  };

function checkText(place: string, scalar: GraphQLScalarType, maxBytes: number): Check {
  const check = (value: unknown): unknown => {
    if (value == null || value instanceof Error) return value;
    if (value instanceof Promise) return value.then(check);
    if (isIterable(value)) return Array.from(value, check);
    const bytes = Buffer.byteLength(JSON.stringify(scalar.serialize(value)));
    if (bytes <= maxBytes) return value;
    throw new Error(`${place} returned ${bytes} bytes as JSON, but its maxBytes is ${maxBytes}.`);
  };
  return check;
}

/**
 * Checks what the fields with a declared size return, because the cost and the size of every response are estimated
 * from these sizes. Columns and connections have no declared sizes.
 */
export function limitResults(schema: GraphQLSchema): void {
  for (const { type, field, place } of fieldsIn(schema)) {
    const { maxBytes, directives, listPart } = field.extensions;
    if (isInterfaceType(type) || listPart) continue;
    const named = getNamedType(field.type);
    const listSize = directives?.listSize;
    const checks = [
      ...(listSize?.sizedFields.length === 0 ? [checkItems(place, listSize)] : []),
      ...(maxBytes !== undefined && isScalarType(named) ? [checkText(place, named, maxBytes)] : []),
    ];
    const { resolve = defaultFieldResolver } = field;
    if (checks.length === 0) continue;
    field.resolve = (root, args: FieldArguments, context, info) => {
      const check = (value: unknown): unknown =>
        checks.reduce((checked, one) => one(checked, args), value);
      const value: unknown = resolve(root, args, context, info);
      return value instanceof Promise ? value.then(check) : check(value);
    };
  }
}
