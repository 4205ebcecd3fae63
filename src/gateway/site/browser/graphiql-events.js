import { highlight } from './highlight.js';

const MAX_EVENTS = 200;

const select = (selector) => document.querySelector(selector);

/** Yields the results in a stream of server-sent events (GraphQL over SSE). */
async function* readResults(reader) {
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (rest + part.value).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const [, text] = /^event: next\ndata: (.+)/m.exec(event) ?? [];
      if (text) yield JSON.parse(text);
    }
  }
}

function createEvent({ data, errors }) {
  const event = document.createElement('div');
  const time = document.createElement('time');
  time.textContent = new Date().toLocaleTimeString('en-GB');
  const result = document.createElement('pre');
  result.textContent = JSON.stringify(errors ? { errors, data } : data, null, 2);
  highlight(result);
  event.append(time, result);
  return event;
}

/** Closes the subscription whose events are shown. */
let stop = () => {};

/** Lists a subscription's events, newest first, even while another tab is shown. */
export async function follow(response, name) {
  stop();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  stop = () => void reader.cancel();
  const panel = select('#subscription').content.cloneNode(true);
  const [title, state, button, list] = ['strong', 'span', 'button', '[role=log]'].map((part) =>
    panel.querySelector(part),
  );
  title.textContent = name;
  button.addEventListener('click', stop);
  select('#events').replaceChildren(panel);
  select('#events').hidden = false;

  try {
    for await (const result of readResults(reader)) {
      state.textContent = 'Live';
      list.prepend(createEvent(result));
      list.children[MAX_EVENTS]?.remove();
    }
    state.textContent = 'Completed';
  } catch {
    state.textContent = 'Connection lost';
  }
  button.textContent = 'Close';
  button.addEventListener('click', () => (select('#events').hidden = true));
}
