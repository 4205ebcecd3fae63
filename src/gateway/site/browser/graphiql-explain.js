const select = (selector) => document.querySelector(selector);

const RAN = {
  STATEMENT: 'It ran as one SQL statement.',
  RESOLVERS: 'It ran by resolvers.',
  CONSTANT: 'Its data is constant.',
};

const toText = ({ sql, ms, rows = 'none' }) => `-- ${ms} ms, rows: ${rows}\n${sql.trim()}\n`;

function show(sentence, statements, costs) {
  select('#explain [role=status]').textContent = sentence;
  select('#explain pre').textContent = statements.join('\n');
  select('#explain table').replaceChildren();
  for (const { field, cost } of costs) {
    const row = select('#explain table').insertRow();
    row.style.setProperty('--share', `${(100 * cost) / costs[0].cost}%`);
    for (const content of [field, cost]) row.insertCell().append(content);
  }
}

/** Shows the explanation in a result, or the error for which there is none. Returns the result without it. */
export function showExplanation({ extensions: { explain, ...extensions } = {}, ...result }) {
  if (explain) {
    const { ranAs, reason = '', statements, omittedStatements: more, cost } = explain;
    const texts = [...statements.map(toText), more ? `-- and ${more} more` : ''];
    const total = { field: 'Cost of all fields; the most costly:', cost: cost.requested };
    show(`${RAN[ranAs] ?? 'It was not executed.'} ${reason}`, texts, [total, ...cost.parts]);
  } else {
    const message = result.errors?.[0]?.message ?? 'It was not explained.';
    show(`${message} To run it without an explanation, close this panel.`, [], []);
  }
  return Object.keys(extensions).length > 0 ? { ...result, extensions } : result;
}
