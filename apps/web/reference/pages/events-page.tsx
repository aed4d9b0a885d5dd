import type { JSX } from 'preact';
import { Heading, Page } from '../article.tsx';
import { Code } from '../code.tsx';
import { Disclosure } from '../disclosure.tsx';
import { exampleOf } from '../example.ts';
import { listGatewayEvents } from '../gateway-data.ts';
import type { GatewayMessage } from '../openapi.ts';
import { SchemaView, TypeName } from '../schema-view.tsx';
import { toShape } from '../shape.ts';
import { Text } from '../text.tsx';

const botTexts: Readonly<Record<string, string>> = {
  always: 'Every bot receives it',
  'on request': 'Bots ask for it in identify',
  never: 'People only',
};

/** The event’s name in the kits: `messageCreate`. */
const toKitName = (name: string): string => name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function EventSection({ event }: { event: GatewayMessage }): JSX.Element {
  const { name, summary = '', description, payload, examples } = event;
  const data = payload.properties?.d ?? {};
  const shape = toShape(data);
  const permission = event['x-permission'];
  const samples = [
    `bot.on('${toKitName(name)}', (data) => {\n  // …\n});`,
    `@bot.event("${name.toLowerCase()}")\nasync def handle(data):\n    ...`,
  ] as const;
  return (
    <section id={name} class="ref-section ref-columns">
      <div class="ref-explained">
        <Heading anchor={name}>{name}</Heading>
        <p class="ref-marks">
          {event['x-bots'] && <span class="ref-mark">{botTexts[event['x-bots']] ?? event['x-bots']}</span>}
          {permission && <span class="ref-mark">Needs {permission}</span>}
        </p>
        <Text text={summary} />
        {description && <Text text={description} />}
        <div class="ref-part">
          <h3>Payload</h3>
          <p class="soft">
            <TypeName shape={shape} />
          </p>
          <SchemaView shape={shape} />
        </div>
      </div>
      <div class="ref-samples">
        {event['x-bots'] !== 'never' && (
          <>
            <Code code={samples[0]} what={`a handler of ${name} in JavaScript`} head={<span>JavaScript</span>} />
            <Code code={samples[1]} what={`a handler of ${name} in Python`} head={<span>Python</span>} />
          </>
        )}
        <Disclosure title="Example">
          {() => (
            <Code
              code={JSON.stringify(examples?.[0]?.payload ?? { op: 0, t: name, s: '1', d: exampleOf(data, { isFull: true }) }, null, 2)}
              what={`a frame of ${name}`}
              head={<span>Frame</span>}
            />
          )}
        </Disclosure>
      </div>
    </section>
  );
}

/** Every event of the gateway with its payload and who receives it. */
export function EventsPage(): JSX.Element {
  return (
    <Page title="Events" wide>
      <p class="ref-lead">
        What the gateway sends when something happens. A bot names the events that it wants in{' '}
        <a href="/developers/reference/gateway">identify</a>.
      </p>
      {listGatewayEvents().map((event) => (
        <EventSection key={event.name} event={event} />
      ))}
    </Page>
  );
}
