import escapeHtml from 'escape-html';

/** A titled block of code in HTML. The page's script colours it and adds a button that copies it. */
export const renderBlock = (title: string, html: string): string =>
  `<figure class="code"><figcaption>${escapeHtml(title)}</figcaption>
<pre tabindex="0" role="group" aria-label="${escapeHtml(title)}">${html}</pre></figure>`;

/** A titled block of code. */
export const renderCode = (title: string, code: string): string =>
  renderBlock(title, escapeHtml(code));
