import { constantFrom, type Arbitrary, double, integer, record, sample } from 'fast-check';
import { expect, it } from 'vitest';

import { readConfig } from '../../src/config/config.ts';
import { parseWithin, validateWithin } from '../../src/graphql/analysis/validation.ts';
import { schema } from '../../src/graphql/schema.ts';
import { WORST_DOCUMENTS } from '../support/hostile-documents.ts';

/** Properties of a document: how many there are of something, and how likely something is. */
const Genome = record({
  fragments: integer({ min: 0, max: 50 }),
  spreads: integer({ min: 0, max: 50 }),
  fields: integer({ min: 0, max: 60 }),
  /** How many times a field is repeated, with all that is in it. */
  copies: integer({ min: 1, max: 100 }),
  inlineFragments: integer({ min: 0, max: 4 }),
  depth: integer({ min: 0, max: 6 }),
  aliases: double({ min: 0, max: 1, noNaN: true }),
  argumentsAt: double({ min: 0, max: 1, noNaN: true }),
  onPets: double({ min: 0, max: 1, noNaN: true }),
  seed: integer({ min: 1, max: 1e9 }),
});
type Genome = typeof Genome extends Arbitrary<infer Value> ? Value : never;

const SCALARS: Readonly<Record<string, readonly string[]>> = {
  Pet: ['id', 'name', 'status', 'categoryId', '__typename'],
  Category: ['id', 'name', 'description', '__typename'],
  Order: ['id', 'petId', 'quantity', 'shipDate', 'complete'],
  PetConnection: ['totalCount', '__typename'],
  OrderConnection: ['totalCount', '__typename'],
};
const OBJECTS: Readonly<Record<string, readonly (readonly [field: string, type: string])[]>> = {
  Pet: [
    ['category', 'Category'],
    ['orders', 'OrderConnection'],
  ],
  Category: [['pets', 'PetConnection']],
  Order: [['pet', 'Pet']],
  PetConnection: [['nodes', 'Pet']],
  OrderConnection: [['nodes', 'Order']],
};
// Somewhat less than the limits, as the document has other tokens too.
const MAX_TOKENS = 4700;
const MAX_ALIASES = 95;

const ROUNDS = 800;
const REPEATS = 3;
const SURVIVORS = 20;

const config = readConfig({});

/** Writes the document of a genome. */
function writeDocument(genome: Genome): string {
  let state = genome.seed;
  const random = (): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
  const oneOf = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  let aliases = 0;
  let tokens = 0;
  const types = Array.from({ length: genome.fragments }, () =>
    random() < genome.onPets ? 'Pet' : oneOf(Object.keys(SCALARS)),
  );
  const writeField = (type: string, depth: number, after: number): string => {
    const hasAlias = aliases < MAX_ALIASES && random() < genome.aliases;
    const alias = hasAlias ? `a${aliases++}: ` : '';
    tokens += 2;
    if (depth === 0 || random() < 0.5) return alias + oneOf(SCALARS[type] ?? []);
    const [field, inner] = oneOf(OBJECTS[type] ?? []);
    const isPaged = inner.endsWith('Connection') && random() < genome.argumentsAt;
    tokens += isPaged ? 10 : 4;
    return `${alias}${field}${isPaged ? '(first: 1, after: "x")' : ''} ${writeSet(inner, depth - 1, after)}`;
  };
  /** Writes the fields of a type; `after` is the fragment after which it may spread others. */
  const writeSet = (type: string, depth: number, after: number): string => {
    const parts = ['__typename'];
    const add = (count: number, write: (index: number) => string): void => {
      for (const index of Array(count).keys()) {
        if (tokens >= MAX_TOKENS) return;
        parts.push(write(index));
      }
    };
    add(genome.fields, () => {
      const before = tokens;
      const field = writeField(type, depth, after);
      const size = tokens - before;
      const copies = Math.max(1, Math.min(genome.copies, Math.floor((MAX_TOKENS - before) / size)));
      tokens += (copies - 1) * size;
      return `${field} `.repeat(copies);
    });
    add(depth > 0 ? genome.inlineFragments : 0, () => {
      tokens += 5;
      return `... on ${type} ${writeSet(type, depth - 1, after)}`;
    });
    const later = types.flatMap((other, index) => (other === type && index > after ? [index] : []));
    add(Math.min(genome.spreads, later.length), (index) => {
      tokens += 2;
      return `...F${later[index]}`;
    });
    return `{ ${parts.join(' ')} }`;
  };
  return [
    `{ pet(id: 1) ${writeSet('Pet', genome.depth, -1)} }`,
    ...types.map(
      (type, index) => `fragment F${index} on ${type} ${writeSet(type, genome.depth, index)}`,
    ),
  ].join('\n');
}

/** Returns how much CPU time a document takes to parse and validate, in milliseconds. */
function timeOf(text: string): number {
  const times = Array.from({ length: REPEATS }, () => {
    const start = process.cpuUsage();
    try {
      validateWithin(config, schema, parseWithin(config.limits, text));
    } catch {
      // It is beyond a limit: that takes time too.
    }
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

/** Returns how long the slowest document takes that is known. */
const timeOfWorst = (): number => Math.max(...WORST_DOCUMENTS.map(timeOf));

it('no document takes much longer to validate than the slowest known one', () => {
  // Compiles the functions.
  for (let time = 0; time < 10; time += 1) timeOfWorst();
  const measure = (genome: Genome) => {
    const text = writeDocument(genome).slice(0, config.limits.maxDocumentLength);
    return { genome, text, ms: timeOf(text) };
  };
  let found = sample(Genome, { numRuns: 200, seed: 1 }).map(measure);
  const others = sample(Genome, { numRuns: ROUNDS, seed: 2 });
  const choices = sample(integer({ min: 0, max: SURVIVORS - 1 }), { numRuns: ROUNDS, seed: 3 });
  const masks = sample(constantFrom(...Object.keys(found[0]?.genome ?? {})), {
    numRuns: 3 * ROUNDS,
    seed: 4,
  });
  for (const [round, other] of others.entries()) {
    found = found.toSorted((a, b) => b.ms - a.ms).slice(0, SURVIVORS);
    const parent = found[choices[round] ?? 0];
    if (!parent) throw new Error('There are no documents.');
    const genes = new Set(masks.slice(3 * round, 3 * round + 3));
    const changes = Object.entries(other).filter(([gene]) => genes.has(gene));
    found.push(measure({ ...parent.genome, ...Object.fromEntries(changes) }));
  }
  const knownMs = timeOfWorst();
  const slower = found
    .map(({ genome, text }) => ({ genome, ms: timeOf(text) }))
    .filter(({ ms }) => ms > 2 * knownMs);
  expect(slower).toEqual([]);
});
