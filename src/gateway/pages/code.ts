import escapeHtml from 'escape-html';

/** A block of code, as HTML, with its title. The script of the pages colours it and adds a button that copies it. */
export const renderBlock = (title: string, html: string): string =>
  `<figure class="code"><figcaption>${escapeHtml(title)}</figcaption>
<pre tabindex="0" role="group" aria-label="${escapeHtml(title)}">${html}</pre></figure>`;

/** A block of code, with its title. */
export const renderCode = (title: string, code: string): string =>
  renderBlock(title, escapeHtml(code));
