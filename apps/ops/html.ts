/** Markup that is safe to send: `html` made it. */
class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Markup that `html` made. */
export type Html = Markup;

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const toMarkup = (value: Html | string | number | null | readonly Html[]): string => {
  if (value === null) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return String(value).replace(/[&<>"']/g, (char) => entities[char] ?? '');
};

/**
 * The tag of templates that are markup: `html`<p>${name}</p>``. Every value that is not markup itself is escaped, so text of users stays text. Put quotation
 * marks around attributes. Null becomes nothing.
 */
export const html = (parts: TemplateStringsArray, ...values: (Html | string | number | null | readonly Html[])[]): Html =>
  new Markup(String.raw({ raw: parts }, ...values.map(toMarkup)));
