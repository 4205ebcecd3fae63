import {
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLObjectType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isObjectType,
  isRequiredInputField,
  isUnionType,
} from 'graphql';

import { upperFirst } from '../../src/gateway/model/words.ts';
import { petStore } from '../../src/store/index.ts';
import type { Gateway } from './gateway.ts';
import { makeOrder, makePet } from './make.ts';
import { MODELS } from './rows.ts';
import { numbersOf, requireAllowed } from './values.ts';

const { schema } = petStore;
const FIELDS = schema.getMutationType()?.getFields() ?? {};

type Kind = 'create' | 'update' | 'delete' | 'createMany' | 'updateMany';

/** A mutation that `fieldsOf` defines: it creates, changes or deletes rows of a type. */
export interface Crud {
  readonly name: string;
  readonly kind: Kind;
  readonly type: string;
  readonly scope: string;
}

const columnOf = (type: string, name: string) =>
  MODELS.find((model) => model.type === type)?.columns.find(({ field }) => field === name);

/** Returns the kind of a mutation if it writes rows of a type and is not the store's own. */
function kindOf({ name, args }: GraphQLField<unknown, unknown>, type: string): Kind | undefined {
  if (name === `delete${type}`) return 'delete';
  if (name === `update${type}`) return 'update';
  const input = args.find((arg) => arg.name === 'input');
  if (!input) return undefined;
  const isList = isListType(getNullableType(input.type));
  const given = getNamedType(input.type).name;
  if (isList && given === `${type}UpdateLine`) return 'updateMany';
  if (!name.startsWith('create') || given !== `New${type}`) return undefined;
  return isList ? 'createMany' : 'create';
}

/** The mutations that `fieldsOf` defines. */
export const CRUD: readonly Crud[] = Object.values(FIELDS).flatMap((field) =>
  MODELS.flatMap(({ type }) => {
    const kind = kindOf(field, type);
    return kind ? [{ name: field.name, kind, type, scope: field.extensions.scope ?? '' }] : [];
  }),
);

export const MUTATIONS: readonly string[] = Object.keys(FIELDS);

/** The names of the mutations that tests list by hand. */
export const CUSTOM = MUTATIONS.filter((name) => !CRUD.some((one) => one.name === name));

type IdOf = (type: string) => string;

const OF_SCALAR: Readonly<Record<string, (n: number) => unknown>> = {
  Boolean: (n) => n % 2 === 0,
  DateTime: (n) => new Date(Date.UTC(2100, 0, 1 + n)).toISOString(),
  Date: (n) => new Date(Date.UTC(2100, 0, 1 + n)).toISOString().slice(0, 10),
};

/** Returns the value of a field in row `n`, as a variable. */
function valueOf(type: string, field: GraphQLInputField, n: number, idOf: IdOf): unknown {
  const { name } = field;
  const named = getNamedType(field.type);
  if (named.name === 'ID') return idOf(upperFirst(name.replace(/Id$/, '')));
  if (isEnumType(named)) return named.getValues()[n % named.getValues().length]?.name;
  if (named.name === 'String') {
    const text = `${n} ${name} ${n}`.slice(0, columnOf(type, name)?.maxLength ?? 255);
    return requireAllowed(type, name, text);
  }
  if (named.name === 'Int') {
    const { least, count } = numbersOf(type, name);
    return requireAllowed(type, name, least + (n % count));
  }
  const toValue = OF_SCALAR[named.name];
  if (!toValue) throw new Error(`Add ${named.name} to OF_SCALAR in test/support/crud.ts.`);
  return toValue(n);
}

const inputOf = (name: string): GraphQLInputObjectType => {
  const input = schema.getType(name);
  if (!isInputObjectType(input)) throw new Error(`There is no input ${name}.`);
  return input;
};

interface Wanted {
  /** Only the fields that a new row needs, all fields, or only the first. */
  readonly fields: 'required' | 'all' | 'one';
  /** Whether nullable fields are null instead of omitted. */
  readonly isExplicit?: boolean;
}

type FieldValue = readonly [field: GraphQLInputField, value: unknown];

/** Returns the fields of an input with their values. `n` differs in each row. */
function fieldsOf(crud: Crud, n: number, idOf: IdOf, { fields, isExplicit }: Wanted): FieldValue[] {
  const { type, kind } = crud;
  const isNew = kind === 'create' || kind === 'createMany';
  const input = inputOf(isNew ? `New${type}` : `${type}Update`);
  const all = Object.values(input.getFields());
  const wanted = all.filter((field) => fields !== 'required' || isRequiredInputField(field));
  const some = fields === 'one' ? wanted.slice(0, 1) : wanted;
  const nulls = all.filter(
    (field) => !some.includes(field) && columnOf(type, field.name)?.isNullable,
  );
  return [
    ...some.map((field): FieldValue => [field, valueOf(type, field, n, idOf)]),
    ...(isExplicit ? nulls.map((field): FieldValue => [field, null]) : []),
  ];
}

/** Returns the input of a mutation as a variable, with all of its fields. `n` differs in each row. */
export const inputFor = (crud: Crud, n: number, idOf: IdOf): Record<string, unknown> =>
  Object.fromEntries(
    fieldsOf(crud, n, idOf, { fields: 'all' }).map(([{ name }, value]) => [name, value]),
  );

const toLiteral = ([{ name, type }, value]: FieldValue): string =>
  `${name}: ${isEnumType(getNamedType(type)) ? String(value) : JSON.stringify(value)}`;

let rows = 0;

export const nextRow = (): number => (rows += 1);

/** Returns the arguments of a mutation. `id` is the id of the row that it changes. */
export function argumentsFor(
  crud: Crud,
  n: number,
  idOf: IdOf,
  { id = '', ...wanted }: Wanted & { readonly id?: string | undefined },
): string {
  const { kind } = crud;
  const idArgument = `id: "${id}"`;
  if (kind === 'delete') return idArgument;
  const input = fieldsOf(crud, n, idOf, wanted).map(toLiteral);
  if (kind === 'create') return `input: { ${input.join(', ')} }`;
  if (kind === 'createMany') return `input: [{ ${input.join(', ')} }]`;
  if (kind === 'update') return `${idArgument}, input: { ${input.join(', ')} }`;
  return `input: [{ ${[idArgument, ...input].join(', ')} }]`;
}

function successOf(name: string): GraphQLObjectType | undefined {
  const result = getNamedType(FIELDS[name]?.type);
  return isUnionType(result) ? result.getTypes()[0] : undefined;
}

/** Returns what to select of a mutation's result: the ids of the rows. */
function selectionOf({ name }: Crud): string {
  const success = successOf(name);
  const [field] = Object.values(success?.getFields() ?? {});
  const isLines = field && isListType(getNullableType(field.type));
  return `... on ${success?.name} { ${isLines ? `${field.name} { id }` : 'id'} }`;
}

/** Creates a row of a type with the fields that it needs, and the rows that it refers to; returns its id. */
async function makeRow(gateway: Gateway, type: string): Promise<string> {
  const crud = CRUD.find((one) => one.kind === 'create' && one.type === type);
  if (!crud) throw new Error(`No mutation creates a ${type}.`);
  const idOf = await makeReferences(gateway, crud);
  const args = argumentsFor(crud, nextRow(), idOf, { fields: 'required' });
  const { made } = await gateway.data(
    `mutation { made: ${crud.name}(${args}) { ${selectionOf(crud)} } }`,
  );
  return made.id;
}

/** Creates a row of each type that a mutation's input refers to, and returns a function that returns their ids. */
async function makeReferences(gateway: Gateway, { type, kind }: Crud): Promise<IdOf> {
  const ids = new Map<string, string>();
  if (kind !== 'delete') {
    for (const { name, type: fieldType } of Object.values(inputOf(`New${type}`).getFields())) {
      if (getNamedType(fieldType).name !== 'ID') continue;
      const other = upperFirst(name.replace(/Id$/, ''));
      ids.set(other, await makeRow(gateway, other));
    }
  }
  return (other) => ids.get(other) ?? '';
}

/** What the arguments of a mutation of the store itself are about: a pet with ten units in stock, and an open order for it. */
interface Subject {
  readonly petId: string;
  readonly orderId: string;
}

const TIME = '2100-01-01T10:00:00Z';

/** The arguments with which each mutation of the store itself changes something. */
const CUSTOM_ARGUMENTS: Readonly<Record<string, (subject: Subject) => string>> = {
  adjustInventories: ({ petId }) => `input: [{ petId: "${petId}", by: -2 }]`,
  adjustInventory: ({ petId }) => `petId: "${petId}", by: -2`,
  cancelOrder: ({ orderId }) => `id: "${orderId}"`,
  completeOrder: ({ orderId }) => `id: "${orderId}"`,
  placeOrder: ({ petId }) => `input: { petId: "${petId}", quantity: 1, shipDate: "${TIME}" }`,
  placeOrders: ({ petId }) => `input: [{ petId: "${petId}", quantity: 1 }]`,
  rescheduleOrder: ({ orderId }) => `id: "${orderId}", shipDate: "${TIME}"`,
  updateInventories: ({ petId }) => `input: [{ petId: "${petId}", quantity: 7 }]`,
  updateInventory: ({ petId }) => `petId: "${petId}", input: { quantity: 7 }, expectedQuantity: 10`,
};

/** Writes arguments differently: ids with zeros, a time in another zone, a list of one as its item, in another order. */
const rewrite = (args: string): string =>
  args
    .replaceAll(/"(?=\d+")/g, '"00')
    .replace(TIME, '2100-01-01T12:00:00+02:00')
    .replace(/\[(.*)\]/, '$1')
    .replace(/\{ (petId: "\d+"), ([^}]*) \}/, '{ $2, $1 }');

async function makeSubject(gateway: Gateway): Promise<Subject> {
  const petId = await makePet(gateway, { stock: 11 });
  return { petId, orderId: await makeOrder(gateway, petId) };
}

async function makeCrudArguments(gateway: Gateway, crud: Crud) {
  const { type, kind } = crud;
  const isNew = kind === 'create' || kind === 'createMany';
  const [id, otherId] = isNew ? [] : [await makeRow(gateway, type), await makeRow(gateway, type)];
  const idOf = await makeReferences(gateway, crud);
  const n = nextRow();
  const fields = isNew ? 'required' : 'one';
  const padded = { id: `00${id}`, fields, isExplicit: isNew } as const;
  return {
    args: argumentsFor(crud, n, idOf, { id, fields }),
    same: argumentsFor(crud, n, (of) => `00${idOf(of)}`, padded),
    other:
      kind === 'delete'
        ? argumentsFor(crud, n, idOf, { id: otherId, fields })
        : argumentsFor(crud, nextRow(), await makeReferences(gateway, crud), { id, fields }),
  };
}

/** Makes arguments with which a mutation changes something, the same ones written differently, and others. */
export async function makeArguments(gateway: Gateway, name: string) {
  const crud = CRUD.find((one) => one.name === name);
  if (crud) return makeCrudArguments(gateway, crud);
  const toArguments = CUSTOM_ARGUMENTS[name];
  if (!toArguments) throw new Error(`Add ${name} to CUSTOM_ARGUMENTS in test/support/crud.ts.`);
  const args = toArguments(await makeSubject(gateway));
  return { args, same: rewrite(args), other: toArguments(await makeSubject(gateway)) };
}

/** Returns the selection of everything that a mutation returns: values, and the values of the rows that it names. */
export function everythingOf(name: string): string {
  const success = successOf(name);
  const fields = Object.values(success?.getFields() ?? {}).filter(({ args }) => args.length === 0);
  const parts = fields.map((field) => {
    const type = getNamedType(field.type);
    const inner = Object.values(isObjectType(type) ? type.getFields() : {})
      .filter((one) => one.args.length === 0 && isLeafType(getNamedType(one.type)))
      .map((one) => one.name);
    return inner.length > 0 ? `${field.name} { ${inner.join(' ')} }` : field.name;
  });
  return `... on ${success?.name} { ${parts.join(' ')} }`;
}
