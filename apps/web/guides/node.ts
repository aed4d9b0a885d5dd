/** Code in one language. `file` is the name of a program, or null for a part or a command. */
export interface CodeSample {
  language: string;
  file: string | null;
  text: string;
}

/** A part of a guide: text, code in one or more languages, or an element. */
export type GuideNode =
  | string
  | { samples: CodeSample[] }
  | {
      tag: 'p' | 'code' | 'strong' | 'em' | 'a' | 'ul' | 'ol' | 'li' | 'table' | 'thead' | 'tbody' | 'tr' | 'th' | 'td';
      href?: string;
      children: GuideNode[];
    };

/** A section of a guide. `text` is its text without marks, for the search. */
export interface GuideSection {
  id: string;
  title: string;
  text: string;
  nodes: GuideNode[];
}
