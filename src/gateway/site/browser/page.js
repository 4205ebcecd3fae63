import { highlight } from './highlight.js';

// The server does not know the URL at which clients reach it. This script is in the folder `assets` below that URL.
const base = new URL('..', import.meta.url).href.slice(0, -1);
for (const element of document.querySelectorAll('.origin')) element.textContent = base;

/** Adds a button that copies a block's code. */
function addCopyButton(block) {
  const caption = block.querySelector('figcaption');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy: ${caption.textContent}`);
  const copy = async () => {
    await navigator.clipboard.writeText(block.querySelector('pre').textContent);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  };
  button.addEventListener('click', () => void copy());
  caption.append(button);
}

for (const code of document.querySelectorAll('.code pre:not(:has(a))')) highlight(code);

// Browsers provide the clipboard only on https:// and on localhost.
if (navigator.clipboard) {
  for (const block of document.querySelectorAll('.code:has(pre)')) addCopyButton(block);
}
