import escapeHtml from 'escape-html';

import { type ModelField, type ModelType, readModel } from './schema-model.ts';

// Pixels of the picture before the browser scales it.
const LETTER = 7.3;
const ROW = 21;
const HEAD = 32;
const PADDING = 12;
const GAP = 20;
const STEP = 46;

interface Box extends ModelType {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const widthOf = ({ name, fields }: ModelType): number => {
  const letters = fields.map((field) => field.name.length + field.type.length + 2);
  return Math.max(name.length + 2, ...letters) * LETTER + 2 * PADDING;
};

const heightOf = ({ fields }: ModelType): number => HEAD + fields.length * ROW + PADDING;

/** The fields of a type that lead to one row which must exist: the type is below the type of that row. */
const parentsOf = ({ fields }: ModelType): string[] =>
  fields.flatMap(({ target, count }) => (target && count === 'one' ? [target] : []));

/** Groups the types by level: each is one level below the lowest of its parents. */
function toLevels(model: readonly ModelType[]): ModelType[][] {
  const levels: ModelType[][] = [];
  const placed = new Set<string>();
  while (placed.size < model.length) {
    const open = model.filter(({ name }) => !placed.has(name));
    const level = open.filter((type) => parentsOf(type).every((name) => placed.has(name)));
    // Types that need each other have no order.
    levels.push(level.length > 0 ? level : open);
    for (const { name } of levels.at(-1) ?? []) placed.add(name);
  }
  return levels;
}

/** Places each level in the middle below the one before. */
function placeBoxes(levels: readonly ModelType[][]): {
  boxes: Box[];
  width: number;
  height: number;
} {
  const widths = levels.map(
    (level) => level.reduce((sum, type) => sum + widthOf(type) + GAP, -GAP) + 2,
  );
  const width = Math.max(...widths);
  const boxes: Box[] = [];
  let y = 1;
  for (const [index, level] of levels.entries()) {
    let x = (width - (widths[index] ?? 0)) / 2 + 1;
    for (const type of level) {
      boxes.push({ ...type, x, y, width: widthOf(type), height: heightOf(type) });
      x += widthOf(type) + GAP;
    }
    y += Math.max(...level.map(heightOf)) + STEP;
  }
  return { boxes, width, height: y - STEP + 1 };
}

function drawBox({ name, fields, x, y, width, height }: Box): string {
  const rows = fields.map((field, index) => {
    const baseline = HEAD + (index + 1) * ROW - 3;
    const kind = field.target ? ' class="link"' : '';
    return `<text x="${PADDING}" y="${baseline}"${kind}>${escapeHtml(field.name)}</text>
<text x="${width - PADDING}" y="${baseline}" class="type">${escapeHtml(field.type)}</text>`;
  });
  return `<g transform="translate(${x} ${y})"><rect width="${width}" height="${height}" rx="8"/>
<path class="rule" d="M0 ${HEAD}H${width}"/><text x="${PADDING}" y="21" class="title">${name}</text>
${rows.join('\n')}</g>`;
}

/** The end of a line at many rows (a fork), at one that may be missing (a circle), or at one (a bar). */
function drawEnd(x: number, y: number, count: ModelField['count']): string {
  if (count === 'many') return `<path d="M${x - 7} ${y}L${x} ${y - 12}L${x + 7} ${y}"/>`;
  const bar = `<path d="M${x - 6} ${y - 6}h12"/>`;
  return count === 'one' ? bar : `${bar}<circle cx="${x}" cy="${y - 13}" r="4.5"/>`;
}

/** A line from a type to one below it. Its lower end shows how many rows of that type there can be. */
function drawLine(upper: Box, lower: Box): string {
  const from = upper.x + upper.width / 2;
  const to = lower.x + lower.width / 2;
  const top = upper.y + upper.height;
  const back = upper.fields.find(({ target }) => target === lower.name);
  return `<path d="M${from} ${top}V${lower.y - STEP / 2}H${to}V${lower.y}"/>
<path d="M${from - 6} ${top + 7}h12"/>${drawEnd(to, lower.y, back?.count ?? 'many')}`;
}

/** Says to how many rows a link leads. */
function countRows({ count, target = '' }: ModelField): string {
  if (count === 'many') return `is a list of <b>${target}</b>`;
  return `is one <b>${target}</b>${count === 'one' ? '' : ' or null'}`;
}

/** What the picture shows, in words. */
const describeLinks = (model: readonly ModelType[]): string =>
  model
    .map(({ name, description, fields }) => {
      const links = fields
        .filter(({ target }) => target)
        .map(
          (link) =>
            `<li><code>${link.name}</code> ${countRows(link)}. ${escapeHtml(link.description)}</li>`,
        );
      return `<dt>${name}</dt><dd>${escapeHtml(description)}<ul>${links.join('\n')}</ul></dd>`;
    })
    .join('\n');

/** Draws the types of the printed schema and how they hang together, and says the same in words. */
export function renderSchemaPicture(schema: string): string {
  const model = readModel(schema);
  const { boxes, width, height } = placeBoxes(toLevels(model));
  const lines = boxes.flatMap((lower) =>
    boxes
      .filter((upper) => parentsOf(lower).includes(upper.name))
      .map((upper) => drawLine(upper, lower)),
  );
  const names = model.map(({ name }) => name).join(', ');
  return `<div class="schema">
<figure>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="The types ${names} and the links between them" aria-describedby="schema-words">
<g class="lines">${lines.join('\n')}</g>
${boxes.map(drawBox).join('\n')}
</svg>
<figcaption>A fork stands for many, a circle for none or one. <code>!</code> means never null.</figcaption>
</figure>
<dl id="schema-words">
${describeLinks(model)}
</dl>
</div>`;
}
