const svgSpace = 'http://www.w3.org/2000/svg';

type Attributes = Readonly<Record<string, string>>;

function fill<E extends Element>(made: E, attributes: Attributes, children: readonly (Node | string)[]): E {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Creates an HTML element with these attributes and children. A string becomes text, never markup. */
export const element = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] => fill(document.createElement(tag), attributes, children);

/** Creates an SVG element with these attributes and children. */
export const svgElement = <K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Node[]
): SVGElementTagNameMap[K] => fill(document.createElementNS(svgSpace, tag), attributes, children);

/** Sets the text of `target` if it differs. Otherwise screen readers would read it out again, and a selection in it would be lost. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

/** The element of the page with this id. Throws if there is none: page and script come from the same build, so that is a bug. */
export function elementById(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}
