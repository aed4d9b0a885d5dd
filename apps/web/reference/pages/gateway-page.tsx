import type { JSX } from 'preact';
import { Article } from '../article.tsx';
import { Code } from '../code.tsx';
import { listCloseCodes, listOpcodeFrames, readGatewayDescription } from '../gateway-data.ts';
import { SchemaView } from '../schema-view.tsx';
import { toShape } from '../shape.ts';
import { Line, Text } from '../text.tsx';

const reconnectTexts: Readonly<Record<string, string>> = {
  resume: 'Resume, or identify if there is no session.',
  identify: 'Identify.',
  no: 'Do not reconnect.',
};

function Opcodes(): JSX.Element {
  return (
    <div class="ref-frames">
      {listOpcodeFrames().map(({ name, summary = '', payload, examples, 'x-op': op }) => (
        <div key={name} id={`op-${name}`} class="ref-part">
          <h3>
            <span class="soft">op {op}</span> {name}
          </h3>
          <Text text={summary} />
          <SchemaView shape={toShape(payload.properties?.d ?? {})} />
          {examples?.[0] && <Code code={JSON.stringify(examples[0].payload)} what={`an example of ${name}`} head={<span>Frame</span>} />}
        </div>
      ))}
    </div>
  );
}

function CloseCodes(): JSX.Element {
  return (
    <dl class="ref-errors">
      {listCloseCodes().map(({ code, cause, reconnect, advice }) => (
        <div key={code} id={`close-${code}`}>
          <dt>{code}</dt>
          <dd>
            <Line text={`${cause} **${reconnectTexts[reconnect] ?? reconnect}** ${advice}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** How a client connects to the gateway: handshake, resume, opcodes and close codes. */
export function GatewayPage(): JSX.Element {
  const { intro, parts } = readGatewayDescription();
  return (
    <Article
      title="Gateway"
      summary={intro}
      sections={[
        ...parts.filter(({ title }) => !/close codes/i.test(title)).map((part) => ({ ...part, render: () => <Text text={part.text} /> })),
        { id: 'opcodes', title: 'Opcodes', text: '', render: () => <Opcodes /> },
        { id: 'close-codes', title: 'Close codes', text: '', render: () => <CloseCodes /> },
      ]}
    />
  );
}
