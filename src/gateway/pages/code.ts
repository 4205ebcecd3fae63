import escapeHtml from 'escape-html';

/**
 * Renders a titled block of code that is already HTML. The page's script colours it and adds a button that copies it.
 */
export const renderBlock = (title: string, html: string): string =>
  `<figure class="code"><figcaption>${escapeHtml(title)}</figcaption>
<pre tabindex="0" role="group" aria-label="${escapeHtml(title)}">${html}</pre></figure>`;

/** Renders a titled block of code. */
export const renderCode = (title: string, code: string): string =>
  renderBlock(title, escapeHtml(code));
